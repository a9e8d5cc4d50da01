"""Permute-and-flip over all supports: listed with their weights, or in cells.

Every support has a uniform time U_S and a coin of probability w_S ≤ 1, and the first time is taken
whose coin shows heads. With u for the time that has passed and e = -ln(1 - u), S shows heads at
rate w_S (1-u)/(1 - w_S u) ≤ w_S in e: the proposals of the exponential mechanism, with one more
factor (docs/mathematics/permute-and-flip.md, (3)).

Where supports are listed, P(k) = ∫₀¹ w_k Π_{l≠k} (1 - w_l t) dt with w relative to the largest
((2) there). The product falls at least as fast as e^{-Wt}, W = Σ w; so the integral ends at
T = min(1, 60/W), and the logs of all factors but a few hundred are power series in wT ≤ 1/8, added
up once for all t and all k.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from numpy.polynomial.polynomial import polyval

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import NotCertified
from mipselect.mechanisms.noise.quadrature import Panels
from mipselect.mechanisms.supports.base import Interval
from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.mechanisms.supports.rejection_sampler import Race, SoftDraws
from mipselect.parameters import completed_by
from mipselect.privacy.concentrated import pure_rho
from mipselect.privacy.randomness import IntegerWeights, coin, log_ratio, standard_exponential
from mipselect.search.soft import LargestWeight

LATE = 3.0
"""The largest weight is proven, if it is not yet, when all but 1/20 of the time is over: e = 3."""


class FirstHeads(Race):
    """The race of permute-and-flip.

    Weights are measured from an upper bound on the largest: the race is the same from any, for it
    is won by the least U_S/w_S, but u = 1 is reached before it is won where the bound is not the
    largest weight itself.

    Parameters
    ----------
    scale : FlippedWeights or LargestWeight
        Its `log_largest`: no log weight is larger. It is `proven` if one is as large; `prove`
        makes it so, or raises, when the race has lasted for long.
    """

    def __init__(self, scale: FlippedWeights | LargestWeight) -> None:
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


REACH = 60.0
"""e^-60 of the integral is left out."""

PANELS = 64
"""Panels of the quadrature, on each of which the product falls by a factor of e or so."""

SMALL = 0.125
"""Largest wT for the power series."""

TERMS = 18
"""Terms of the power series: those left out are below SMALL^18/18 of what is summed."""


class FlippedWeights:
    """Permute-and-flip among numbers with integer weights.

    Probabilities are quadratures, right to 1e-12 of themselves.

    Parameters
    ----------
    weights : IntegerWeights
    """

    log_largest, proven = 0.0, True

    def __init__(self, weights: IntegerWeights) -> None:
        self._weights = weights
        logs = weights.log_probabilities()
        near = np.flatnonzero(logs >= logs.max() - 1e-9).tolist()
        largest = max(near, key=weights.weight)
        self._top = weights.weight(largest)
        self._log_total = -weights.log_probability(largest)

    def prove(self) -> None:
        """Do nothing, for the largest weight is known."""

    def draw(self, source: random.Random) -> int:
        """Draw a number: the first whose coin shows heads."""
        race = FirstHeads(self)
        while True:
            race.wait(self._log_total, source)
            number = self._weights.draw(source)
            if race.takes(partial(self._log_weight, number), source):
                return number

    def log_probability(self, index: int) -> float:
        """Return the log of the probability that `draw` returns `index`."""
        return float(self._integral.log_probabilities(np.array([self._log_weight(index)]))[0])

    def log_probabilities(self) -> FloatArray:
        """Return the log probability of every number, shape (N,)."""
        return self._integral.log_probabilities(self._logs)

    def _log_weight(self, number: int) -> float:
        return log_ratio(self._weights.weight(number), self._top)

    @property
    def _logs(self) -> FloatArray:
        return np.asarray(np.minimum(self._weights.log_probabilities() + self._log_total, 0.0))

    @cached_property
    def _integral(self) -> FlipIntegral:
        return FlipIntegral(self._logs)


class FlipIntegral:
    """∫₀¹ w_k Π_{l≠k} (1 - w_l t) dt for any k.

    Parameters
    ----------
    logs : ndarray of shape (N,)
        ln w ≤ 0, the largest 0.
    """

    def __init__(self, logs: FloatArray) -> None:
        unique, counts = np.unique(logs, return_counts=True)
        weights = np.exp(unique)
        self._end = min(1.0, REACH / float(counts @ weights))
        self._panels = Panels(np.linspace(0.0, self._end, PANELS + 1))
        t = self._panels.points
        small = weights * self._end <= SMALL
        self._log_product = -polyval(t / self._end, self._series(weights[small], counts[small]))
        for weight, count in zip(weights[~small], counts[~small], strict=True):
            self._log_product += count * np.log1p(-weight * t)

    def _series(self, weights: FloatArray, counts: IntArray) -> FloatArray:
        """Compute coefficients in t/T of -Σ ln(1 - wt) = Σ_k Σ (wT)^k (t/T)^k / k."""
        scaled, found = weights * self._end, np.zeros(TERMS + 1)
        power = counts.astype(np.float64)
        for k in range(1, TERMS + 1):
            power *= scaled
            found[k] = power.sum() / k
        return found

    @cached_property
    def _moments(self) -> FloatArray:
        """∫ (t/T)^k Π (1 - w_l t) dt for k = 0, 1, ...; 1/(1 - wt) = Σ (wt)^k."""
        logs = np.log(self._panels.points / self._end)
        powers = np.arange(TERMS + 1.0)[:, None] * logs
        return np.asarray(np.exp(self._panels.integrate(self._log_product + powers)))

    def log_probabilities(self, logs: FloatArray) -> FloatArray:
        """Compute log probabilities of numbers with these ln w, which are among those listed."""
        unique, places = np.unique(logs, return_inverse=True)
        weights, found = np.exp(unique), np.empty(len(unique))
        small = weights * self._end <= SMALL
        found[small] = np.log(polyval(weights[small] * self._end, self._moments))
        # There are no more than REACH/SMALL of them.
        others = self._log_product - np.log1p(-np.outer(weights[~small], self._panels.points))
        found[~small] = self._panels.integrate(others)
        return np.asarray((unique + found)[places])


class FlippedDraws(SoftDraws):
    """Draws by cells: the first support whose coin shows heads."""

    @cached_property
    def _largest(self) -> LargestWeight:
        return LargestWeight(self._partition, self._log_weight, self._rate.allowance)

    def _race(self) -> Race:
        return FirstHeads(self._largest)

    def estimate(self, support: IntArray) -> Interval:
        """Raise `NotCertified`."""
        raise NotCertified(
            "no probability of permute-and-flip is known where the supports are not listed: list "
            "more, or ask the exponential mechanism",
        )


@completed_by(ExactDraws)
class PermuteAndFlip(ExactDraws):
    """Permute-and-flip with weights μ(S) exp(-ε R(S) / 2w), over all supports of some sizes.

    All supports are looked at in random order, and the first is taken whose coin of probability
    weight / largest weight shows heads. At the same ε the probability of the support with the
    largest weight is never less than by the exponential mechanism, and with equal μ the expected
    R(S) is never more. Pure ε, without a condition, a tolerance or an assumption, for any number of
    supports.

    w is the `oscillation` of the instance, at most Δ: where one row is replaced the changes of R
    lie, for all supports, in an interval of length 2w.

    Notes
    -----
    A draw is the race of McKenna and Sheldon in continuous time, on the cells of
    `ExponentialMechanism`: its supports are proposed and accepted in the same way, and a further
    coin depends on the time that has passed. Where the race lasts for long the largest weight has
    to be proven. If the time limit ends the proof, nothing is released.

    The errors of arithmetic are paid for: c is below ε/2w by 3e-7 of it at some hundred rows
    and 4e-4 at a million, and public (`Rate`). A draw costs ε/2 under add-remove (`guarantees`). It
    is not of bounded range: ρ is ε²/2, where that of the exponential mechanism is ε²/8.

    Where all supports are listed `log_probability` is an integral, right to 1e-12.

    References
    ----------
    McKenna and Sheldon, "Permute-and-flip", 2020, algorithm 1.

    Examples
    --------
    >>> from mipselect import ExponentialMechanism, Ledger, PermuteAndFlip, load_instance
    >>> instance = load_instance("tiny-plain")
    >>> draw = PermuteAndFlip(instance, epsilon=1.0)
    >>> release = draw.release(Ledger(1.0))
    >>> release.private, len(release.support)
    (True, 3)
    >>> print(draw.guarantee)
    1-differentially private (pure), replacing one row; no further condition
    >>> best = (1, 4, 6)
    >>> draw.log_probability(best) > ExponentialMechanism(instance, 1.0).log_probability(best)
    True
    """

    name = "permute-and-flip"
    _roundings = 2.5
    _listed_law = staticmethod(FlippedWeights)
    _soft_draws = FlippedDraws
    rho_of = staticmethod(pure_rho)
    """ε²/2, which holds for anything that is ε-private."""
