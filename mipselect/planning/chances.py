"""Chances that a method draws the columns that matter, in a table where they are known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import NotCertified
from mipselect.mechanisms import ExponentialMechanism
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.supports.law import complexity_prior, exact_rate
from mipselect.mechanisms.supports.rejection_sampler import SoftDraws
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

EXPONENTIAL, TOP_R, MISTAKES = "exponential", "top-r", "mistakes"
WITHOUT_PRIVACY = "without privacy"
REPLACE_ONE = "replace-one"

MOST_LISTED = 20_000
"""Up to so many supports exact probabilities take less time than draws."""

MOST_WORK = 1 << 27
"""Supports times the cubes of their columns between two looks at the clock."""

DRAWS = 50
"""From each distribution whose probabilities are not listed."""


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
class Case:
    """An instance, the columns that matter in it, and how to look at it.

    Attributes
    ----------
    instance : Instance
    right : tuple of ndarray
        For each column that matters the features that say it: itself and what repeats it.
    epsilons : tuple of float
    source : random.Random
        For draws, where there are draws.
    time_limit : float
        Seconds for each search, each preparation, and all draws from one distribution.
    most_listed : int
        Up to so many supports probabilities are exact.
    draws : int
        From each distribution whose probabilities are not listed.
    """

    instance: Instance
    right: tuple[IntArray, ...]
    epsilons: tuple[float, ...]
    source: random.Random
    time_limit: float
    most_listed: int = MOST_LISTED
    draws: int = DRAWS

    def of_draws(self, draw: Callable[[], Support]) -> Chance:
        """Relative frequencies; raise `NotCertified` if the draws take too long."""
        clock = Deadline(self.time_limit)
        drawn = []
        for _ in range(self.draws):
            drawn.append(draw())
            require_time(clock)
        shares = self.shares(np.array(drawn))
        return Chance(float(shares.mean()), float((shares == 1.0).mean()))

    def shares(self, supports: IntArray) -> FloatArray:
        """Return the share of the columns that matter in each support; shape (supports,)."""
        found = [np.isin(supports, features).any(axis=1) for features in self.right]
        return np.asarray(np.mean(found, axis=0))


def require_time(clock: Deadline) -> None:
    """Raise `NotCertified` past the deadline."""
    if clock.remaining <= 0.0:
        raise NotCertified(
            f"time limit of {clock.limit:g} s reached", bound=-math.inf, incumbent=math.inf
        )


def exponential(case: Case) -> Chances:
    """The exponential mechanism: exact where supports are few, else by exact draws."""
    instance = case.instance
    for epsilon in case.epsilons:
        # Refuses what it would refuse of the user's own table.
        ExponentialMechanism(instance, epsilon)
    prior = complexity_prior(instance.n_features, [instance.support_size], 1.0, None)
    rates = [exact_rate(epsilon, instance, prior) for epsilon in case.epsilons]
    if instance.number_of_supports > case.most_listed and instance.ridge > 0.0:
        laws = (SoftDraws(instance.prepared, prior, rate, case.time_limit, None) for rate in rates)
        return tuple(case.of_draws(partial(law.draw, case.source)) for law in laws)
    supports, values = _listed(case)
    shares = case.shares(supports)
    return tuple(_expected(shares, -rate.rate * values) for rate in rates)


def without_privacy(case: Case) -> Chances:
    """The best support itself: what stays unknown with this many rows and no ε at all."""
    instance = case.instance
    if instance.number_of_supports > case.most_listed and instance.ridge > 0.0:
        best = top_supports(instance, 1, time_limit=case.time_limit).supports[0]
    else:
        supports, values = _listed(case)
        best = supports[values.argmin()]
    (share,) = case.shares(best[None, :]).tolist()
    return (Chance(share, float(share == 1.0)),) * len(case.epsilons)


def by_draws(method: Callable[..., PrivateSelector], case: Case, **options: Any) -> Chances:
    """Any other method, by draws: mistakes and the chain are private on a condition only."""

    def chance(method: PrivateSelector) -> Chance:
        mechanism = method.on(case.instance, case.source)
        return case.of_draws(lambda: tuple(mechanism.sample(case.source)))

    return tuple(chance(method(epsilon=epsilon, **options)) for epsilon in case.epsilons)


def by_search(method: Callable[..., PrivateSelector], case: Case) -> Chances:
    """A method that draws from what a search finds in time, by draws."""
    return by_draws(method, case, time_limit=case.time_limit)


METHODS: Mapping[str, Callable[[Case], Chances]] = {
    EXPONENTIAL: exponential,
    TOP_R: partial(by_search, TopRSelector),
    MISTAKES: partial(by_search, MistakesSelector),
    "sis": partial(by_draws, SISSelector, relation=REPLACE_ONE),
    "kendall": partial(by_draws, KendallSelector, relation=REPLACE_ONE),
    "sample-aggregate": partial(by_draws, SampleAggregateSelector, relation=REPLACE_ONE),
    "mcmc": partial(by_draws, MCMCSelector),
}

USUAL = (EXPONENTIAL, TOP_R, MISTAKES, "sis", "kendall")
"""Methods that are compared by default: the others take long to simulate."""


def _listed(case: Case) -> tuple[IntArray, FloatArray]:
    """All supports and their values; raise `NotCertified` if it takes too long."""
    instance, clock = case.instance, Deadline(case.time_limit)
    width = max(map(len, instance.groups)) * instance.support_size
    chunk = 1 + MOST_WORK // width**3
    supports: IntArray = np.array(
        list(combinations(range(instance.n_features), instance.support_size)), dtype=np.intp
    )
    values = []
    for start in range(0, len(supports), chunk):
        values.append(instance.objectives(supports[start : start + chunk]))
        require_time(clock)
    return supports, np.concatenate(values)


def _expected(shares: FloatArray, logs: FloatArray) -> Chance:
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return Chance(float(weights @ shares), float(weights[shares == 1.0].sum()))


def blind(features: int, support_size: int) -> float:
    """The expected share of a support that is drawn without looking: s/p."""
    return support_size / features


def mean_of(chances: Sequence[Chance]) -> Chance:
    """Over tables."""
    return Chance(
        float(np.mean([chance.found for chance in chances])),
        float(np.mean([chance.all_found for chance in chances])),
    )
