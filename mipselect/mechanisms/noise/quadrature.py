"""Probabilities that noisy utilities are the largest, by Gauss rules on panels, in logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from mipselect.arrays import FloatArray
from mipselect.mechanisms.noise.noise import Noise

POINTS = 16
"""Points on each panel."""

REACH = 40.0
"""Integrands are followed this far from their centres, on the scale of the noise."""

OFFSETS = np.concatenate([2.0 ** np.arange(-6, 1), np.arange(2.0, REACH + 1.0)])
"""Distances of edges from a centre: 2^-6, 2^-5, ..., 1, and then one apart."""

CHUNK = 60_000
"""Largest number of doubles in one intermediate array."""


@dataclass(frozen=True)
class Panels:
    """The intervals between sorted edges, with a Gauss-Legendre rule on each.

    Attributes
    ----------
    edges : float array, shape (panels + 1,)
    """

    edges: FloatArray = field(repr=False)

    @cached_property
    def points(self) -> FloatArray:
        """Points of the rule; shape (N,)."""
        half = np.diff(self.edges / 2.0)[:, None]
        return (self.edges[:-1, None] + half + half * _gauss()[0]).ravel()

    @cached_property
    def log_weights(self) -> FloatArray:
        """Logs of the weights of `points`; shape (N,)."""
        return np.log(np.diff(self.edges / 2.0)[:, None] * _gauss()[1]).ravel()

    def integrate(self, log_integrand: FloatArray) -> FloatArray:
        """Integrate over the last axis, shape (..., N), to the log of the integral."""
        return np.asarray(logsumexp(log_integrand + self.log_weights, axis=-1))


@cache
def _gauss() -> tuple[FloatArray, FloatArray]:
    """Return points and weights of the rule on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    return nodes, weights


def edges_around(centres: FloatArray, kinks: FloatArray) -> FloatArray:
    """Return edges from the first to the last centre, at all of them and at every kink between.

    Going away from a centre they are at `OFFSETS`; a long way from two centres is one panel.
    """
    ends = np.unique(centres)
    edges = [ends, kinks[(kinks > ends[0]) & (kinks < ends[-1])]]
    for left, right in pairwise(ends):
        near = OFFSETS[(right - left) / 2.0 > OFFSETS]
        edges += [left + near, right - near]
    together = np.unique(np.concatenate(edges))
    apart = np.diff(together, prepend=-np.inf) > 1e-12 * (1.0 + np.abs(together))
    edges_apart: FloatArray = together[apart]
    return edges_apart


def summed_in_chunks(
    terms: Callable[[FloatArray], FloatArray], rows: FloatArray, points: int
) -> FloatArray:
    """Add up terms(rows), a few rows at a time.

    Parameters
    ----------
    terms : callable
        From rows, shape (m, c), to an array of shape (m, points).
    rows : float array, shape (K, c)
    points : int

    Returns
    -------
    float array, shape (points,)
    """
    step = max(1, CHUNK // points)
    result = np.zeros(points)
    for start in range(0, rows.shape[0], step):
        result += terms(rows[start : start + step]).sum(axis=0)
    return result


MAX_KINKS = 300


@dataclass(frozen=True, eq=False)
class Competitors:
    """The noisy utilities of K groups; group b is m_b independent copies of u_b + noise.

    Attributes
    ----------
    noise : Noise
    utilities : float array, shape (K,)
        u_b.
    log_sizes : float array, shape (K,)
        log m_b.

    Notes
    -----
    With G(z) = Π F(z - u_b)^{m_b}, the probability that the largest of all is in group c is
    ∫ m_c (f/F)(z - u_c) G(z) dz, and the probability that every member of a set is above all
    competitors is ∫ Π (1 - F(z - u_a)) dG(z).

    The integrals begin where G or everything below it is negligible: at the third largest
    utility less 40 (to the left of it G falls at least like e^{2z}, whichever item wins), or where
    the sum of all tails exceeds a thousand; they end where that sum is below e^-40.
    """

    noise: Noise
    utilities: FloatArray = field(repr=False)
    log_sizes: FloatArray = field(repr=False)

    def log_wins(self, utilities: FloatArray, log_sizes: FloatArray) -> FloatArray:
        """Compute log probabilities that the largest is in the group (u_c, m_c), which competes.

        Parameters
        ----------
        utilities, log_sizes : float array, shape (C,)

        Returns
        -------
        float array, shape (C,)
        """
        panels = self._panels(np.empty(0))
        log_g = self._log_all_below(panels)
        step = max(1, CHUNK // panels.points.size)
        parts = []
        for start in range(0, utilities.size, step):
            chunk = utilities[start : start + step, None]
            hazard = self.noise.log_reversed_hazard(panels.points - chunk)
            parts.append(panels.integrate(_log_product(hazard, log_g)))
        return np.asarray(np.concatenate(parts) + log_sizes)

    def log_all_above(self, utilities: FloatArray) -> float:
        """Compute the log probability that all of `utilities`, shape (k,), end above competitors.

        They do not compete.
        """
        panels = self._panels(utilities)
        z, noise = panels.points, self.noise
        rows = self._relevant(panels)
        steepest = noise.log_reversed_hazard(z - rows[:, 0].max())

        def relative_hazards(rows: FloatArray) -> FloatArray:
            return np.exp(noise.log_reversed_hazard(z - rows[:, :1]) + rows[:, 1:] - steepest)

        hazards = np.log(summed_in_chunks(relative_hazards, rows, z.size)) + steepest
        above = summed_in_chunks(
            lambda rows: noise.log_survival(z - rows), utilities[:, None], z.size
        )
        log_g = self._log_all_below(panels)
        return float(panels.integrate(_log_product(hazards, log_g) + above))

    @cached_property
    def _log_total(self) -> float:
        """log Σ m_b exp(u_b)."""
        return float(logsumexp(self.utilities + self.log_sizes))

    @cached_property
    def _best(self) -> FloatArray:
        """The three largest utilities, counted with their multiplicities."""
        order = np.argsort(-self.utilities, kind="stable")[:3]
        copies = np.rint(np.exp(np.minimum(self.log_sizes[order], 2.0))).astype(np.int64)
        best: FloatArray = np.repeat(self.utilities[order], copies)[:3]
        return best

    def _lowest(self, others: FloatArray) -> float:
        """Return the point where the integrals begin."""
        if self.noise.lowest == 0.0:
            start = float(self._best[0])
        else:
            start = float(min(self._best[-1], others.min(initial=np.inf))) - REACH
        crowded = self._log_total - 8.0 - math.log(1.0 + others.size)
        return max(start, crowded) if crowded > self._best[0] else start

    def _panels(self, others: FloatArray) -> Panels:
        lowest, highest = self._lowest(others), self._log_total + REACH
        ends = [others.min(), others.max()] if others.size else []
        centres = np.concatenate([self._best, ends, [self._log_total]])
        centres = np.clip(centres, lowest, highest)
        kinks = np.append(others, self.utilities) if self.noise.kinked else others
        kinks = kinks[(kinks > lowest) & (kinks < highest)]
        if kinks.size > MAX_KINKS:
            kinks = -np.sort(-kinks)[:MAX_KINKS]
        return Panels(edges_around(np.append(centres, [lowest, highest]), kinks))

    def _relevant(self, panels: Panels) -> FloatArray:
        """Return utilities and log sizes, shape (K', 2), that stand for all groups on the panels.

        Groups so far below that only the tail of their noise matters, where -log F falls like
        e^-x, are one group: m copies of u have the tail of m e^{u - U} copies of U.
        """
        pairs = np.column_stack([self.utilities, self.log_sizes])
        level = min(float(panels.edges[0]) - self.noise.tail, float(self.utilities.max()))
        far = self.utilities <= level
        if not far.any():
            return pairs
        tail = float(logsumexp(pairs[far].sum(axis=1))) - level
        return np.vstack([pairs[~far], [level, tail]])

    def _log_all_below(self, panels: Panels) -> FloatArray:
        """Compute log G at the points."""
        z, noise = panels.points, self.noise

        def exponents(rows: FloatArray) -> FloatArray:
            log_exponents = noise.log_exponent(z - rows[:, :1]) + rows[:, 1:]
            return np.exp(np.minimum(log_exponents, 700.0))

        return -summed_in_chunks(exponents, self._relevant(panels), z.size)


def _log_product(log_hazard: FloatArray, log_g: FloatArray) -> FloatArray:
    """Compute the log of the product, ``-inf`` where a factor is zero."""
    return np.where(log_hazard > -np.inf, log_hazard + log_g, -np.inf)
