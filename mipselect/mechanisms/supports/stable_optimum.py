"""The optimum itself, where a private test finds that no row can change it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Support, SupportMechanism
from mipselect.mechanisms.supports.propose_test_release import DrawOnTest, gap_test
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.randomness import Rng, generator
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.validation import checked_epsilon, shown


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
