"""Lower bounds on the convexity of the gain: P and a diagonal D, H ⪰ P and P_TT ⪰ D_T.

P = ρI + E with ρ = λ + ν and 0 ⪯ E ⪯ H - ρI. E is found once, for no base: a multiple of the
identity, or G with its spectrum cut off at t: entries off the diagonal are small against those on
it, so that a diagonal is dominated. Schur complements show that what is left of E after a base
bounds H of that base, and what is left of G where columns are always in only grows with ρ
(docs/mathematics/cuts.md, (10)). For features of several columns E is one block for each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag
from scipy.linalg.lapack import dpotrf, dpotri

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.cuts import largest_sum
from mipselect.restricted.gram import picked
from mipselect.restricted.squared import EPS, lower_solved
from mipselect.search.least_squares.node import Children, SquaredNode
from mipselect.search.least_squares.shares import largest_sums, safe_share
from mipselect.search.tuning import TUNING, Spectrum, Strategy

ROUNDING = 1e-10
"""Rounding of eigenvalues, relative to the largest."""


@dataclass(frozen=True, eq=False)
class DiagonalConvexity:
    """P and D on the live columns of one node: a diagonal D, and P = D.

    Attributes
    ----------
    D : ndarray of shape (L,)
    """

    D: FloatArray

    @property
    def least(self) -> float:
        """The smallest entry of D."""
        return float(self.D.min())

    def columns(self, places: IntArray) -> FloatArray:
        """Return P on these live columns, shape (L, K)."""
        result = np.zeros((len(self.D), len(places)))
        result[places, np.arange(len(places))] = self.D[places]
        return result

    def block(self, positions: IntArray) -> FloatArray:
        """Return D on these live features."""
        return np.diag(self.D[positions])

    def gains(self, slope: FloatArray) -> FloatArray:
        """Compute slope_j²/D_j, shape (L,)."""
        return np.asarray(slope**2 / self.D)


@dataclass(frozen=True)
class UniformCurvature:
    """E = eI.

    Attributes
    ----------
    excess : float
        e ≥ 0.
    """

    excess: float

    def at(self, node: SquaredNode) -> DiagonalConvexity:
        """Return (ρ + e)I."""
        return DiagonalConvexity(np.full(len(node.g), node.ridge + self.excess))

    def of_children(self, children: Children) -> UniformChildren:
        """Return (ρ + e)I for the children."""
        return UniformChildren(children.row.shape, children.parent.ridge + self.excess)


class UniformChildren:
    """P = D = μI for every child.

    Parameters
    ----------
    shape : tuple of int
        F and L.
    mu : float
    """

    def __init__(self, shape: tuple[int, ...], mu: float) -> None:
        self._shape, self._mu = shape, mu

    @property
    def D(self) -> FloatArray:
        """Shape (F, L)."""
        return np.full(self._shape, self._mu)

    def admit(self, places: IntArray) -> None:
        """Do nothing, for nothing has to be prepared."""

    def blocks(self, k: IntArray, at: IntArray, members: IntArray) -> FloatArray:
        """Return μI, shape (f, K, K)."""
        return np.broadcast_to(self._mu * np.eye(at.shape[1]), (len(k), *at.shape[1:] * 2))

    def product(self, k: IntArray, members: IntArray, x: FloatArray) -> FloatArray:
        """Compute μx, shape (f, L)."""
        result = np.zeros((len(k), self._shape[1]))
        result[:, members] = self._mu * x
        return result


@dataclass(frozen=True, eq=False)
class SpectralCurvature:
    """E ⪯ G whose eigenvalues are at most t.

    Attributes
    ----------
    E : ndarray of shape (p, p)
        Symmetric.
    slack : float
        a > 0 with E + aI ⪰ 0 and G + aI ⪰ E: what rounding may have done.
    limits : Spectrum
    """

    E: FloatArray
    slack: float
    limits: Spectrum = TUNING.spectrum

    def at(self, node: SquaredNode) -> LeftConvexity:
        """Return P by what is left of E after the base, and a diagonal D below it on m features."""
        left = self._left(node, node.live)
        d = left.diagonal - left.off_sums(min(node.size, len(node.live)) - 1)
        ridge = node.ridge - 3.0 * self.slack
        theta = float(safe_share(d, ridge)[0])
        return LeftConvexity(ridge + theta * d, ridge, theta, left)

    def of_children(self, children: Children) -> SpectralChildren:
        """Find the convexity of every child, whose feature is one more of the base."""
        node, others = children.parent, children.size - 1
        first, left = node.live[children.first[:, 0]], self._left(node, node.live[children.later])
        own = self._left(node, first)
        # As in `_left`, 2a is added to what may be singular; its rounding is below a.
        pivots = np.maximum(own.diagonal + 2.0 * self.slack, self.slack)
        a = picked(self.E, first, left.live) - own.across.T @ left.across
        a /= np.sqrt(pivots)[:, None]
        size = np.abs(a)
        d = left.diagonal - a**2 - left.off_sums(others)
        d -= size * largest_sums(size.copy(), others)[:, None]
        ridge = node.ridge - 3.0 * self.slack
        theta = safe_share(np.where(children.after, d, 0.0), ridge)
        # Features that a child may not add have no part in its bound: any D will do for them.
        return SpectralChildren(np.maximum(ridge + theta * d, 0.5 * ridge), ridge, theta, a, left)

    def _left(self, node: SquaredNode, live: IntArray) -> LeftOver:
        # E_BB may be singular. What is added to it is taken from ρ: H - (ρ - 2a)I ⪰ E + aI ⪰ 0.
        inside = self.E[np.ix_(node.base, node.base)] + 2.0 * self.slack * np.eye(len(node.base))
        across = lower_solved(np.linalg.cholesky(inside), picked(self.E, node.base, live))
        return LeftOver(self, live, across)

    @cached_property
    def row_tops(self) -> FloatArray:
        """Sums of the largest entries of the rows of |E| off the diagonal, shape (p, c)."""
        off = np.abs(self.E)
        np.fill_diagonal(off, 0.0)
        count = min(self.limits.row_tops, len(off) - 1)
        off.partition(len(off) - count, axis=1)
        tops = np.sort(off[:, len(off) - count :], axis=1)[:, ::-1]
        return np.asarray(np.cumsum(tops, axis=1))


@dataclass(frozen=True, eq=False)
class LeftOver:
    """R = E_LL - AᵀA, what is left of E on some features after a base.

    Attributes
    ----------
    curvature : SpectralCurvature
    live : ndarray of int, shape (L,)
    across : ndarray of shape (K, L)
        A = E_BB^(-1/2) E_BL.
    """

    curvature: SpectralCurvature
    live: IntArray
    across: FloatArray

    @cached_property
    def diagonal(self) -> FloatArray:
        """Diagonal of R, shape (L,)."""
        own = np.diagonal(self.curvature.E)[self.live]
        return np.asarray(own - np.einsum("kj,kj->j", self.across, self.across))

    def rows(self, places: IntArray) -> FloatArray:
        """Return the rows of R at these places, shape (k, L)."""
        rows = picked(self.curvature.E, self.live[places], self.live)
        return np.asarray(rows - self.across[:, places].T @ self.across)

    def off_sums(self, count: int) -> FloatArray:
        """Bound sums of the `count` largest |R_jl| over l ≠ j from above, shape (L,).

        Where there are many rows, |E_jl| + ‖A_j‖‖A_l‖ bounds their entries; those for which that
        is more than the diagonal are looked at, if they are few.
        """
        if count <= 0:
            return np.zeros(len(self.live))
        if len(self.live) <= self.curvature.limits.exact_rows:
            return self._exact_off_sums(np.arange(len(self.live)), count)
        tops, known = self.curvature.row_tops, min(count, self.curvature.row_tops.shape[1])
        lengths = np.sqrt(np.einsum("kj,kj->j", self.across, self.across))
        off_sums = tops[self.live, known - 1] * (count / known)
        off_sums += lengths * largest_sum(lengths, count)
        doubtful = np.flatnonzero(off_sums > self.diagonal)
        if len(doubtful) <= self.curvature.limits.exact_rows:
            off_sums[doubtful] = self._exact_off_sums(doubtful, count)
        return np.asarray(off_sums)

    def _exact_off_sums(self, places: IntArray, count: int) -> FloatArray:
        off = np.abs(self.rows(places))
        off[np.arange(len(places)), places] = 0.0
        return largest_sums(off, count)


@dataclass(frozen=True, eq=False)
class LeftConvexity(DiagonalConvexity):
    """P = ρI + θR and D, a diagonal that it dominates.

    Attributes
    ----------
    D : ndarray of shape (L,)
    ridge, theta : float
        ρ and θ.
    left : LeftOver
        R.
    """

    ridge: float
    theta: float
    left: LeftOver

    def columns(self, places: IntArray) -> FloatArray:
        """Return P on these live columns, shape (L, K)."""
        P = self.theta * self.left.rows(places).T
        P[places, np.arange(len(places))] += self.ridge
        return np.asarray(P)


class SpectralChildren:
    """P = ρI + θ_k(R - a_k a_kᵀ) and D for every child k: a_k is one more row of A.

    Parameters
    ----------
    D : ndarray of shape (F, L)
    ridge : float
        ρ.
    theta : ndarray of shape (F, 1)
    a : ndarray of shape (F, L)
    left : LeftOver
        R.
    """

    def __init__(
        self, D: FloatArray, ridge: float, theta: FloatArray, a: FloatArray, left: LeftOver
    ) -> None:
        self.D = D
        self._ridge, self._theta, self._a, self._left = ridge, theta, a, left
        self._R: FloatArray = np.empty((0, D.shape[1]))

    def admit(self, places: IntArray) -> None:
        """Let vectors have entries here as well."""
        self._R = np.vstack([self._R, self._left.rows(places)])

    def blocks(self, k: IntArray, at: IntArray, members: IntArray) -> FloatArray:
        """Return P of child k[f] on places at[f], which are admitted as members[f]; (f, K, K)."""
        a = self._a[k[:, None], at]
        P = self._R[members[:, :, None], at[:, None, :]] - a[:, :, None] * a[:, None, :]
        P *= self._theta[k][:, :, None]
        own = np.arange(at.shape[1])
        P[:, own, own] += self._ridge
        return np.asarray(P)

    def product(self, k: IntArray, members: IntArray, x: FloatArray) -> FloatArray:
        """Compute P x of child k[f] for x[f] on the members, all admitted, in order; (f, L)."""
        a = self._a[k]
        P = x @ self._R - np.einsum("fu,fu->f", a[:, members], x)[:, None] * a
        P *= self._theta[k]
        P[:, members] += self._ridge * x
        return np.asarray(P)


@dataclass(frozen=True, eq=False)
class BlockConvexity:
    """P = D for features of several columns.

    Attributes
    ----------
    node : SquaredNode
    blocks : tuple of ndarray, each of shape (k, w, w)
        D_j of the live features of each width, in the order of `Features.by_width`.
    least : float
        ρ - a.
    """

    node: SquaredNode
    blocks: tuple[FloatArray, ...]
    least: float

    @cached_property
    def _own(self) -> dict[int, FloatArray]:
        """D_j by position."""
        classes = self.node.problem.features.by_width(self.node.live)
        return {
            int(j): D
            for (here, _), blocks in zip(classes, self.blocks, strict=True)
            for j, D in zip(here, blocks, strict=True)
        }

    def columns(self, places: IntArray) -> FloatArray:
        """Return P on these live columns, shape (C, K), all those of some features."""
        result = np.zeros((len(self.node.g), len(places)))
        offsets = self.node.problem.features.offsets(self.node.live)
        positions = np.unique(np.searchsorted(offsets, places, side="right") - 1)
        order = np.argsort(places, kind="stable")
        result[np.ix_(places[order], order)] = self.block(positions)
        return result

    def block(self, positions: IntArray) -> FloatArray:
        """Return D on the columns of these live features, one after another."""
        return np.asarray(block_diag(*(self._own[int(j)] for j in positions)))

    def gains(self, slope: FloatArray) -> FloatArray:
        """Compute slope_jᵀ D_j⁻¹ slope_j, shape (L,)."""
        gains = np.empty(len(self.node.live))
        classes = self.node.problem.features.by_width(self.node.live)
        for (here, columns), blocks in zip(classes, self.blocks, strict=True):
            own = slope[self.node.places(here)].reshape(columns.shape)
            solved = np.linalg.solve(blocks, own[:, :, None])[:, :, 0]
            gains[here] = np.einsum("ji,ji->j", own, solved)
        return gains


@dataclass(frozen=True, eq=False)
class BlockCurvature:
    """E_j of all features, with H ⪰ (ρ - a)I + diag(E_j) without a base.

    E_j is κ(H_jj - ρI) of H without a base, κ the least eigenvalue of G in scaled blocks, but for
    the directions in which next to nothing is left of G; a pays for those.

    Attributes
    ----------
    blocks : dict of int to ndarray of shape (k, w, w)
        E_j ⪰ 0 of the features of each width.
    rank : ndarray of int, shape (p,)
        The place of every feature among those of its width.
    lost : float
        a ≥ 0.
    """

    blocks: dict[int, FloatArray]
    rank: IntArray
    lost: float

    def at(self, node: SquaredNode) -> BlockConvexity:
        """Compute D_j = (ρ - a)I + E_j."""
        classes, least = node.problem.features.by_width(node.live), node.ridge - self.lost
        blocks = (
            self.blocks[columns.shape[1]][self.rank[node.live[here]]]
            + least * np.eye(columns.shape[1])
            for here, columns in classes
        )
        return BlockConvexity(node, tuple(blocks), least)


Convexity = DiagonalConvexity | BlockConvexity
"""P and D on the live columns of one node, with D ⪰ `least` I."""

ChildrenConvexity = UniformChildren | SpectralChildren
"""P and D of every child, on the features that come later."""

ChildrenCurvature = UniformCurvature | SpectralCurvature
"""E of a problem whose features have one column each: it bounds many children at once."""

Curvature = ChildrenCurvature | BlockCurvature
"""E of any problem."""


def curvature_of(whole: SquaredNode) -> Curvature:
    """Find E of all supports by the smallest eigenvalue of G, or of its scaled blocks.

    Parameters
    ----------
    whole : SquaredNode
        Without a base, with ν = 0.
    """
    if not whole.problem.features.singles:
        return _block_curvature(whole)
    if _too_many(whole) or not whole.tuning.uses(Strategy.LEAST_EIGENVALUES):
        return UniformCurvature(0.0)
    off = _elimination_error(whole)
    least = _least_eigenvalue(_left_of_gram(whole))
    return UniformCurvature(max(0.0, (1.0 - off) * least - 2.0 * off * whole.ridge))


def _block_curvature(whole: SquaredNode) -> BlockCurvature:
    """Compute E_j = κ'(H_jj - ρI) in directions with more than rounding left of G; 0 in others."""
    features, blocks, ridge = whole.problem.features, whole.blocks, whole.ridge
    excess = blocks.eigenvalues - ridge
    used = excess > ROUNDING * float(blocks.eigenvalues.max())
    kappa = lost = 0.0
    if used.any() and not _too_many(whole) and whole.tuning.uses(Strategy.BLOCK_CURVATURE):
        off = _elimination_error(whole)
        delta = 16.0 * EPS * (len(excess) + len(whole.whitened)) * _trace(whole)
        dropped = float(excess[~used].sum()) + 2.0 * delta + off * ridge
        theta = 0.0 if used.all() else math.sqrt(dropped / ridge)
        lost = (theta + 2.0 * off) * ridge + 2.0 * delta
        if lost <= 0.5 * ridge:
            G = (blocks.H - ridge * np.eye(len(excess)))[np.ix_(used, used)]
            G /= np.sqrt(np.multiply.outer(excess[used], excess[used]))
            kappa = (1.0 - theta) * (1.0 - off) * _least_eigenvalue(G)
    rank = np.empty(features.count, dtype=np.intp)
    found: dict[int, FloatArray] = {}
    diagonal = np.where(used, kappa * excess, 0.0) if kappa > 0.0 else np.zeros(len(excess))
    for (here, columns), V in zip(features.by_width(whole.live), blocks.vectors, strict=True):
        rank[here] = np.arange(len(here))
        own = diagonal[whole.places(here)].reshape(columns.shape)
        found[columns.shape[1]] = (V * own[:, None, :]) @ V.transpose(0, 2, 1)
    return BlockCurvature(found, rank, lost if kappa > 0.0 else 0.0)


def spectral_curvatures(whole: SquaredNode) -> list[SpectralCurvature]:
    """Compute E at t = shares of the median of G's diagonal, for features of one column each.

    Where eigenvalues take too long it is the parallel sum of G and tI, for one t; where rows are
    fewer, too, there is none: a sum of all columns takes far longer than they are worth.
    """
    problem, p, limits = whole.problem, whole.problem.features.size, whole.tuning.spectrum
    if not (whole.tuning.uses(Strategy.SPECTRA) and problem.features.singles):
        return []
    if not problem.gram.fits or (whole.ridge > problem.ridge and problem.features.always):
        return []
    X = problem.gram.rows if problem.features.plain else None
    if X is not None and len(X) < p:
        return _spectra_of_rows(X, whole) if p <= limits.columns else []
    G, off = _left_of_gram(whole), _elimination_error(whole)
    if not np.isfinite(G).all():
        return []
    rounding = 4.0 * EPS * len(G) * _trace(whole) + 2.0 * off * whole.ridge
    many, median = p > limits.columns, float(np.median(np.diagonal(G)))
    known = {
        t: slack
        for t in (share * median for share in ((limits.parallel,) if many else limits.shares))
        if _is_small(slack := ROUNDING * len(G) * t + rounding + 2.0 * off * t, t, whole)
    }
    if many:
        return [SpectralCurvature(parallel_sum(G, t), a, limits) for t, a in known.items()]
    eigenvalues, vectors = np.linalg.eigh(G)
    least = np.maximum(eigenvalues - ROUNDING * float(eigenvalues[-1]), 0.0)
    found: list[SpectralCurvature] = []
    for t, slack in known.items():
        if t > least[0]:
            Z = vectors * np.sqrt(np.minimum(least, t))
            found.append(SpectralCurvature(Z @ Z.T, slack, limits))
    return found


def parallel_sum(G: FloatArray, t: float) -> FloatArray:
    """Compute (G⁻¹ + I/t)⁻¹ = t(I - t(G + tI)⁻¹): it is ⪯ G and ⪯ tI."""
    A = G.copy()
    A[np.diag_indices_from(A)] += t
    factor, _ = dpotrf(A.T, lower=0, overwrite_a=1)
    inverse, _ = dpotri(factor, lower=0, overwrite_c=1)
    E = np.tril(inverse.T)
    E += np.tril(E, -1).T
    E *= -(t**2)
    E[np.diag_indices_from(E)] += t
    return np.asarray(E)


def _is_small(slack: float, t: float, whole: SquaredNode) -> bool:
    """Tell whether rounding is so small that it leaves nearly all of ρ and of E."""
    return 30.0 * slack < min(whole.problem.ridge, t)


def _spectra_of_rows(X: FloatArray, whole: SquaredNode) -> list[SpectralCurvature]:
    """Compute E = XᵀU min(1, t/Ω) UᵀX from XXᵀ = UΩUᵀ, n < p.

    E ⪯ XᵀUUᵀX whatever the computed Ω is, so that rounding is that of products, and of UUᵀ.
    """
    limits = whole.tuning.spectrum
    rows = X.astype(np.float64, copy=False)
    outer = rows @ rows.T
    if not np.isfinite(outer).all():
        return []
    eigenvalues, vectors = np.linalg.eigh(outer)
    n, V = len(rows), vectors.T @ rows
    slack = EPS * n * (math.sqrt(n) + 2.0) * _trace(whole) + ROUNDING * float(eigenvalues[-1])
    found: list[SpectralCurvature] = []
    median = float(np.median(whole.problem.gram.diagonal))
    for share in limits.shares:
        t = share * median
        if _is_small(slack, t, whole):
            Z = np.sqrt(t / np.maximum(eigenvalues, t))[:, None] * V
            found.append(SpectralCurvature(Z.T @ Z, slack, limits))
    return found


def _left_of_gram(whole: SquaredNode) -> FloatArray:
    """Return G, or what is left of it after the columns that are always in."""
    if whole.problem.features.plain:
        return whole.problem.gram.full()
    return whole.dense() - whole.ridge * np.eye(len(whole.columns))


def _elimination_error(whole: SquaredNode) -> float:
    """Bound η with (1 - η)S ⪯ S̃ ⪯ (1 + η)S for the computed S̃ of S = ρI + what is left of G.

    S̃ is exact for a matrix that differs from G + ρI ⪰ ρI by a few units of its trace.
    """
    return 16.0 * EPS * len(whole.whitened) * (1.0 + _trace(whole) / whole.ridge)


def _trace(whole: SquaredNode) -> float:
    """Return the trace of G, before anything is taken from it: rounding is of its size."""
    return float(whole.problem.gram.diagonal.sum())


def _too_many(whole: SquaredNode) -> bool:
    """Tell whether eigenvalues cost too much, or are known to be zero, or say nothing."""
    problem = whole.problem
    # Where ρ had to be raised, so much may not be left of G under the ρ of smaller supports.
    raised = whole.ridge > problem.ridge and not problem.features.plain
    return raised or problem.features.size > min(whole.tuning.spectrum.eigenvalues, problem.n - 1)


def _least_eigenvalue(G: FloatArray) -> float:
    if not np.isfinite(G).all():
        return 0.0
    eigenvalues = np.linalg.eigvalsh(G)
    return max(0.0, float(eigenvalues[0]) - ROUNDING * float(eigenvalues[-1]))
