"""Private sure independence screening: a private top-k of exact correlations with the target."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.estimators import feature_bounds, target_bound
from mipselect.mechanisms import (
    CanonicalLipschitz,
    JointExponential,
    Mechanism,
    OneShotTopK,
    Peeling,
)
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.scores.top_k import TopK, stated_by
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.problem.data import ExactSums, Rows
from mipselect.problem.layout import Layout
from mipselect.problem.problem import Problem
from mipselect.selectors.scored import ScoreSelector
from mipselect.validation import checked_choice

GRID = 2.0**16
"""Entries of centred scores are multiples of 1/GRID, their products of 1/UNIT."""

UNIT = 2.0**32
"""The terms of a score are multiples of 1/UNIT: their sums are exact, in any order."""

CHUNK = 1 << 20
"""So many entries of X are worked on at a time."""


def in_units_of(bound: float, values: Any) -> Any:
    """Clip to ± bound and divide by it, in double precision.

    The quotient of two doubles with |x| ≤ b is at most 1, for rounding is monotone.
    """
    return np.clip(np.asarray(values, dtype=np.float64), -bound, bound) / bound


def exact_correlations(table: Any, target: FloatArray, unit: float = UNIT) -> FloatArray:
    """Add up |Σ_i x_ij y_i| exactly, with every product rounded to a multiple of 1/unit before.

    Parameters
    ----------
    table : float array, shape (n, p), n < 2^31
        Entries in [-1, 1].
    target : float array, shape (n,)
        Entries in [-1, 1].

    Returns
    -------
    float array, shape (p,)
    """
    rows, columns = table.shape
    sums = np.zeros(columns, dtype=np.int64)
    for part in chunks(rows, max(1, CHUNK // columns)):
        sums += _in_units(table[part] * target[part, None], unit).sum(axis=0)
    return _doubles(np.abs(sums), unit)


def exact_lengths(layout: Layout, table: Any, target: FloatArray) -> FloatArray:
    """Compute ‖Σ_i y_i x_iF/b_F‖ of every feature F, of clipped rows.

    Parameters
    ----------
    layout : Layout
    table : float array, shape (n, q), n < 2^31
        Not clipped.
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
    """Compute ‖Σ_i (y_i - ȳ)(x_iF - x̄_F)/b_F‖ of every feature F, of clipped rows.

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


def summed_lengths(sums: ExactSums) -> FloatArray:
    """Compute the scores of `exact_lengths` from sums over rows that were cut to the grid."""
    layout, matrix = sums.layout, sums.moments.matrix
    columns = sums.places[: layout.features.starts[-1]]
    return _lengths(_shared(sums, matrix[columns, -1].tolist()), layout.features.starts, 1)


def summed_covariances(sums: ExactSums) -> FloatArray:
    """Compute the scores of `exact_covariances` from the sums."""
    layout, matrix = sums.layout, sums.moments.matrix
    columns = sums.places[: layout.features.starts[-1]]
    n, one = sums.n, int(GRID)
    total = int(matrix[0, -1]) // one
    products, columns_sums = matrix[columns, -1].tolist(), (matrix[columns, 0] // one).tolist()
    centred = [n * xy - total * x for xy, x in zip(products, columns_sums, strict=True)]
    return _lengths(_shared(sums, centred), layout.features.starts, n)


def _shared(sums: ExactSums, values: Sequence[int]) -> Sequence[int | Fraction]:
    """Convert sums over columns to units of their features' bounds, exactly."""
    shares = sums.shares.tolist()
    return [
        value if share == 1.0 else value * Fraction(share)
        for value, share in zip(values, shares, strict=True)
    ]


def _unit_rows(layout: Layout, table: Any) -> Iterator[tuple[slice, FloatArray]]:
    """Yield some rows at a time, clipped, in units of the bounds: at most 1 long in any feature."""
    features = layout.features
    starts, widths = features.starts, features.widths
    # A row that is clipped in floating point may be too long by less than this.
    spare = np.where(widths > 1, (widths + 16.0) * 2.0**-51, 0.0)
    factors = np.repeat(1.0 - spare, widths)
    bounds = np.repeat(layout.bounds, widths)
    for part in chunks(table.shape[0], max(1, CHUNK // features.size)):
        clipped = layout.clipped(np.asarray(table[part], dtype=np.float64))[:, : starts[-1]]
        yield part, clipped / bounds * factors


def _lengths(sums: Sequence[int | Fraction], starts: IntArray, divisor: int) -> FloatArray:
    """Compute lengths of features' sums, divided and rounded down to multiples of 1/UNIT."""
    squares = [value * value for value in sums]
    ends = pairwise(starts.tolist())
    lengths = [math.isqrt(math.floor(sum(squares[i:j]))) // divisor for i, j in ends]
    return _doubles(np.array(lengths, dtype=np.int64))


def _doubles(units: np.ndarray[Any, np.dtype[np.int64]], unit: float = UNIT) -> FloatArray:
    """Convert lengths in units of 1/unit to doubles, rounded down.

    Where one has more digits than a double its last ten bits are cut: what is larger is on a
    coarser grid, of which Δ is a multiple, and so the cut adds nothing to a sensitivity.
    """
    return np.where(units < 1 << 53, units, units >> 10 << 10) / unit


def _in_units(products: FloatArray, unit: float) -> np.ndarray[Any, np.dtype[np.int64]]:
    units: np.ndarray[Any, np.dtype[np.int64]] = np.rint(products * unit).astype(np.int64)
    return units


def chunks(rows: int, most: int) -> Iterator[slice]:
    """Yield slices of at most so many rows."""
    for start in range(0, rows, most):
        yield slice(start, min(start + most, rows))


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


@estimator
class SISSelector(ScoreSelector):
    """Select the columns with the largest |x_j·y|: DP-SIS, pure ε-differential privacy.

    X and y are clipped to their bounds and divided by them; |x_j·y| is then a score of
    sensitivity 1 under add-remove and 2 under replace-one, and a private top-k mechanism selects
    from the scores.

    The score of a feature F of several columns is the Euclidean length of X_Fᵀy, of the same
    sensitivity: one row adds a vector x_iF y_i of length at most 1. Columns that are always in are
    in the mask and change no score: what remains of y beside them is a function of all rows, and
    a projection of bounded sensitivity would have to be paid for.

    With an intercept, x and y are centred by their own means: the sensitivity is 4 then, and
    features that hardly vary are no longer chosen for their mean.

    Notes
    -----
    float32 is added up in double precision. An entry divided by its bound never exceeds 1 in
    floating point either. For the draw each product x_ij y_i is rounded to a multiple of 2^-32, so
    that the sum of n < 2^31 products is exact as an integer, which is rounded down to a double:
    neither adds to the sensitivity.

    References
    ----------
    "Feature Selection from Differentially Private Correlations" (DP-SIS), algorithm 1; Fan and
    Lv, "Sure independence screening for ultrahigh dimensional feature space", 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import SISSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 30))
    >>> y = 0.5 * X[:, 7] - 0.5 * X[:, 21]
    >>> selector = SISSelector(2, epsilon=5.0, x_bound=1.0, y_bound=1.0).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [7, 21]
    """

    name = "sis"

    x_bound: float | Sequence[float] | None = feature_bounds(
        "; see `TopRSelector`. Public; required. Without `intercept` nothing is centred: centre by "
        "public constants."
    )
    y_bound: float | None = target_bound()
    intercept: bool = parameter("bool", "Whether scores are centred.", default=False)
    top_k: str = parameter(
        '{"canonical", "peeling", "one-shot", "joint"}',
        '"canonical" is `CanonicalLipschitz` with γ = ½ and exponential noise, "peeling" `Peeling` '
        'and "one-shot" `OneShotTopK`, both with Gumbel noise, "joint" `JointExponential`. '
        '"peeling" finds more of the columns where ε is too small for all of them, with p in the '
        'thousands by far; "canonical" is surer to find all where it is not.',
        default="canonical",
        flag="--top-k",
        check=lambda value, name: checked_choice(value, name, MECHANISMS),
    )

    looks_at_always: ClassVar[bool] = False

    @property
    def bounds(self) -> tuple[str, ...]:
        """b_x and b_y."""
        return ("x_bound", "y_bound")

    def _asked(self) -> dict[str, Any]:
        return {"intercept": self.intercept, **self._public(*self.bounds)}

    def _stated(self, p: int, k: int) -> Guarantee:
        top_k = MECHANISMS[self.top_k]
        return stated_by(top_k, p, k, self.epsilon, sensitivity=1.0, relation=self.relation)

    def _sensitivity(self, problem: Problem) -> float:
        return CENTRED_SENSITIVITY if problem.layout.intercept else SENSITIVITIES[self.relation]

    def _of_rows(self, problem: Problem, rows: Rows, source: random.Random) -> Mechanism[Support]:
        layout, target = problem.layout, in_units_of(problem.bound("y_bound"), rows.y)
        bound = layout.one_bound
        if layout.features.plain and bound is not None:
            scores = exact_correlations(in_units_of(bound, rows.X), target)
        elif layout.intercept:
            layout.require_scales()
            scores = exact_covariances(layout, rows.X, target)
        else:
            layout.require_scales()
            scores = exact_lengths(layout, rows.X, target)
        return self._of_scores(scores, problem)

    def _of_sums(self, problem: Problem, sums: ExactSums) -> Mechanism[Support]:
        summed_scores = summed_covariances if problem.layout.intercept else summed_lengths
        return self._of_scores(summed_scores(sums), problem)

    def _of_scores(self, scores: FloatArray, problem: Problem) -> Mechanism[Support]:
        return MECHANISMS[self.top_k](
            scores,
            problem.support_size,
            self.epsilon,
            sensitivity=self._sensitivity(problem),
            relation=self.relation,
        )
