"""Gauss rules on panels, for integrands that come as logarithms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from mipselect.arrays import FloatArray

FINE, COARSE = 16, 10
"""Points on each panel; the difference of the two rules is the error bar."""

REACH = 40.0
"""Integrands are followed this far from their centres, on the scale of the noise."""

OFFSETS = np.concatenate([2.0 ** np.arange(-6, 1), np.arange(2.0, REACH + 1.0)])
"""Distances of edges from a centre: 2^-6, 2^-5, ..., 1, and then one apart."""

ROUNDING = 1e-13

CHUNK = 60_000
"""Largest number of doubles in one intermediate array."""


@dataclass(frozen=True)
class Panels:
    """The intervals between sorted edges, with two Gauss-Legendre rules on each.

    Attributes
    ----------
    edges : float array, shape (panels + 1,)
    """

    edges: FloatArray = field(repr=False)

    @cached_property
    def points(self) -> FloatArray:
        """Points of the fine rule, then those of the coarse one; shape (N,)."""
        return np.concatenate([self._rule(order)[0] for order in (FINE, COARSE)])

    @cached_property
    def log_weights(self) -> FloatArray:
        """Logs of the weights of `points`; shape (N,)."""
        return np.concatenate([self._rule(order)[1] for order in (FINE, COARSE)])

    def integrate(self, log_integrand: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Integrate over the last axis, shape (..., N): the log, and an error bar of that log."""
        terms = log_integrand + self.log_weights
        split = (self.edges.size - 1) * FINE
        fine = logsumexp(terms[..., :split], axis=-1)
        coarse = logsumexp(terms[..., split:], axis=-1)
        with np.errstate(invalid="ignore"):
            error = np.where(np.isfinite(fine), np.abs(fine - coarse), 0.0)
        return fine, error + ROUNDING

    def _rule(self, order: int) -> tuple[FloatArray, FloatArray]:
        nodes, weights = _gauss(order)
        half = np.diff(self.edges / 2.0)[:, None]
        middle = self.edges[:-1, None] + half
        return (middle + half * nodes).ravel(), np.log(half * weights).ravel()


@cache
def _gauss(order: int) -> tuple[FloatArray, FloatArray]:
    """Return points and weights of the rule on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
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
