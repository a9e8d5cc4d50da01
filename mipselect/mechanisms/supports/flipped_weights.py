"""Permute-and-flip where all weights are listed: its draw, and its probabilities as integrals.

With w relative to the largest, P(k) = ∫₀¹ w_k Π_{l≠k} (1 - w_l t) dt
(docs/mathematics/permute-and-flip.md, (2)). The product falls at least as fast as e^{-Wt}, W = Σ w;
so the integral ends at T = min(1, 60/W), and the logs of all factors but a few hundred are power
series in wT ≤ 1/8, added up once for all t and all k.
"""

from __future__ import annotations

import random
from functools import cached_property, partial

import numpy as np
from numpy.polynomial.polynomial import polyval

from mipselect.arrays import FloatArray, IntArray
from mipselect.mechanisms.noise.quadrature import Panels
from mipselect.mechanisms.supports.race import FirstHeads
from mipselect.privacy.randomness import IntegerWeights, log_ratio

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
        return np.asarray(np.exp(self._panels.integrate(self._log_product + powers)[0]))

    def log_probabilities(self, logs: FloatArray) -> FloatArray:
        """Compute log probabilities of numbers with these ln w, which are among those listed."""
        unique, places = np.unique(logs, return_inverse=True)
        weights, found = np.exp(unique), np.empty(len(unique))
        small = weights * self._end <= SMALL
        found[small] = np.log(polyval(weights[small] * self._end, self._moments))
        # There are no more than REACH/SMALL of them.
        others = self._log_product - np.log1p(-np.outer(weights[~small], self._panels.points))
        found[~small] = self._panels.integrate(others)[0]
        return np.asarray((unique + found)[places])
