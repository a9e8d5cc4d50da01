"""The test of propose-test-release: is the gap of the optimum large enough, privately?"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from functools import cached_property

from mipselect.privacy.randomness import IntegerWeights
from mipselect.validation import checked_number

ROUNDING = 1e-9
"""A gap counts as larger than 2Δ only if it is by this much, relatively."""


def exceeds_condition(gap: float, sensitivity: float) -> bool:
    """Return whether `gap` > 2Δ, beyond rounding errors."""
    return gap > 2.0 * sensitivity * (1.0 + ROUNDING)


def checked_test_delta(delta: float) -> float:
    """Return a number with 0 < δ < 1/2, or raise `InvalidInput`."""
    return checked_number(
        delta, "delta", "a number with 0 < delta < 1/2", lambda number: 0.0 < number < 0.5
    )


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

    Notes
    -----
    The exact gap moves by at most 2Δ when a row is replaced, so q moves by at most 1; with a
    bound that is τ lower at most, by 1 + τ/2Δ; that `ROUNDING` is subtracted before the maximum
    is taken changes nothing about it. Where the gap is at most 2Δ, q = 0 and the test passes
    with probability δ.

    Only the outcome is released, so no Laplace noise is drawn but its two probabilities, in
    closed form (docs/mathematics/top-r-and-mistakes.md, (6)).

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
