"""Privacy as it is defined, on blocks of rows: exact probabilities of all supports, neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from mipselect import (
    ExponentialMechanism,
    Instance,
    Ledger,
    Mistakes,
    StableOptimum,
    TopR,
    mistake_levels,
    top_supports,
)
from mipselect.errors import MipselectError
from mipselect.mechanisms.supports import exact
from tests.support.block_pairs import Pair, clear_pairs, hostile_pairs, table_pairs, tight_pair
from tests.support.exact_audit import Data, excess
from tests.support.soft_draws import Judged

Law = Callable[[Instance], np.ndarray]


@cache
def hostile() -> tuple[Pair, ...]:
    of_arrays = [pair for seed in range(40) for pair in hostile_pairs(seed, 12)]
    of_tables = [pair for seed in range(8) for pair in table_pairs(seed, 12)]
    return (*of_arrays, *of_tables)


@cache
def tight() -> tuple[Pair, ...]:
    sizes = [(8, 10, 2, 1), (8, 30, 2, 3), (16, 20, 3, 2), (16, 12, 4, 4), (12, 20, 6, 1)]
    several = [tight_pair(12, 20, 2, 2, width=2), tight_pair(12, 20, 3, 2, width=3)]
    return (*(tight_pair(*size) for size in sizes), *several)


def exponential_law(epsilon: float, **options: Any) -> Law:
    def law(instance: Instance) -> np.ndarray:
        mechanism = ExponentialMechanism(instance, epsilon, **options)
        return np.array(
            [
                mechanism.log_probability(support)
                for size in mechanism.sizes
                for support in combinations(range(instance.n_features), size)
            ]
        )

    return law


def largest_loss(pairs: Iterable[Pair], law: Law) -> float:
    """The largest |ln P(S) - ln P'(S)| over pairs and supports."""
    last, worst, logs = None, 0.0, np.empty(0)
    for data, other in pairs:
        if data is not last:
            last, logs = data, law(data.instance)
        worst = max(worst, float(np.abs(logs - law(other.instance)).max()))
    return worst


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_exact_draws(epsilon: float) -> None:
    assert largest_loss(hostile(), exponential_law(epsilon)) <= epsilon
    assert largest_loss(tight(), exponential_law(epsilon)) <= epsilon


def test_sizes_and_priors() -> None:
    law = exponential_law(2.0, sizes=(1, 2, 3), complexity=0.5)
    assert largest_loss(hostile()[::3], law) <= 2.0
    assert largest_loss(tight(), law) <= 2.0


@pytest.mark.parametrize("pair", range(7))
def test_what_is_paid_is_used(pair: int) -> None:
    """More than 0.8 ε: the constant cannot be much smaller."""
    assert 0.8 * 0.5 < largest_loss(tight()[pair : pair + 1], exponential_law(0.5)) <= 0.5


def test_half_of_the_constant_is_not_private(monkeypatch: pytest.MonkeyPatch) -> None:
    right = exact.exact_rate

    def twice(*given: Any) -> Any:
        rate = right(*given)
        return replace(rate, rate=2.0 * rate.rate)

    monkeypatch.setattr(exact, "exact_rate", twice)
    assert largest_loss(tight(), exponential_law(0.5)) > 1.5 * 0.5


def drawn_law(instance: Instance) -> np.ndarray:
    """What is really drawn by cells at ε = 1: every path of one try, given acceptance."""
    judged = Judged(instance, 1.0)
    law = judged.try_once()
    law.pop(None, None)
    total = math.fsum(law.values())
    return np.array([math.log(law[support] / total) for support in judged.supports])


def test_what_is_really_drawn_by_cells_is_private() -> None:
    assert 0.8 < largest_loss([*hostile()[::40], *tight()[::2]], drawn_law) <= 1.0


def test_all_changes_lie_in_the_stated_interval() -> None:
    """R'(S) - R(S), over all supports: no more than 2w apart, and nearly so."""
    used = []
    for data, other in (*hostile(), *tight()):
        change = other.values - data.values
        used.append(np.ptp(change) / (2.0 * data.instance.oscillation))
        assert np.abs(change).max() <= data.instance.sensitivity * (1.0 + 1e-9)
    assert max(used) <= 1.0 + 1e-9
    assert max(used) > 0.99


def top_r_law(epsilon: float, tolerance: float) -> Law:
    def law(instance: Instance) -> np.ndarray:
        size = max(1, instance.number_of_supports // 2)
        mechanism = TopR(top_supports(instance, size, tolerance=tolerance), epsilon)
        return np.array([mechanism.log_probability(S) for S in Data(instance).supports])

    return law


@pytest.mark.parametrize("tolerance", [1e-6, 0.5])
def test_top_r(tolerance: float) -> None:
    law = top_r_law(2.0, tolerance)
    assert largest_loss(hostile()[::2], law) <= 2.0
    assert largest_loss(tight(), law) <= 2.0


def with_test(instance: Instance, *, stable: bool) -> np.ndarray:
    """Log probabilities of Mistakes or the stable optimum, with ε₀ = 1, ε = 1 and δ = 0.1."""
    levels = mistake_levels(instance)
    if stable:
        mechanism: Any = StableOptimum(levels, 1.0, 0.1, ExponentialMechanism(instance, 1.0))
    else:
        pool = top_supports(instance, max(1, instance.number_of_supports // 2))
        mechanism = Mistakes(levels, 1.0, test_epsilon=1.0, delta=0.1, fallback=pool)
    guarantee = mechanism.guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.conditions) == (2.0, 0.1, ())
    return np.array([mechanism.log_probability(S) for S in Data(instance).supports])


@pytest.mark.parametrize("stable", [False, True])
def test_mistakes_and_the_stable_optimum(stable: bool) -> None:
    """(ε₀ + ε, δ) over all events, gaps on either side of the condition among them."""
    clear = [*clear_pairs(20, 20), *clear_pairs(300, 20)]
    pairs = [*hostile()[::8], *tight(), *clear]
    assert sum(data.meets_condition() for data, _ in pairs) >= 20
    for data, other in pairs:
        one, two = (with_test(each.instance, stable=stable) for each in (data, other))
        assert excess(one, two, 2.0) <= 0.1 * (1.0 + 1e-9)


def test_no_guarantee_is_stated_where_a_row_is_added() -> None:
    """By no mechanism on blocks, nor by one with a part from rows; a ledger refuses."""
    instance = next(clear_pairs(300, 1))[0].instance
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (80, 4))
    of_rows = Instance(X, X[:, 0], support_size=1, x_bound=1.0, y_bound=1.0, coef_bound=1.0,
                       ridge=1.0)  # fmt: skip
    levels, pool = mistake_levels(instance), top_supports(instance, 2)
    draws = [
        ExponentialMechanism(instance, 1.0),
        TopR(pool, 1.0),
        Mistakes(levels, 1.0),
        Mistakes(levels, 1.0, test_epsilon=1.0, delta=0.1, fallback=pool),
        StableOptimum(levels, 1.0, 0.1, ExponentialMechanism(instance, 1.0)),
        StableOptimum(levels, 1.0, 0.1, ExponentialMechanism(of_rows, 1.0)),
        StableOptimum(mistake_levels(of_rows), 1.0, 0.1, ExponentialMechanism(instance, 1.0)),
    ]
    for draw in draws:
        assert set(draw.guarantees) == {"replace-one"}, draw
        with pytest.raises(MipselectError, match="add-remove"):
            draw.release(Ledger(10.0, 0.5, relation="add-remove"))
    both = StableOptimum(mistake_levels(of_rows), 1.0, 0.1, ExponentialMechanism(of_rows, 1.0))
    assert set(both.guarantees) == {"replace-one", "add-remove"}
