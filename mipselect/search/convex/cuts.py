"""The cut of the convex search: the bound of a dual point, made affine."""

from __future__ import annotations

import math

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.fenchel import EPS, FenchelBounds
from mipselect.search.cuts import Cut


def fenchel_cut(
    bounds: FenchelBounds, row: int, own: float, credits: FloatArray, length: float
) -> Cut:
    """Turn the bound of a dual point α into an affine cut (docs/mathematics/cuts.md, (2)).

    R(B ∪ T') ≥ (1/n) [Σ_i -ℓ*(y_i, -α_i) - νr²/2 - Σ_{j∈B∪T'} w_j² / (2(λ+ν))], w = Xᵀα.

    The function h of the bound is concave in the sum of squares where the norm constraint is
    active; (λ+ν)⁻¹Σw²/2 + νr²/2 lies above it for every ν ≥ 0 and touches it where
    √Σw² = `length` and ν = max(0, length/r - λ). At the dual optimum on S and its own length the
    cut equals R(S) at S.

    Parameters
    ----------
    bounds : FenchelBounds
    row : int
        The dual point.
    own : float
        Σ w_j² over the base B and the columns that are always in.
    credits : ndarray of shape (L,)
        w_j² of the columns.
    length : float
        Where the cut is to be tightest.
    """
    nu = max(0.0, length / bounds.radius - bounds.ridge)
    shrink = 1.0 / (2.0 * (bounds.ridge + nu) * bounds.n)
    terms = np.array([bounds.constants[row], -nu * bounds.radius**2 / 2.0]) / bounds.n
    terms = np.append(terms, -shrink * own)
    rounding = 16.0 * EPS * float(np.abs(terms).sum())
    return Cut(float(terms.sum()) - rounding, -shrink * credits * (1.0 + 16.0 * EPS))


def cut_of_point(
    bounds: FenchelBounds, row: int, base: IntArray, live: IntArray, chosen: IntArray
) -> Cut:
    """Return the cut of a dual point on B ∪ T, tightest at the length of a choice T.

    Parameters
    ----------
    bounds : FenchelBounds
    row : int
        The dual point.
    base : ndarray of int, shape (k,)
        B.
    live : ndarray of int, shape (L,)
        Features that may be added; the cut has a coefficient for each.
    chosen : ndarray of int
        Positions of T among them.
    """
    own, credits = bounds.own(row, base), bounds.weights[row][live]
    length = math.sqrt(own + float(credits[chosen].sum()))
    return fenchel_cut(bounds, row, own, credits, length)
