"""Decision whether cuts leave a choice open: the proof that no back end is trusted with.

A master says: every choice z of m of L columns that was not visited has max_k cut_k(z) ≥ target.
Three kinds of rows are lower bounds on that maximum, for every nonnegative μ with Σ μ = 1 and ν:

    Σ_k μ_k cut_k(z) + Σ_T ν_T (Σ_{j∈T} z_j - (m - 1)),    T the visited choices,

because the second sum is not positive where z is none of them. A row is affine in z, so that its
minimum over all choices which begin with some columns is a sort. A tree over the choices in
lexicographic order drops every beginning that some row proves; what is left at its leaves is open.
The multipliers come from a linear program and need not be optimal, nor even right: any are safe.
Only the arithmetic has to be, and each row is lowered by a bound on its rounding
(docs/mathematics/cuts.md, (13)).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.squared import EPS
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.cuts import tightened
from mipselect.search.tuning import TUNING, CutMasters


@dataclass(frozen=True, eq=False)
class Verdict:
    """Conclusion that the cuts allow: proven, open at some choice, or undecided.

    Attributes
    ----------
    proven : bool
        Every choice that was not visited is at the target or above.
    open : ndarray of int, shape (m,), or None
        A choice that was not visited and that the cuts leave below the target. None if there is
        none, or if the tree got too large to say.
    """

    proven: bool
    open: IntArray | None


@dataclass(frozen=True, eq=False)
class _Rows:
    """Lower bounds constants + Σ_{j∈z} coefficients_j; shapes (Q,) and (Q, L).

    tails[r, :, j] is the sum of the r least coefficients from column j on: ``inf`` if there are
    fewer.
    """

    constants: FloatArray
    coefficients: FloatArray
    tails: FloatArray


class CutProof:
    """The cuts of a family of choices, and the tree that tells what they prove.

    Parameters
    ----------
    cuts : list of ModularBound
        On -R, with terms ≥ 0, shape (L,).
    size : int
        m, how many columns are chosen.
    floor : float
        A proven lower bound on every choice.
    visited : collection of tuple of int
        Choices about which nothing has to be proven; sorted.
    """

    def __init__(
        self,
        cuts: list[ModularBound],
        size: int,
        floor: float,
        visited: Collection[tuple[int, ...]],
        limits: CutMasters = TUNING.masters,
    ) -> None:
        self._limits = limits
        self._size, self._floor, self._visited = size, floor, set(visited)
        tight = [tightened(cut, floor) for cut in cuts]
        coefficients = -np.array([cut.terms for cut in tight])
        # The most gainful columns first: late beginnings are then proven at once.
        self._order = np.argsort(coefficients.sum(axis=0), kind="stable")
        position = np.empty_like(self._order)
        position[self._order] = np.arange(len(position))
        self._coefficients = coefficients[:, self._order]
        self._constants = -np.array([cut.constant for cut in tight]) - floor
        self._closed = np.zeros((len(self._visited), coefficients.shape[1]))
        for row, choice in zip(self._closed, sorted(self._visited), strict=True):
            row[position[list(choice)]] = 1.0
        self._cuts = self._rows(np.eye(len(cuts)), np.zeros((len(cuts), len(self._closed))))

    def decide(self, target: float, tick: Callable[[], None]) -> Verdict:
        """Walk the tree, or give up after extending too many beginnings.

        What `tick` raises, which is called now and then, passes through.
        """
        # Outward: what rounds the difference down could prove too much.
        goal = float(np.nextafter(target - self._floor, np.inf))
        if goal <= 0.0:
            return Verdict(True, None)
        rows, root = self._cuts, np.empty((1, 0), dtype=np.intp)
        stack: list[IntArray] = [root]
        extended = since = 0
        while stack:
            tick()
            block = stack.pop()
            count = max(1, self._limits.entries // self._coefficients.size)
            if len(block) > count:
                stack.append(block[count:])
                block = block[:count]
            extended, since = extended + len(block), since + len(block)
            if extended > self._limits.proof_nodes:
                return Verdict(False, None)
            if since > self._limits.between_rows:
                beginning = root[0] if rows is self._cuts else block[0]
                rows, since = _joined(rows, self._aggregated(beginning)), 0
            children, bounds = self._below(block, rows, goal)
            children = children[np.argsort(bounds, kind="stable")]
            if children.shape[1] < self._size:
                if len(children):
                    stack.append(children)
                continue
            for choice in np.sort(self._order[children], axis=1):
                if tuple(choice.tolist()) not in self._visited:
                    return Verdict(False, choice)
        return Verdict(True, None)

    def _below(self, block: IntArray, rows: _Rows, goal: float) -> tuple[IntArray, FloatArray]:
        """Return the beginnings one column longer that no row proves, each with its best bound."""
        L, depth = self._coefficients.shape[1], block.shape[1]
        left = self._size - depth - 1
        if left == 0:
            rows = self._cuts
        first = block[:, -1] + 1 if depth else np.zeros(1, dtype=np.intp)
        at, column = np.nonzero(np.arange(L)[None, :] >= first[:, None])
        parents = rows.constants[:, None] + rows.coefficients[:, block].sum(axis=2)
        ahead = rows.coefficients + rows.tails[left][:, 1:]
        bounds = (parents[:, at] + ahead[:, column]).max(axis=0)
        below = np.flatnonzero(~(bounds >= goal))
        return np.column_stack([block[at[below]], column[below]]), bounds[below]

    def _aggregated(self, beginning: IntArray) -> _Rows:
        """Return the best row for such choices, by the relaxation's dual; none if it fails.

        min η subject to η ≥ cut_k(z), Σ_{j∈T} z_j ≤ m - 1, Σ z = m and 0 ≤ z ≤ 1.
        """
        K, L = self._coefficients.shape
        V, unit = len(self._closed), float(np.abs(self._constants).max()) or 1.0
        first = beginning[-1] + 1 if len(beginning) else 0
        bounds = np.tile([0.0, 1.0], (L, 1))
        bounds[:first, 1] = 0.0
        bounds[beginning] = 1.0
        solution = linprog(
            np.append(np.zeros(L), 1.0),
            A_ub=np.block(
                [[self._coefficients / unit, -np.ones((K, 1))], [self._closed, np.zeros((V, 1))]]
            ),
            b_ub=np.append(-self._constants / unit, np.full(V, self._size - 1.0)),
            A_eq=np.append(np.ones(L), 0.0)[None],
            b_eq=[float(self._size)],
            bounds=np.vstack([bounds, [-np.inf, np.inf]]),
            method="highs",
        )
        if solution.status != 0:
            return self._rows(np.empty((0, K)), np.empty((0, V)))
        dual = np.maximum(-solution.ineqlin.marginals, 0.0)[None]
        total = dual[:, :K].sum()
        if not total > 0.0:
            return self._rows(np.empty((0, K)), np.empty((0, V)))
        return self._rows(dual[:, :K] / total, dual[:, K:] * unit)

    def _rows(self, mu: FloatArray, nu: FloatArray) -> _Rows:
        """Return the rows of multipliers of shapes (Q, K) and (Q, V), lowered by their rounding.

        Every number that is added into the bound of a choice is a product or a sum of fewer than
        K + V + m + 4 terms, each at most μ_k (|constant_k| + m max |coefficients_k|) or m ν_T in
        size, so that the bound is off by no more than twice that many units in the last place of
        the sum of these sizes; the weights' sum differs from one by less.
        """
        m = self._size
        constants = mu @ self._constants - (m - 1) * nu.sum(axis=1)
        coefficients = mu @ self._coefficients + nu @ self._closed
        sizes = np.abs(self._constants) + m * np.abs(self._coefficients).max(axis=1)
        terms = mu.shape[1] + nu.shape[1] + m + 4
        allowance = 4.0 * EPS * terms * (mu @ sizes + 2.0 * m * nu.sum(axis=1))
        return _Rows(constants - allowance, coefficients, _tails(coefficients, m))


def _tails(coefficients: FloatArray, size: int) -> FloatArray:
    """Add up the r least coefficients from column j on: shape (size, Q, L + 1), r = 0..size-1."""
    Q, L = coefficients.shape
    least = np.full((L + 1, Q, size), np.inf)
    for j in reversed(range(L)):
        least[j] = least[j + 1]
        least[j, :, -1] = coefficients[:, j]
        least[j].sort(axis=1)
    tails = np.zeros((size, Q, L + 1))
    tails[1:] = np.cumsum(least[:, :, :-1], axis=2).transpose(2, 1, 0)
    return tails


def _joined(one: _Rows, other: _Rows) -> _Rows:
    return _Rows(
        np.concatenate([one.constants, other.constants]),
        np.concatenate([one.coefficients, other.coefficients]),
        np.concatenate([one.tails, other.tails], axis=1),
    )
