"""Propose-test-release: a private test of the gap that no row can close, and the optimum by it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Support, SupportMechanism
from mipselect.mechanisms.supports.base import gap_in_one_direction
from mipselect.privacy.guarantee import RELATIONS, Guarantee
from mipselect.privacy.randomness import IntegerWeights, Rng, generator
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.validation import checked_epsilon, checked_number, shown

ROUNDING = 1e-9
"""A gap counts as larger than 2Δ only if it is by this much, relatively."""


def exceeds_condition(gap: float, sensitivity: float) -> bool:
    """Return whether `gap` > 2Δ, beyond rounding errors."""
    return gap > 2.0 * sensitivity * (1.0 + ROUNDING)


@dataclass(frozen=True)
class GapTest:
    """Pass if q + Lap(b) > b ln(1/2δ), with q = max(0, gap/2Δ - 1) and b = (1 + τ/2Δ)/ε₀.

    Attributes
    ----------
    gap : float
        A proven lower bound, within τ, on the second best value minus the best; ``inf`` if
        there is no second. Sensitive.
    sensitivity : float
        Δ > 0.
    tolerance : float
        τ/Δ.
    epsilon : float
        ε₀ > 0, what the test costs.
    delta : float
        0 < δ < 1/2, the probability of passing on data whose gap is at most 2Δ.
    relations : tuple of str
        Neighbouring relations under which the gap is known to move by 2Δ at most.

    Notes
    -----
    Only the outcome is released, so no Laplace noise is drawn but its two probabilities, in
    closed form (docs/mathematics/top-r-and-mistakes.md, (6)). That `ROUNDING` is subtracted before
    the maximum is taken changes nothing about how far q moves.

    References
    ----------
    Dwork and Lei, "Differential privacy and robust statistics", 2009; Dwork and Roth, "The
    algorithmic foundations of differential privacy", 2014, section 7.2.
    """

    gap: float = field(repr=False)
    sensitivity: float
    tolerance: float
    epsilon: float
    delta: float
    relations: tuple[str, ...] = tuple(RELATIONS)

    def __post_init__(self) -> None:
        wanted = "a number with 0 < delta < 1/2"
        checked_number(self.delta, "delta", wanted, lambda number: 0.0 < number < 0.5)

    def passes(self, source: random.Random) -> bool:
        """Draw the outcome."""
        return self._weights.draw(source) == 0

    @property
    def log_pass(self) -> float:
        """Log of the probability that the test passes. Sensitive."""
        return self._weights.log_probability(0)

    @property
    def log_fail(self) -> float:
        """Log of the probability that the test fails. Sensitive."""
        return self._weights.log_probability(1)

    @cached_property
    def _weights(self) -> IntegerWeights:
        """Weights of passing and of failing."""
        distance = max(0.0, self.gap / (2.0 * self.sensitivity) - 1.0 - ROUNDING)
        margin = distance * self.epsilon / (1.0 + self.tolerance / 2.0) + math.log(2.0 * self.delta)
        rare = math.log(0.5) - abs(margin)
        common = math.log1p(-math.exp(rare))
        return IntegerWeights.from_logs([common, rare] if margin > 0.0 else [rare, common])


def gap_test(found: MistakeLevels | SupportPool, epsilon: float, delta: float) -> GapTest:
    """Return the test of the gap between the best two supports, which is proven within τ."""
    if isinstance(found, MistakeLevels):
        gap = found.gap
    else:
        gap = float(np.min(found.values[1:], initial=found.rest_bound) - found.values[0])
    return GapTest(
        gap, found.sensitivity, found.tolerance, epsilon, delta, relations=found.relations
    )


@dataclass(frozen=True)
class DrawOnTest:
    """A draw that needs a gap above 2Δ where the test passes, and the fallback's where it fails.

    Attributes
    ----------
    test : GapTest
    fallback : SupportMechanism
        Without conditions; the other draw costs no more than it.
    """

    test: GapTest
    fallback: SupportMechanism

    def sample(self, source: random.Random, passed: Callable[[random.Random], Support]) -> Support:
        """Draw by `passed` or by the fallback."""
        return passed(source) if self.test.passes(source) else self.fallback.sample(source)

    def log_probability(self, outcome: ArrayLike, log_passed: float) -> float:
        """Compute the log probability of a support from that where the test passes. Sensitive."""
        otherwise = self.test.log_fail + self.fallback.log_probability(outcome)
        return float(np.logaddexp(self.test.log_pass + log_passed, otherwise))

    @property
    def guarantee(self) -> Guarantee:
        """(ε₀, δ) and the fallback's together, without conditions; under replace-one."""
        return Guarantee(self.test.epsilon, self.test.delta) + self.fallback.guarantee

    def guarantees(self, passed: float = 0.0) -> dict[str, Guarantee]:
        """State the guarantee under both relations, if the test and the fallback state both.

        Parameters
        ----------
        passed : float
            What the draw where the test passes costs under add-remove.
        """
        other = self.fallback.guarantees.get("add-remove")
        if other is None or "add-remove" not in self.test.relations:
            return {self.guarantee.relation: self.guarantee}
        test = gap_in_one_direction(self.test.epsilon, self.test.tolerance)
        # A fallback of one's own may state another δ under add-remove than under replace-one.
        dearer = replace(other, epsilon=max(passed, other.epsilon))
        both = Guarantee(test, self.test.delta, other.relation) + dearer
        return {self.guarantee.relation: self.guarantee, both.relation: both}


class StableOptimum(SupportMechanism):
    """The optimum, if the gap to the second best passes a private test; else a fallback's draw.

    Where the gap exceeds 2Δ all neighbouring data have the same optimum, so that it may be
    released as it is. The test costs (ε, δ), the fallback its own guarantee.

    Parameters
    ----------
    levels_or_pool : MistakeLevels or SupportPool
        Certified; a pool has at least two supports, or all.
    epsilon : float
        ε > 0, finite, of the test.
    delta : float
        0 < δ < 1/2.
    fallback : SupportMechanism
        About the same features, without conditions: such as an `ExponentialMechanism` at ε₁.

    Raises
    ------
    NotCertified
        If the levels, or the pool, do not prove what their tolerance says.
    InvalidInput
        If a number is out of its range, the pool has one support of many, or the fallback is no
        such mechanism.

    References
    ----------
    Dwork and Lei, "Differential privacy and robust statistics", 2009; Thakurta and Smith,
    "Differentially private feature selection via stability arguments", 2013, section 3.

    Examples
    --------
    >>> from mipselect import ExponentialMechanism, StableOptimum, load_instance, mistake_levels
    >>> instance = load_instance("tiny-plain")
    >>> otherwise = ExponentialMechanism(instance, 1.0)
    >>> stable = StableOptimum(mistake_levels(instance), 0.5, 1e-6, otherwise)
    >>> print(stable.guarantee)
    (1.5, 1e-06)-differentially private, replacing one row; no further condition
    """

    def __init__(
        self,
        levels_or_pool: MistakeLevels | SupportPool,
        epsilon: float,
        delta: float,
        fallback: SupportMechanism,
    ) -> None:
        found = levels_or_pool
        if not isinstance(found, MistakeLevels | SupportPool):
            raise InvalidInput(
                f"the optimum comes from MistakeLevels or a SupportPool, got {shown(found)}"
            )
        found.require_certified()
        if isinstance(found, SupportPool) and len(found) == 1 and found.number_unlisted > 0:
            # All that its rest bound has to reach is the best value less τ.
            raise InvalidInput(
                "a pool of one support does not prove how far the second best one is; take "
                "mistake_levels or a pool of two or more"
            )
        if not isinstance(fallback, SupportMechanism):
            raise InvalidInput(f"fallback must draw supports, got {shown(fallback)}")
        if fallback.feature_names != found.feature_names:
            raise InvalidInput("fallback must be about the same features as the optimum")
        if any(stated.conditions for stated in fallback.guarantees.values()):
            raise InvalidInput(
                "fallback must not have conditions: it answers just where data are unstable"
            )
        self._optimum: Support = tuple(found.supports[0].tolist())
        self._names = found.feature_names
        test = gap_test(found, checked_epsilon(epsilon), delta)
        self._tested = DrawOnTest(test, fallback)

    @property
    def name(self) -> str:
        """Name of the mechanism in a release; the outcome of the test is not in it."""
        return f"stable optimum, {self._tested.fallback.name}"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The p names."""
        return self._names

    @property
    def guarantee(self) -> Guarantee:
        """(ε, δ) and the fallback's together, without conditions; under replace-one."""
        return self._tested.guarantee

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """The guarantee under both relations, if levels and fallback state both."""
        return self._tested.guarantees()

    def sample(self, rng: Rng = None) -> Support:
        """Draw a support: sorted column indices. See `Mechanism.sample`."""
        source, _ = generator(rng)
        return self._tested.sample(source, lambda _: self._optimum)

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log probability of any support, where the fallback's is known. Sensitive."""
        is_it = tuple(sorted(np.asarray(outcome).tolist())) == self._optimum
        return self._tested.log_probability(outcome, 0.0 if is_it else -math.inf)
