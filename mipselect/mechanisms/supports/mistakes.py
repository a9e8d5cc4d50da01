"""The mistakes mechanism: a level by the best value in it, then a uniform member of the level."""

from __future__ import annotations

import random
from functools import cached_property

from numpy.typing import ArrayLike

from mipselect.arrays import checked_support
from mipselect.errors import ConditionNotMet, InvalidInput
from mipselect.mechanisms.base import Support, SupportMechanism
from mipselect.mechanisms.supports.base import both_relations, one_direction, score_log_weights
from mipselect.mechanisms.supports.propose_test_release import (
    DrawOnTest,
    exceeds_condition,
    gap_test,
)
from mipselect.mechanisms.supports.top_r import TopR
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.randomness import IntegerWeights, Rng, generator, uniform_subset
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.validation import checked_epsilon

GAP_CONDITION = (
    "gap between best and second best value exceeds twice the sensitivity, on these data and on "
    "every neighbouring data set"
)


class Mistakes(SupportMechanism):
    """P(S) ∝ exp(-ε R(best support of the level of S) / 2(Δ + τ)).

    In the published form, with `levels` and `epsilon` only, the guarantee holds on the
    condition `GAP_CONDITION`: on the data and on all neighbours, of which only the data can be
    checked. Data that just meet it are released and a neighbour is refused, so that no finite ε
    holds between these two, and a release tells that its data meet the condition. With
    `test_epsilon`, `delta` and `fallback`, all three, the condition is tested privately first
    (propose-test-release) and Top-R answers where the test fails: (test_epsilon + epsilon, delta),
    without conditions.

    Parameters
    ----------
    levels : MistakeLevels
        Certified: the optimum is one, and each level's value is within τ of its minimum, with
        τ = levels.tolerance · levels.sensitivity.
    epsilon : float
        ε > 0, finite.
    test_epsilon : float, optional
        ε₀ > 0, finite: what the test costs.
    delta : float, optional
        0 < δ < 1/2.
    fallback : TopR or SupportPool, optional
        A law on the same instance. A pool becomes ``TopR(pool, epsilon)``.

    Raises
    ------
    NotCertified
        If the levels, or the pool, do not prove what their tolerance says.
    InvalidInput
        If `levels` are not levels, a number is out of its range, only some of `test_epsilon`,
        `delta` and `fallback` are given, or the fallback is not about the same problem or has
        another ε.

    Notes
    -----
    Inside a level all supports are equally likely: to return the level's best support instead
    would not be private. The condition says most of it: where it holds the bare optimum is the
    same on all neighbours (docs/mathematics/top-r-and-mistakes.md, (5)). `StableOptimum` publishes
    it after a private test, and `ExponentialMechanism` needs no condition.

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    section 2.1.2 and theorem 2, for the form with a condition.

    Examples
    --------
    >>> from mipselect import Mistakes, load_instance, mistake_levels, top_supports
    >>> instance = load_instance("tiny-plain")
    >>> levels, pool = mistake_levels(instance), top_supports(instance)
    >>> tested = Mistakes(levels, 1.0, test_epsilon=0.5, delta=1e-6, fallback=pool)
    >>> print(tested.guarantee)
    (1.5, 1e-06)-differentially private, replacing one row; no further condition
    >>> len(tested.sample())
    3
    """

    def __init__(
        self,
        levels: MistakeLevels,
        epsilon: float,
        *,
        test_epsilon: float | None = None,
        delta: float | None = None,
        fallback: TopR | SupportPool | None = None,
    ) -> None:
        if not isinstance(levels, MistakeLevels):
            pool = isinstance(levels, SupportPool)
            raise InvalidInput(
                "Mistakes draws from the MistakeLevels that mistake_levels returns, got "
                f"{type(levels).__name__}{'; use TopR(pool, epsilon)' if pool else ''}"
            )
        self._levels = levels
        self._epsilon = checked_epsilon(epsilon)
        levels.require_certified()
        self._tested: DrawOnTest | None = None
        given = {"test_epsilon": test_epsilon, "delta": delta, "fallback": fallback}
        missing = [what for what, value in given.items() if value is None]
        if test_epsilon is not None and delta is not None and fallback is not None:
            self._tested = _tested(levels, self._epsilon, test_epsilon, delta, fallback)
        elif len(missing) < len(given):
            raise InvalidInput(
                "the form without a condition needs test_epsilon, delta and fallback together; "
                f"missing: {', '.join(missing)}"
            )

    @property
    def name(self) -> str:
        """Name of the mechanism in a release; the outcome of the test is not in it."""
        return "mistakes" if self._tested is None else "mistakes, propose-test-release"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The p names."""
        return self._levels.feature_names

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) on `GAP_CONDITION`, or (ε₀ + ε, δ) without conditions; under replace-one."""
        if self._tested is None:
            rho = bounded_range_rho(self._epsilon)
            return Guarantee(self._epsilon, conditions=(GAP_CONDITION,), rho=rho)
        return self._tested.guarantee

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """Guarantees; add-remove has (ε/2)(1 + τ/(Δ+τ)), and about half of ε₀ for the test."""
        cost = one_direction(self._epsilon, self._levels.tolerance)
        if self._tested is None:
            return both_relations(self.guarantee, cost, self._levels.relations)
        return self._tested.guarantees(cost)

    def sample(self, rng: Rng = None) -> Support:
        """Draw a support: s sorted column indices. See `Mechanism.sample`.

        In the published form it draws on any data, also where no guarantee holds.
        """
        source, _ = generator(rng)
        return (
            self._drawn(source)
            if self._tested is None
            else self._tested.sample(source, self._drawn)
        )

    def _drawn(self, source: random.Random) -> Support:
        """Draw a level, then a uniform member of it."""
        level = self._weights.draw(source)
        optimum, outside = self._optimum, self._outside
        removed = set(uniform_subset(source, len(optimum), level))
        added = uniform_subset(source, len(outside), level)
        kept = (j for k, j in enumerate(optimum) if k not in removed)
        return tuple(sorted((*kept, *(outside[k] for k in added))))

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log of the probability of any support. Sensitive."""
        support = checked_support(outcome, len(self._optimum), self._levels.n_features)
        level = self._levels.level_of(support)
        mistakes = self._weights.log_probability(level, among=self._levels.sizes[level])
        return mistakes if self._tested is None else self._tested.log_probability(support, mistakes)

    def prepare(self) -> None:
        """Refuse where the condition is not proven. See `Mechanism.release`.

        Raises
        ------
        ConditionNotMet
            In the published form, if the gap is not proven to exceed 2Δ; nothing is charged.
        """
        levels = self._levels
        if self._tested is None and not exceeds_condition(levels.gap, levels.sensitivity):
            raise ConditionNotMet(
                f"not proven: {GAP_CONDITION}. Nothing was drawn, but this refusal itself tells "
                "something about the data and is covered by no guarantee, as a release would "
                "have told that these data meet the condition. The form without a condition "
                "never refuses: give test_epsilon and delta, and to Mistakes a fallback too"
            )

    @cached_property
    def _weights(self) -> IntegerWeights:
        """One for every level."""
        levels = self._levels
        logs = score_log_weights(levels.values, self._epsilon, levels.widened_sensitivity)
        return IntegerWeights.from_logs(logs, dict(enumerate(levels.sizes)))

    @cached_property
    def _optimum(self) -> list[int]:
        optimum: list[int] = self._levels.supports[0].tolist()
        return optimum

    @cached_property
    def _outside(self) -> list[int]:
        inside = set(self._optimum)
        return [j for j in range(self._levels.n_features) if j not in inside]


def _tested(
    levels: MistakeLevels,
    epsilon: float,
    test_epsilon: float,
    delta: float,
    fallback: TopR | SupportPool,
) -> DrawOnTest:
    if isinstance(fallback, SupportPool):
        fallback = TopR(fallback, epsilon)
    if not isinstance(fallback, TopR):
        raise InvalidInput(f"fallback must be a TopR or a SupportPool, got {fallback!r}")
    if fallback.epsilon != epsilon:
        raise InvalidInput(
            f"fallback must have the same epsilon, {epsilon!r}, got {fallback.epsilon!r}"
        )
    pool = fallback.pool
    wanted = (levels.n_features, levels.supports.shape[1], levels.sensitivity, levels.feature_names)
    if (pool.n_features, pool.supports.shape[1], pool.sensitivity, pool.feature_names) != wanted:
        raise InvalidInput(
            "fallback must be a pool of the same instance as the levels, with the same number of "
            "features, support size, sensitivity and feature names"
        )
    return DrawOnTest(
        gap_test(levels, checked_epsilon(test_epsilon, "test_epsilon"), delta), fallback
    )
