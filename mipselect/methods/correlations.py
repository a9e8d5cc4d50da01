"""DP-SIS: a private top-k of the correlations of single features with the target."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.layout import Layout
from mipselect.mechanisms import (
    CanonicalLipschitz,
    JointExponential,
    Mechanism,
    OneShotTopK,
    Peeling,
)
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.scores.sample_aggregate import TopK
from mipselect.methods.base import Rows, ScoreMethod
from mipselect.methods.summed import SummedRows

SENSITIVITIES = {"add-remove": 1.0, "replace-one": 2.0}
"""Sensitivity of ‖Σ_i y_i x_iF‖ with rows in the unit ball: one of length 1 comes or goes, or is
replaced."""

CENTRED_SENSITIVITY = 4.0
"""Sensitivity of ‖Σ_i (y_i - ȳ)(x_iF - x̄_F)‖, under both relations.

With the means a and b of the m other rows, a row adds m/(m + 1) (y - b)(x - a), shorter than 2·2.
Where it is replaced, ‖(y - b)(x - a) - (y' - b)(x' - a)‖ is convex in y and in y', so largest at
±1: for y = y' it is at most |y - b|‖x - x'‖ ≤ 4, else at most 2(1 - b) + 2(1 + b) = 4.
"""

MECHANISMS: dict[str, TopK] = {
    "canonical": CanonicalLipschitz,
    "peeling": Peeling,
    "one-shot": OneShotTopK,
    "joint": JointExponential,
}

GRID = 2.0**16
"""Entries of centred scores are multiples of 1/GRID, their products of 1/UNIT."""

UNIT = 2.0**32
"""The terms of a score are multiples of 1/UNIT: their sums are exact, in any order."""

CHUNK = 1 << 20
"""So many entries of X are worked on at a time."""


@dataclass(frozen=True, kw_only=True)
class SISMethod(ScoreMethod):
    """See `SISSelector`: the s features with the largest ‖X_Fᵀy‖ of clipped, rescaled data.

    For a feature of one column that is |x_j·y|. A row x_iF/b_F has length at most 1 and |y_i| is
    at most 1, so Σ_i y_i x_iF/b_F moves by a vector of length at most 1 when a row comes or goes
    and 2 when one is replaced, and by the triangle inequality its length moves by no more: the
    sensitivity of a feature of 200 columns is that of one column. Columns that are always in are
    not looked at: every score is about one feature alone.

    With an intercept it is the length of Σ_i (y_i - ȳ)(x_iF - x̄_F), of `CENTRED_SENSITIVITY`: more
    noise, but features that hardly vary are not taken for the mean.

    Parameters
    ----------
    epsilon : float
        ε of one draw, under `relation`.
    relation : {"replace-one", "add-remove"}
    top_k : {"canonical", "peeling", "one-shot", "joint"} or callable
        What selects from the scores.
    """

    top_k: str | TopK = "canonical"
    looks_at_always: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        top_k_named(self.top_k, MECHANISMS)

    @property
    def bounds(self) -> tuple[str, ...]:
        """b_x and b_y."""
        return ("x_bound", "y_bound")

    def _mechanism(self, rows: Rows, source: random.Random) -> Mechanism[Support]:
        target = in_units_of(rows.bound("y_bound"), rows.y)
        plain = rows.layout.features.plain and rows.layout.in_order
        sensitivity = SENSITIVITIES[self.relation]
        if rows.intercept:
            scores = exact_covariances(rows.bounded, rows.X, target)
            sensitivity = CENTRED_SENSITIVITY
        elif plain and not isinstance(rows.x_bound, Sequence | np.ndarray):
            scores = exact_correlations(in_units_of(rows.bound("x_bound"), rows.X), target)
        else:
            scores = exact_lengths(rows.bounded, rows.X, target)
        return self._of_scores(scores, rows.support_size, sensitivity)

    def _from_sums(self, rows: SummedRows) -> Mechanism[Support]:
        if rows.layout.intercept:
            return self._of_scores(summed_covariances(rows), rows.support_size, CENTRED_SENSITIVITY)
        sensitivity = SENSITIVITIES[self.relation]
        return self._of_scores(summed_lengths(rows), rows.support_size, sensitivity)

    def _of_scores(
        self, scores: FloatArray, support_size: int, sensitivity: float
    ) -> Mechanism[Support]:
        return top_k_named(self.top_k, MECHANISMS)(
            scores,
            support_size,
            self.epsilon,
            sensitivity=sensitivity,
            relation=self.relation,
        )


def in_units_of(bound: float, values: Any) -> Any:
    """Clip to ± bound and divide by it, in double precision; of a CSR matrix the stored values.

    The quotient of two doubles with |x| ≤ b is at most 1, for rounding is monotone.
    """
    if not sparse.issparse(values):
        return np.clip(np.asarray(values, dtype=np.float64), -bound, bound) / bound
    result = values.astype(np.float64)
    # Duplicates of one entry, each within the bound, could add up to more.
    result.sum_duplicates()
    result.data = in_units_of(bound, result.data)
    return result


def exact_correlations(table: Any, target: FloatArray) -> FloatArray:
    """|Σ_i x_ij y_i|, every product rounded to a multiple of 1/UNIT and then summed exactly.

    Parameters
    ----------
    table : float array or CSR matrix, shape (n, p), n < 2^31
        Entries in [-1, 1].
    target : float array, shape (n,)
        Entries in [-1, 1].

    Returns
    -------
    float array, shape (p,)
    """
    rows, columns = table.shape
    sums = np.zeros(columns, dtype=np.int64)
    if sparse.issparse(table):
        entries = table.tocoo()
        np.add.at(sums, entries.col, _in_units(entries.data * target[entries.row]))
    else:
        for part in gen_batches(rows, max(1, CHUNK // columns)):
            sums += _in_units(table[part] * target[part, None]).sum(axis=0)
    return _doubles(np.abs(sums))


def exact_lengths(layout: Layout, table: Any, target: FloatArray) -> FloatArray:
    """‖Σ_i y_i x_iF/b_F‖ of every feature F, of clipped rows.

    Parameters
    ----------
    layout : Layout
    table : float array or CSR matrix, shape (n, q), n < 2^31
        Not clipped. A sparse one is made dense a few rows at a time.
    target : float array, shape (n,)
        Entries in [-1, 1].

    Returns
    -------
    float array, shape (p,)

    Notes
    -----
    The terms of a row are cut off to multiples of 1/UNIT towards zero, so that they are no longer
    than before, and added up exactly; the length of the sum is rounded down to a multiple of
    1/UNIT, in integers. Two lengths that differ by at most an integer still do when both are
    rounded down: rounding adds nothing to the sensitivity.
    """
    starts = layout.features.starts
    sums = np.zeros(int(starts[-1]), dtype=np.int64)
    for rows, entries in _unit_rows(layout, table):
        sums += np.trunc(entries * target[rows, None] * UNIT).astype(np.int64).sum(axis=0)
    return _lengths(sums.tolist(), starts, 1)


def exact_covariances(layout: Layout, table: Any, target: FloatArray) -> FloatArray:
    """‖Σ_i (y_i - ȳ)(x_iF - x̄_F)/b_F‖ of every feature F, of clipped rows.

    Parameters and result are those of `exact_lengths`.

    Notes
    -----
    Entries are cut off to multiples of 1/GRID towards zero. Then nΣxy - ΣxΣy is an integer, and
    its length divided by n is rounded down to a multiple of 1/UNIT.
    """
    starts = layout.features.starts
    products = np.zeros(int(starts[-1]), dtype=np.int64)
    sums = np.zeros_like(products)
    y = np.trunc(target * GRID).astype(np.int64)
    for rows, entries in _unit_rows(layout, table):
        x = np.trunc(entries * GRID).astype(np.int64)
        products += y[rows] @ x
        sums += x.sum(axis=0)
    n, total = len(y), int(y.sum())
    centred = [n * xy - total * x for xy, x in zip(products.tolist(), sums.tolist(), strict=True)]
    return _lengths(centred, starts, n)


def summed_lengths(rows: SummedRows) -> FloatArray:
    """The scores of `exact_lengths`, from sums over rows that were cut to the grid."""
    layout, matrix = rows.layout, rows.moments.matrix
    columns = rows.places[: layout.features.starts[-1]]
    return _lengths(_shared(rows, matrix[columns, -1].tolist()), layout.features.starts, 1)


def summed_covariances(rows: SummedRows) -> FloatArray:
    """The scores of `exact_covariances`, from the sums."""
    layout, matrix = rows.layout, rows.moments.matrix
    columns = rows.places[: layout.features.starts[-1]]
    n, one = rows.n, int(GRID)
    total = int(matrix[0, -1]) // one
    products, sums = matrix[columns, -1].tolist(), (matrix[columns, 0] // one).tolist()
    centred = [n * xy - total * x for xy, x in zip(products, sums, strict=True)]
    return _lengths(_shared(rows, centred), layout.features.starts, n)


def _shared(rows: SummedRows, sums: Sequence[int]) -> Sequence[int | Fraction]:
    """Sums over columns in units of their features' bounds, exactly."""
    shares = rows.shares.tolist()
    return [
        value if share == 1.0 else value * Fraction(share)
        for value, share in zip(sums, shares, strict=True)
    ]


def _unit_rows(layout: Layout, table: Any) -> Iterator[tuple[slice, FloatArray]]:
    """Some rows at a time, clipped and in units of the bounds: no longer than 1 in any feature."""
    features = layout.features
    starts, widths = features.starts, features.widths
    # A row that is clipped in floating point may be too long by less than this.
    spare = np.where(widths > 1, (widths + 16.0) * 2.0**-51, 0.0)
    factors = np.repeat(1.0 - spare, widths)
    bounds = np.repeat(layout.bounds, widths)
    for part in gen_batches(table.shape[0], max(1, CHUNK // features.size)):
        block = table[part].toarray() if sparse.issparse(table) else table[part]
        clipped = layout.arranged(np.asarray(block, dtype=np.float64))[:, : starts[-1]]
        yield part, clipped / bounds * factors


def _lengths(sums: Sequence[int | Fraction], starts: IntArray, divisor: int) -> FloatArray:
    """The length of every feature's sums, divided and rounded down to multiples of 1/UNIT."""
    squares = [value * value for value in sums]
    ends = pairwise(starts.tolist())
    lengths = [math.isqrt(math.floor(sum(squares[i:j]))) // divisor for i, j in ends]
    return _doubles(np.array(lengths, dtype=np.int64))


def _doubles(units: np.ndarray[Any, np.dtype[np.int64]]) -> FloatArray:
    """Lengths in units of 1/UNIT as doubles, rounded down.

    Where one has more digits than a double its last ten bits are cut: what is larger is on a
    coarser grid, of which Δ is a multiple, and so the cut adds nothing to a sensitivity.
    """
    return np.where(units < 1 << 53, units, units >> 10 << 10) / UNIT


def _in_units(products: FloatArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    units: np.ndarray[Any, np.dtype[np.int64]] = np.rint(products * UNIT).astype(np.int64)
    return units


def top_k_named(top_k: str | TopK, known: Mapping[str, TopK]) -> TopK:
    """Return a callable as it is and a name's mechanism, or raise `InvalidInput`."""
    if isinstance(top_k, str) and top_k in known:
        return known[top_k]
    if isinstance(top_k, str) or not callable(top_k):
        names = ", ".join(repr(name) for name in known)
        raise InvalidInput(f"top_k must be one of {names}, or a callable, got {top_k!r}")
    return top_k
