"""Private sure independence screening: a private top-k of exact correlations with the target."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.grid import GRID, exact_sums, on_grid
from mipselect.estimators import feature_bounds, target_bound
from mipselect.mechanisms import (
    CanonicalLipschitz,
    JointExponential,
    Mechanism,
    OneShotTopK,
    Peeling,
)
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.scores.top_k import TopK
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.problem.data import ExactSums, Rows
from mipselect.problem.layout import Layout
from mipselect.problem.problem import Problem
from mipselect.selectors.base import ScoreSelector
from mipselect.validation import checked_choice

ONE = int(1.0 / GRID)
"""1 on the grid."""

CHUNK = 1 << 20
"""So many entries of X are worked on at a time."""


def sums_of_rows(layout: Layout, table: Any, target: FloatArray) -> IntArray:
    """Add up (1, x)ᵀ(1, y) over rows on the grid, exactly, in units of GRID²; shape (C + 1, 2).

    Parameters
    ----------
    layout : Layout
        Of C columns in features, whose rows are cut to the grid in units of the features' bounds.
    table : float array, shape (n, q), n < 2^31
        Not clipped.
    target : float array, shape (n,)
        On the grid.
    """
    features = layout.features
    bounds = np.repeat(layout.bounds, features.widths)
    total, step = np.zeros((len(bounds) + 1, 2), dtype=np.int64), max(1, CHUNK // features.size)
    for start in range(0, len(target), step):
        part = slice(start, start + step)
        rows: FloatArray = np.asarray(table[part], dtype=np.float64)
        if not features.plain:  # A single column is clipped as it goes to the grid.
            rows = layout.clipped(rows)
        ones = np.ones((len(rows), 1))
        entries = np.hstack([ones, on_grid(rows[:, : len(bounds)], bounds)])
        total += exact_sums(entries, np.hstack([ones, target[part, None]]))
    return total


def sums_of_moments(sums: ExactSums) -> IntArray:
    """Take what `sums_of_rows` adds up, in units of the columns, from moments."""
    columns = sums.places[: sums.layout.features.starts[-1]]
    return sums.moments.matrix[np.ix_([0, *columns.tolist()], [0, -1])]


def exact_lengths(
    sums: IntArray, starts: IntArray, *, rows: int | None = None, shares: FloatArray | None = None
) -> FloatArray:
    """Compute ‖Σ_i y_i x_iF‖ of every feature F or, centred, ‖Σ_i (y_i - ȳ)(x_iF - x̄_F)‖.

    Parameters
    ----------
    sums : int array, shape (C + 1, 2)
        Of `sums_of_rows`.
    starts : int array, shape (p + 1,)
        Where each feature begins in the C columns, and their end.
    rows : int, optional
        n; scores are centred then, nΣxy - ΣxΣy over n.
    shares : float array, shape (C,), optional
        Units of the columns, as shares of their features' bounds.

    Returns
    -------
    float array, shape (p,)

    Notes
    -----
    All in integers, until a length is rounded down to a multiple of GRID². Two lengths that differ
    by at most an integer still do when both are rounded down: rounding adds nothing to the
    sensitivity.
    """
    products: Sequence[int | Fraction] = sums[1:, 1].tolist()
    if rows is not None:
        total, each = int(sums[0, 1]) // ONE, (sums[1:, 0] // ONE).tolist()
        products = [rows * xy - total * x for xy, x in zip(products, each, strict=True)]
    if shares is not None:
        products = [
            value if share == 1.0 else value * Fraction(share)
            for value, share in zip(products, shares.tolist(), strict=True)
        ]
    squares, ends = [value * value for value in products], pairwise(starts.tolist())
    lengths = [math.isqrt(math.floor(sum(squares[i:j]))) // (rows or 1) for i, j in ends]
    units = np.array(lengths, dtype=np.int64)
    # Where one has more digits than a double its last ten bits are cut: what is larger is on a
    # coarser grid, of which Δ is a multiple, and so the cut adds nothing to a sensitivity.
    return np.where(units < 1 << 53, units, units >> 10 << 10) * GRID**2


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
    Entries of X and y in units of their bounds are cut towards zero to multiples of 2^-16, so that
    the sum of n < 2^31 products is exact as an integer, and the scores those of `Moments`. It is
    rounded down to a double: neither adds to the sensitivity.

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
    bounds = ("x_bound", "y_bound")

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

    def _asked(self) -> dict[str, Any]:
        return {"intercept": self.intercept, **self._public(*self.bounds)}

    def _stated(self, p: int, k: int) -> Guarantee:
        build, relation = MECHANISMS[self.top_k], self.relation
        return build(np.zeros(p), k, self.epsilon, sensitivity=1.0, relation=relation).guarantee

    def _of_rows(self, problem: Problem, rows: Rows, source: random.Random) -> Mechanism[Support]:
        layout, target = problem.layout, on_grid(rows.y, problem.bound("y_bound"))
        if not layout.features.plain:
            layout.require_scales()
        return self._of_scores(problem, sums_of_rows(layout, rows.X, target), rows.n, None)

    def _of_sums(self, problem: Problem, sums: ExactSums) -> Mechanism[Support]:
        return self._of_scores(problem, sums_of_moments(sums), sums.n, sums.shares)

    def _of_scores(
        self, problem: Problem, sums: IntArray, n: int, shares: FloatArray | None
    ) -> Mechanism[Support]:
        layout, one = problem.layout, SENSITIVITIES[self.relation]
        centred = n if layout.intercept else None
        return MECHANISMS[self.top_k](
            exact_lengths(sums, layout.features.starts, rows=centred, shares=shares),
            problem.support_size,
            self.epsilon,
            sensitivity=one if centred is None else CENTRED_SENSITIVITY,
            relation=self.relation,
        )
