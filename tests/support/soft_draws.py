"""Exact draws against enumeration: forced cells, hostile designs, and every path of a draw."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import pytest

from mipselect import ExponentialMechanism, Instance
from mipselect.mechanisms.supports import rejection_sampler
from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.privacy import randomness
from mipselect.search.soft import Partition
from tests.support.designs import (
    LOSSES,
    random_grouped_instance,
    random_instance,
    random_loss_instance,
    with_loss,
)

Supports = tuple[int, ...]


def by_cells(mechanism: ExactDraws) -> Any:
    """Return the mechanism, which draws by cells however few the supports are."""
    mechanism.listed = False
    return mechanism


class Judged:
    """A mechanism that draws by cells, and its law by enumeration.

    With `steps_before` its cells are refined so many times before the first draw.
    """

    def __init__(
        self,
        instance: Instance,
        epsilon: float,
        *,
        kind: type[ExactDraws] = ExponentialMechanism,
        steps_before: int | None = None,
        **options: Any,
    ) -> None:
        self.mechanism = by_cells(kind(instance, epsilon, **options))
        with pytest.MonkeyPatch.context() as patch:
            if steps_before is not None:
                patch.setattr(rejection_sampler, "STEPS_BEFORE", steps_before)
            self.mechanism.prepare()
        self.draws = self.mechanism._draws
        assert isinstance(self.draws, rejection_sampler.SoftDraws)
        self.instance, self.options = instance, options
        self.supports: list[Supports] = [
            support
            for size in self.mechanism.sizes
            for support in itertools.combinations(range(instance.n_features), size)
        ]

    @property
    def partition(self) -> Partition:
        return self.draws._partition

    @cached_property
    def log_weights(self) -> dict[Supports, float]:
        """log μ(S) - c (R(S) - a constant), μ from its definition."""
        instance, sizes = self.instance, self.mechanism.sizes
        omega = np.asarray(
            self.options.get("prior_weights", np.ones(instance.n_features)), dtype=float
        )
        a = self.options.get("complexity", 1.0)
        problem = self.mechanism._largest.prepared
        found = {}
        for size in sizes:
            rows = np.array(list(itertools.combinations(range(instance.n_features), size)))
            products = np.log(omega)[rows].sum(axis=1)
            logs = (
                products - np.logaddexp.reduce(products) - a * size * math.log(instance.n_features)
            )
            logs = logs - self.mechanism._rate.rate * problem.values(rows)
            found |= dict(zip(map(tuple, rows.tolist()), logs.tolist(), strict=True))
        return found

    @cached_property
    def flip_law(self) -> np.ndarray:
        """Log of the law of permute-and-flip, in the order of `supports`."""
        return flip_law(np.array([self.log_weights[support] for support in self.supports]))

    @cached_property
    def log_law(self) -> dict[Supports, float]:
        """Of the exponential mechanism."""
        total = np.logaddexp.reduce(list(self.log_weights.values()))
        return {support: log - total for support, log in self.log_weights.items()}

    def share(self, event: Callable[[Supports], bool]) -> float:
        top = max(self.log_weights.values())
        weights = {support: math.exp(log - top) for support, log in self.log_weights.items()}
        drawn = math.fsum(weight for support, weight in weights.items() if event(support))
        return drawn / math.fsum(weights.values())

    def check_cells(self) -> None:
        """Disjoint, complete, bounded at every support, and drawn with what they say."""
        target, rate = self.draws._target, self.mechanism._rate
        offsets = [
            target.log_weight(np.array(s), 0.0) - self._prior_log(s) for s in self.supports[:1]
        ]
        seen: dict[Supports, float] = {}
        for _, cell in self.partition.numbered:
            drawn = []
            for positions in itertools.combinations(range(len(cell.node.live)), cell.node.size):
                support = tuple(cell.support(np.array(positions, dtype=np.intp)).tolist())
                assert support not in seen
                log = log_drawn(cell.law, len(cell.node.live), positions)
                seen[support] = cell.log_upper + log
                drawn.append(log)
            assert abs(np.logaddexp.reduce(drawn)) < 1e-9
        assert set(seen) == set(self.supports)
        slack = self.partition.rounding + rate.allowance + 1e-12
        for support, bound in seen.items():
            assert self.log_weights[support] + offsets[0] <= bound + slack, support
        uppers = [cell.log_upper for _, cell in self.partition.numbered]
        assert self.partition.log_upper == pytest.approx(
            np.logaddexp.reduce(uppers) + self.partition.rounding, abs=1e-10
        )

    def _prior_log(self, support: Supports) -> float:
        """The enumerated log weight without its value, to compare with the target's."""
        value = float(self.mechanism._largest.prepared.values(np.array([support]))[0])
        return self.log_weights[support] + self.mechanism._rate.rate * value

    def check_intervals(self) -> None:
        """Every interval that is stated contains the truth."""
        for support in self.supports[:: max(1, len(self.supports) // 6)]:
            found = self.mechanism.estimate(support)
            assert found.low <= self.log_law[support] <= found.high

    def try_once(self) -> dict[Supports | None, float]:
        """The exact law of one try of `sample`, None for a rejection: every path of its draws."""
        found: dict[Supports | None, list[float]] = defaultdict(list)

        def rejected(*_: Any) -> bool:
            raise Rejected

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.partition, "refine", rejected)
            patch.setattr(self.partition, "refine_cell", rejected)
            for probability, outcome in every_path(self.mechanism.sample, patch):
                found[outcome].append(probability)
        return {outcome: math.fsum(parts) for outcome, parts in found.items()}

    @property
    def drawn_law(self) -> np.ndarray:
        """Logs of what is really drawn, given acceptance, in the order of `supports`."""
        law = self.try_once()
        law.pop(None, None)
        total = math.fsum(law.values())
        return np.array([math.log(law[support] / total) for support in self.supports])

    def check_sampler(self) -> None:
        """Given acceptance, one try has the law: to 1e-9, as it is really drawn."""
        law = self.try_once()
        assert math.fsum(law.values()) == pytest.approx(1.0, abs=1e-12)
        accepted = 1.0 - law.pop(None, 0.0)
        assert set(law) == set(self.supports)
        total = math.fsum(law.values())
        assert total == pytest.approx(accepted, abs=1e-12)
        for support, chance in law.items():
            if chance > 1e-290:
                log = math.log(chance) - math.log(total)
                assert log == pytest.approx(self.log_law[support], abs=1e-9), support


class Rejected(Exception):
    """The try was not accepted."""


def every_path(
    draw: Callable[[], Supports], patch: pytest.MonkeyPatch
) -> Iterator[tuple[float, Supports | None]]:
    """All outcomes of a draw with their probabilities: `rising_index` is scripted."""
    todo: list[list[int]] = [[]]
    while todo:
        script, path = todo.pop(), Path()
        for module in (rejection_sampler, randomness):
            patch.setattr(module, "rising_index", partial(path.choose, script, todo))
        try:
            outcome = draw()
        except Rejected:
            outcome = None
        yield math.prod(path.chances), outcome


class Path:
    """Follows a script and beyond its end the first choice, leaving the others to be done."""

    def __init__(self) -> None:
        self.taken, self.chances = list[int](), list[float]()

    def choose(
        self, script: list[int], todo: list[list[int]], cumulative: np.ndarray, _: object
    ) -> int:
        steps = np.diff(cumulative, prepend=0.0) / cumulative[-1]
        if len(self.taken) < len(script):
            place = script[len(self.taken)]
        else:
            place, *others = np.flatnonzero(steps > 0.0).tolist()
            todo.extend([*self.taken, other] for other in others)
        self.taken.append(place)
        self.chances.append(float(steps[place]))
        return place


def log_drawn(law: Any, features: int, positions: Supports) -> float:
    """Log of the probability with which a law of subsets draws these positions, by a script."""
    places = np.empty(features, dtype=int)
    places[law.order] = np.arange(features)
    answers, chances = iter(sorted(places[list(positions)].tolist(), reverse=True)), list[float]()

    def choose(cumulative: np.ndarray) -> int:
        place = next(answers)
        before = cumulative[place - 1] if place else 0.0
        chances.append(float((cumulative[place] - before) / cumulative[-1]))
        return place

    drawn, log = law.draw(choose)
    assert sorted(drawn.tolist()) == list(positions)
    if min(chances, default=1.0) > 1e-300:
        steps = math.fsum(math.log(chance) for chance in chances)
        assert log == pytest.approx(steps, rel=1e-12, abs=1e-9)
    return float(log)


def hostile(
    seed: int,
    *,
    convex: bool = False,
    grouped: bool = False,
    kind: type[ExactDraws] = ExponentialMechanism,
    steps_before: int | None = None,
    **limits: int,
) -> Judged:
    """A random hostile design with a random ε, sizes and prior."""
    rng = np.random.default_rng(seed)
    if grouped:
        instance = random_grouped_instance(seed, **limits)
        instance = with_loss(instance, LOSSES[seed % len(LOSSES)]) if convex else instance
    elif convex:
        instance = random_loss_instance(seed, LOSSES[seed % len(LOSSES)], **limits)
    else:
        instance = random_instance(seed, **limits)
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        drawn = rng.integers(1, instance.n_features + 1, size=3)
        options["sizes"] = sorted(set(np.minimum(drawn, 4).tolist()))
        options["complexity"] = float(rng.choice([0.0, 1.0, 3.0]))
    if rng.random() < 0.5:
        options["prior_weights"] = np.exp(
            rng.choice([0.5, 8.0]) * rng.standard_normal(instance.n_features)
        )
    epsilon = float(10.0 ** rng.uniform(-1.5, 1.5))
    return Judged(instance, epsilon, kind=kind, steps_before=steps_before, **options)


def of_a_prior_alone(seed: int, support_size: int) -> Judged:
    """Seven features that explain nothing, so that bounds are weights but for roundings of sums."""
    prior = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, 7)
    bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
    instance = Instance(np.zeros((2, 7)), np.zeros(2), support_size=support_size, **bounds)
    return Judged(instance, 1.0, steps_before=0, prior_weights=prior)


def flip_law(log_weights: np.ndarray) -> np.ndarray:
    """Logs of ∫₀¹ w_k Π_{l≠k} (1 - w_l t) dt: polynomials in t with rational coefficients."""
    weights = [Fraction(float(np.exp(log))) for log in log_weights - np.max(log_weights)]
    found = []
    for k, own in enumerate(weights):
        product = [Fraction(1)]
        for weight in weights[:k] + weights[k + 1 :]:
            shifted = [Fraction(0), *(-weight * c for c in product)]
            product = [a + b for a, b in zip([*product, Fraction(0)], shifted, strict=True)]
        found.append(own * sum(c / (j + 1) for j, c in enumerate(product)))
    return np.array([_log(probability) for probability in found])


def _log(ratio: Fraction) -> float:
    shift = ratio.denominator.bit_length() - ratio.numerator.bit_length()
    return float(np.log(float(ratio * 2**shift)) - shift * np.log(2.0))
