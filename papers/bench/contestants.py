"""Selectors of `mipselect bench`: one table from names to selectors of the same problem.

Every selector is built so that it is private under replace-one at the ε that is asked for.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from mipselect import Guarantee, Instance
from mipselect.array_checks import checked_support
from mipselect.mechanisms import SupportMechanism
from mipselect.privacy.randomness import Rng, generator, uniform_subset
from mipselect.problem.stored.stored_data import StoredData
from mipselect.selectors import (
    ExponentialSelector,
    KendallSelector,
    MCMCSelector,
    MistakesSelector,
    SampleAggregateSelector,
    SISSelector,
    TopRSelector,
)
from mipselect.selectors.base import PrivateSelector

from ..arrays import FloatArray, Support

DELTA = 1e-6
"""δ of the contestants that need one."""

WIDE_POOL = 100_000
"""Supports that top-r-wide lists, if there are so many."""

FEW_SUPPORTS = 10_000
"""Up to so many, losses without a closed form can all be listed in seconds."""


@dataclass(frozen=True)
class Rules:
    """Options of the command line for the contestants.

    Attributes
    ----------
    solver : str
    time_limit : float or None
        Seconds for each search, and for each exact draw.
    mcmc_steps : int
    mcmc_radius : float or None
        Bound on ‖β‖₁; None is r√s, which allows every β with ‖β‖₂ ≤ r.
    """

    solver: str
    time_limit: float | None
    mcmc_steps: int
    mcmc_radius: float | None


@dataclass(frozen=True)
class Contestant:
    """One way of selecting.

    Attributes
    ----------
    build : callable
        Takes an instance, ε and the rules; returns the selector.
    unfit : callable
        Takes an instance; returns why the contestant cannot take part, or "".
    takes_codes : bool
        Whether classes are given to it as the numbers -1 and +1.
    """

    build: Callable[[Instance, float, Rules], PrivateSelector]
    unfit: Callable[[Instance], str] = lambda _: ""
    takes_codes: bool = False

    def target(self, problem: StoredData, instance: Instance) -> FloatArray:
        """Return the target as the selector wants it, before clipping."""
        return instance.y if self.takes_codes and instance.classes is not None else problem.y


def in_words(selector: PrivateSelector) -> str:
    """List all arguments of a selector that decide what it draws from, besides s, ε and features.

    Which columns make a feature and what is always in belongs to the data.
    """
    silent = {"n_features_to_select", "epsilon", "time_limit", "ledger", "random_state"}
    silent |= {"groups", "always", "intercept", "always_bound"}
    return ", ".join(
        f"{name} {value}"
        for name, value in sorted(selector.get_params(deep=False).items())
        if name not in silent and value is not None
    )


@dataclass(frozen=True)
class Uniform(SupportMechanism):
    """Every support of s out of p features with the same probability: the yardstick."""

    support_size: int
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the mechanism in a release."""
        return "uniform"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The p names."""
        return self.names

    @property
    def guarantee(self) -> Guarantee:
        """(0, 0): nothing is looked at."""
        return Guarantee(0.0)

    def sample(self, rng: Rng = None) -> Support:
        """Draw a support. See `SupportMechanism.sample`."""
        return uniform_subset(generator(rng)[0], len(self.names), self.support_size)

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return -log C(p, s) for any support."""
        p, s = len(self.names), self.support_size
        checked_support(outcome, s, p)
        return -math.log(math.comb(p, s))


class UniformSelector(PrivateSelector):
    """Select columns blindly. See `Uniform`."""

    def __init__(
        self,
        n_features_to_select: int = 5,
        *,
        groups: Any = None,
        always: Any = None,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.groups = groups
        self.always = always
        self.ledger = ledger
        self.random_state = random_state

    def _mechanism(self, X: FloatArray, y: Any, source: random.Random) -> Uniform:
        return Uniform(int(self.n_features_to_select), self._layout().feature_names)


def _features(instance: Instance) -> dict[str, Any]:
    """Return the columns of every feature, for every selector."""
    if instance.layout.features.plain:
        return {}
    return {"groups": instance.groups, "always": instance.always}


def _always_in(instance: Instance) -> dict[str, Any]:
    """Return what is always in, for a selector with a model."""
    if instance.layout.features.plain:
        return {}
    return {"intercept": instance.intercept, "always_bound": instance.always_bound}


def _bounds(instance: Instance) -> dict[str, Any]:
    """Return the bounds of X and y: one for all features where they are alike."""
    each = instance.feature_bounds.tolist()
    alike = min(each) == max(each)
    return {"x_bound": instance.x_bound if alike else each, "y_bound": instance.y_bound}


def _problem(instance: Instance) -> dict[str, Any]:
    """Return the arguments of selectors that are defined by the restricted problem."""
    return {
        "n_features_to_select": instance.support_size,
        **_bounds(instance),
        **_features(instance),
        **_always_in(instance),
        "coef_bound": instance.coef_bound,
        "ridge": instance.ridge,
        "loss": instance.loss,
    }


def _search(rules: Rules) -> dict[str, Any]:
    return {"solver": rules.solver, "time_limit": rules.time_limit}


def _top_r(instance: Instance, epsilon: float, rules: Rules) -> PrivateSelector:
    return TopRSelector(epsilon=epsilon, **_problem(instance), **_search(rules))


def _top_r_wide(instance: Instance, epsilon: float, rules: Rules) -> PrivateSelector:
    """Choose a pool so large that little is left to chance among the supports outside of it."""
    pool_size = min(WIDE_POOL, instance.number_of_supports)
    return TopRSelector(
        epsilon=epsilon, pool_size=pool_size, **_problem(instance), **_search(rules)
    )


def _too_slow_to_list(instance: Instance) -> str:
    if instance.loss == "squared" or instance.number_of_supports <= FEW_SUPPORTS:
        return ""
    return f"{WIDE_POOL:,} supports take minutes with the loss {instance.loss}"


def _mistakes(instance: Instance, epsilon: float, rules: Rules) -> PrivateSelector:
    return MistakesSelector(epsilon=epsilon, **_problem(instance), **_search(rules))


def _mistakes_ptr(instance: Instance, epsilon: float, rules: Rules) -> PrivateSelector:
    """Spend half of ε on the test, and half on the draw."""
    return MistakesSelector(
        epsilon=epsilon / 2.0,
        test_epsilon=epsilon / 2.0,
        delta=DELTA,
        **_problem(instance),
        **_search(rules),
    )


def _exponential(instance: Instance, epsilon: float, rules: Rules) -> PrivateSelector:
    return ExponentialSelector(epsilon=epsilon, time_limit=rules.time_limit, **_problem(instance))


def _mcmc(instance: Instance, epsilon: float, rules: Rules) -> PrivateSelector:
    radius = rules.mcmc_radius
    if radius is None:
        parts = instance.support_size + len(instance.always) + instance.intercept
        radius = instance.coef_bound * math.sqrt(parts)
    return MCMCSelector(
        instance.support_size,
        epsilon=epsilon,
        **_bounds(instance),
        **_features(instance),
        **_always_in(instance),
        coef_bound=radius,
        n_steps=rules.mcmc_steps,
        delta=DELTA,
    )


def _not_squared(instance: Instance) -> str:
    return "" if instance.loss == "squared" else f"it is for the squared loss, not {instance.loss}"


def _sis(instance: Instance, epsilon: float, rules: Rules) -> PrivateSelector:
    return SISSelector(
        instance.support_size,
        epsilon=epsilon,
        **_bounds(instance),
        **_features(instance),
        intercept=instance.intercept,
        relation="replace-one",
    )


def _kendall(instance: Instance, epsilon: float, rules: Rules) -> PrivateSelector:
    return KendallSelector(
        instance.support_size, epsilon=epsilon, **_features(instance), relation="replace-one"
    )


def _sample_aggregate(instance: Instance, epsilon: float, rules: Rules) -> PrivateSelector:
    return SampleAggregateSelector(
        instance.support_size,
        epsilon=epsilon,
        **_features(instance),
        relation="replace-one",
        alpha=None,
    )


def _uniform(instance: Instance, epsilon: float, rules: Rules) -> PrivateSelector:
    return UniformSelector(instance.support_size, **_features(instance))


CONTESTANTS: Mapping[str, Contestant] = {
    "top-r": Contestant(_top_r),
    "top-r-wide": Contestant(_top_r_wide, _too_slow_to_list),
    "mistakes": Contestant(_mistakes),
    "mistakes-ptr": Contestant(_mistakes_ptr),
    "exponential": Contestant(_exponential),
    "mcmc": Contestant(_mcmc, _not_squared),
    "sis": Contestant(_sis, takes_codes=True),
    "kendall": Contestant(_kendall, takes_codes=True),
    "sample-aggregate": Contestant(_sample_aggregate, takes_codes=True),
    "uniform": Contestant(_uniform),
}
"""Contestants by name, in the order in which they run."""
