"""Probabilities that noisy utilities are the largest, by one-dimensional integrals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from mipselect.arrays import FloatArray
from mipselect.mechanisms.noise.noise import Noise
from mipselect.mechanisms.noise.quadrature import (
    CHUNK,
    REACH,
    Panels,
    edges_around,
    summed_in_chunks,
)

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

    def log_wins(
        self, utilities: FloatArray, log_sizes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Compute log probabilities that the largest is in the group (u_c, m_c), which competes.

        Parameters
        ----------
        utilities, log_sizes : float array, shape (C,)

        Returns
        -------
        log_probabilities, errors : float array, shape (C,)
        """
        panels = self._panels(np.empty(0))
        log_g = self._log_all_below(panels)
        step = max(1, CHUNK // panels.points.size)
        parts = []
        for start in range(0, utilities.size, step):
            chunk = utilities[start : start + step, None]
            hazard = self.noise.log_reversed_hazard(panels.points - chunk)
            parts.append(panels.integrate(_log_product(hazard, log_g)))
        logs, errors = (np.concatenate(part) for part in zip(*parts, strict=True))
        return logs + log_sizes, errors

    def log_all_above(self, utilities: FloatArray) -> tuple[float, float]:
        """Compute the log probability that all of `utilities`, shape (k,), end above competitors.

        They do not compete. The second number is the error bar.
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
        log, error = panels.integrate(_log_product(hazards, self._log_all_below(panels)) + above)
        return float(log), float(error)

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
