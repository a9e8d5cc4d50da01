"""The proposal that is taken: the first of all, or the first coin that shows heads in a race.

Supports are proposed at rates b_S ≥ w_S. The exponential mechanism takes the first proposal that a
coin of probability w_S/b_S accepts. Permute-and-flip gives every support a uniform time U_S and a
coin of probability w_S ≤ 1, and takes the first time whose coin shows heads. With u for the time
that has passed and e = -ln(1 - u), S shows heads at rate w_S (1-u)/(1 - w_S u) ≤ w_S in e: the
same proposals, with one more factor (docs/mathematics/permute-and-flip.md, (3)).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from mipselect.privacy.randomness import coin, standard_exponential

LATE = 3.0
"""The largest weight is proven, if it is not yet, when all but 1/20 of the time is over: e = 3."""


class Race(Protocol):
    """One draw: its clock, and whether a proposal that was accepted is taken."""

    def wait(self, log_rate: float, source: random.Random) -> None:
        """Let the time pass until the next proposal; they come at rate exp(log_rate)."""

    def takes(self, log_weight: Callable[[], float], source: random.Random) -> bool:
        """Return True if the support of this weight is what is drawn."""


class FirstProposal:
    """The race of the exponential mechanism: time does not matter."""

    def wait(self, log_rate: float, source: random.Random) -> None:
        """Do nothing."""

    def takes(self, log_weight: Callable[[], float], source: random.Random) -> bool:
        """Return True."""
        return True


class Scale(Protocol):
    """The largest log weight, or an upper bound on it."""

    @property
    def log_largest(self) -> float:
        """No log weight is larger."""

    @property
    def proven(self) -> bool:
        """True if one is as large."""

    def prove(self) -> None:
        """Make it so, or raise."""


class FirstHeads:
    """The race of permute-and-flip.

    Weights are measured from an upper bound on the largest: the race is the same from any, for it
    is won by the least U_S/w_S, but u = 1 is reached before it is won where the bound is not the
    largest weight itself.

    Parameters
    ----------
    scale : Scale
        Proven when the race has lasted for long.
    """

    def __init__(self, scale: Scale) -> None:
        self._scale, self._log_scale = scale, scale.log_largest
        self._time = Fraction(0)

    def wait(self, log_rate: float, source: random.Random) -> None:
        """See `Race`. The times are added up without rounding."""
        if self._time > LATE and not self._scale.proven:
            self._scale.prove()
        self._measure_from(self._scale.log_largest)
        step = standard_exponential(source) * math.exp(self._log_scale - log_rate)
        self._time += Fraction(step)

    def takes(self, log_weight: Callable[[], float], source: random.Random) -> bool:
        """Return True with probability (1-u)/(1 - wu)."""
        return coin(self._log_thinning(log_weight() - self._log_scale), source)

    def _log_thinning(self, log_weight: float) -> float:
        """Compute ln (1-u)/(1 - wu) = -e - ln(1 - w + we^-e)."""
        if log_weight >= 0.0:
            return 0.0
        e = float(self._time)
        return min(-e - math.log(-math.expm1(log_weight) + math.exp(log_weight - e)), 0.0)

    def _measure_from(self, log_scale: float) -> None:
        """Go over to a smaller bound: by a factor f < 1 for the bound, u is f times as large."""
        moved = log_scale - self._log_scale
        if moved < 0.0:
            left = -math.expm1(moved) + math.exp(moved - float(self._time))
            self._time, self._log_scale = Fraction(max(0.0, -math.log(left))), log_scale
