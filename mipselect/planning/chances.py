"""Chances that a method draws the columns that matter, in a table where they are known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import NotCertified
from mipselect.mechanisms import ExponentialMechanism, PermuteAndFlip
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.mechanisms.supports.permute_and_flip import FlipIntegral
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.search import top_supports
from mipselect.search.progress import Deadline
from mipselect.selectors import (
    KendallSelector,
    MCMCSelector,
    MistakesSelector,
    SampleAggregateSelector,
    SISSelector,
    TopRSelector,
)
from mipselect.selectors.base import PrivateSelector

PERMUTE_AND_FLIP, EXPONENTIAL = "permute-and-flip", "exponential"
TOP_R, MISTAKES, MCMC = "top-r", "mistakes", "mcmc"
WITHOUT_PRIVACY = "without privacy"
REPLACE_ONE = "replace-one"

MOST_LISTED = 20_000
"""Up to so many supports exact probabilities take less time than draws."""

MOST_WORK = 1 << 27
"""Supports times the cubes of their columns between two looks at the clock."""

DRAWS = 50
"""Draws from each distribution whose probabilities are not listed."""

LEAST_DRAWS = 10
"""Least number of draws where time is short."""


@dataclass(frozen=True)
class Chance:
    """Expected result of one draw: how many of the columns that matter it finds.

    Attributes
    ----------
    found : float
        Expected share of the columns that matter.
    all_found : float
        Probability of all of them.
    """

    found: float
    all_found: float


Chances = tuple[Chance, ...]
"""One for every ε."""


@dataclass(frozen=True, eq=False)
class Scored:
    """A table by one score, whose supports are listed once for all methods.

    Attributes
    ----------
    source : Instance or BlockScores
    clock : Deadline
        By when the values of all supports must be known.
    weight : float
        How many times as many rows the table has as were scored; see `Question.rows_scored`.
    """

    source: Instance | BlockScores
    clock: Deadline
    weight: float = 1.0

    @cached_property
    def listed(self) -> tuple[IntArray, FloatArray]:
        """All supports, shape (N, s), and their values, small where a support is good.

        Raises
        ------
        NotCertified
            If the values take too long.
        """
        source = self.source
        supports: IntArray = np.array(
            list(combinations(range(source.n_features), source.support_size)), dtype=np.intp
        )
        if isinstance(source, BlockScores):
            return supports, -source.all_scores
        width = max(map(len, source.groups)) * source.support_size
        chunk = 1 + MOST_WORK // width**3
        values = []
        for start in range(0, len(supports), chunk):
            values.append(source.objectives(supports[start : start + chunk]))
            require_time(self.clock)
        return supports, np.concatenate(values)


@dataclass(frozen=True, eq=False)
class Case:
    """A table by its scores, the columns that matter in it, and how to look at it.

    Attributes
    ----------
    scored : tuple of Scored
        One for every ε; the same where nothing about the score depends on ε.
    right : tuple of ndarray
        For each column that matters the features that say it: itself and what repeats it.
    epsilons : tuple of float
    source : random.Random
        For draws, where there are draws.
    clock : Deadline
        By when all chances must be known.
    most_listed : int
        Up to so many supports probabilities are exact.
    draws : int
        From each distribution whose probabilities are not listed.
    """

    scored: tuple[Scored, ...]
    right: tuple[IntArray, ...]
    epsilons: tuple[float, ...]
    source: random.Random
    clock: Deadline
    most_listed: int = MOST_LISTED
    draws: int = DRAWS

    @property
    def instance(self) -> Instance:
        """The instance, for methods that know no other score."""
        (instance,) = {scored.source for scored in self.scored}
        assert isinstance(instance, Instance)
        return instance

    @property
    def seconds(self) -> float:
        """Seconds that are left; raise `NotCertified` if none are."""
        require_time(self.clock)
        return self.clock.remaining

    def lists(self, scored: Scored) -> bool:
        """Return True if probabilities are exact: supports are few, or draws need all values."""
        source = scored.source
        few = source.number_of_supports <= self.most_listed
        return few or isinstance(source, BlockScores)

    def of_draws(self, draw: Callable[[], Support], share: float = 1.0) -> Chance:
        """Count frequencies over as many draws as a share of the time that is left allows.

        Raises
        ------
        NotCertified
            If that is enough for a few of them only.
        """
        drawn: list[Support] = []
        later = (1.0 - share) * self.seconds
        while len(drawn) < self.draws and self.clock.remaining > later:
            drawn.append(draw())
        if len(drawn) < min(LEAST_DRAWS, self.draws):
            raise _time_is_up(self.clock)
        shares = self.shares(np.array(drawn))
        return Chance(float(shares.mean()), float((shares == 1.0).mean()))

    def shares(self, supports: IntArray) -> FloatArray:
        """Return the share of the columns that matter in each support; shape (supports,)."""
        found = [np.isin(supports, features).any(axis=1) for features in self.right]
        return np.asarray(np.mean(found, axis=0))


def require_time(clock: Deadline) -> None:
    """Raise `NotCertified` past the deadline."""
    if clock.remaining <= 0.0:
        raise _time_is_up(clock)


def by_exact_draws(law: type[ExactDraws], case: Case) -> Chances:
    """Compute chances of a law over all supports, exact where they are listed, else by draws."""
    found = []
    for k, (epsilon, scored) in enumerate(zip(case.epsilons, case.scored, strict=True)):
        source = scored.source
        if not case.lists(scored):
            share = 1.0 / (len(case.epsilons) - k)
            limits: dict[str, Any] = {"most_listed": case.most_listed}
            limits["time_limit"] = share * case.seconds
            draws = law(source, epsilon * scored.weight, **limits)
            found.append(case.of_draws(partial(draws.sample, case.source), share))
            continue
        # Refuses what it would refuse of the user's own table.
        rate = law(source, epsilon * scored.weight).rate
        supports, values = scored.listed
        chances = PROBABILITIES[law](-rate * (values - values.min()))
        shares = case.shares(supports)
        found.append(Chance(float(chances @ shares), float(chances[shares == 1.0].sum())))
    return tuple(found)


def proportional(logs: FloatArray) -> FloatArray:
    """Compute P(S) ∝ w_S of listed supports with these ln w_S ≤ 0, shape (N,)."""
    weights: FloatArray = np.exp(logs)
    return np.asarray(weights / weights.sum())


def permuted_and_flipped(logs: FloatArray) -> FloatArray:
    """Compute P(S) = ∫ w_S Π_{S'≠S} (1 - w_S' t) dt from 0 to 1, the largest w being 1.

    References
    ----------
    docs/mathematics/permute-and-flip.md, (2).
    """
    return np.asarray(np.exp(FlipIntegral(logs).log_probabilities(logs)))


PROBABILITIES: Mapping[type[ExactDraws], Callable[[FloatArray], FloatArray]] = {
    PermuteAndFlip: permuted_and_flipped,
    ExponentialMechanism: proportional,
}


def without_privacy(case: Case) -> Chances:
    """Find how good the best support itself is: what these rows leave unknown without any noise."""
    found = []
    for scored in case.scored:
        source = scored.source
        if case.lists(scored) or isinstance(source, BlockScores):
            supports, values = scored.listed
            best = supports[values.argmin()]
        else:
            best = top_supports(source, 1, time_limit=case.seconds).supports[0]
        (share,) = case.shares(best[None, :]).tolist()
        found.append(Chance(share, float(share == 1.0)))
    return tuple(found)


def by_draws(method: Callable[..., PrivateSelector], case: Case, **options: Any) -> Chances:
    """Estimate any other method by draws; mistakes and the chain are private conditionally."""

    def chance(method: PrivateSelector) -> Chance:
        mechanism = method.on(case.instance, case.source)
        return case.of_draws(lambda: tuple(mechanism.sample(case.source)))

    return tuple(chance(method(epsilon=epsilon, **options)) for epsilon in case.epsilons)


def by_search(method: Callable[..., PrivateSelector], case: Case) -> Chances:
    """Estimate by draws a method that draws from what a search finds in time."""
    return by_draws(method, case, time_limit=case.seconds)


EXACT: Mapping[str, Callable[[Case], Chances]] = {
    PERMUTE_AND_FLIP: partial(by_exact_draws, PermuteAndFlip),
    EXPONENTIAL: partial(by_exact_draws, ExponentialMechanism),
}
"""Methods that draw exactly by any score."""

METHODS: Mapping[str, Callable[[Case], Chances]] = {
    **EXACT,
    TOP_R: partial(by_search, TopRSelector),
    MISTAKES: partial(by_search, MistakesSelector),
    "sis": partial(by_draws, SISSelector, relation=REPLACE_ONE),
    "sis --top-k peeling": partial(by_draws, SISSelector, relation=REPLACE_ONE, top_k="peeling"),
    "kendall": partial(by_draws, KendallSelector, relation=REPLACE_ONE),
    "sample-aggregate": partial(by_draws, SampleAggregateSelector, relation=REPLACE_ONE),
    MCMC: partial(by_draws, MCMCSelector),
}

OF_SUPPORTS = (*EXACT, TOP_R, MISTAKES, MCMC)
"""Methods that draw by the score of a support; others score single columns."""

WITH_WEIGHTS = (*EXACT, TOP_R, MISTAKES)
"""Methods that take a survey weight: those that draw from scores count all rows the same."""

USUAL = (*WITH_WEIGHTS, "sis", "sis --top-k peeling", "kendall")
"""Methods that are compared by default: the others take long to simulate."""


def _time_is_up(clock: Deadline) -> NotCertified:
    return NotCertified(
        f"time limit of {clock.limit:g} s reached", bound=-math.inf, incumbent=math.inf
    )


def standard_error(values: Sequence[float]) -> float | None:
    """Estimate the error of a mean over tables; None for a single one."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def mean_of(chances: Sequence[Chance]) -> Chance:
    """Average chances over tables."""
    return Chance(
        float(np.mean([chance.found for chance in chances])),
        float(np.mean([chance.all_found for chance in chances])),
    )
