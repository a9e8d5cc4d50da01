"""Votes of a Lasso on blocks of rows, or on the moments of folds, and a private top-k of the votes.

scikit-learn's `lars_path` and `Lasso` warn, with exact numbers, where they meet equal columns or do
not converge. A warning reaches everyone who listens to the process, and tells about the data;
nothing here warns.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.linalg import lapack

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.grid import GRID, rounded
from mipselect.errors import InvalidInput
from mipselect.mechanisms import OneShotTopK, Peeling, SampleAggregate
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.mechanisms.scores.sample_aggregate import checked_blocks
from mipselect.mechanisms.scores.top_k import TopK
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.problem.data import ExactSums, Rows
from mipselect.problem.problem import Problem
from mipselect.restricted.features import Features, plain_features
from mipselect.selectors.base import ScoreSelector
from mipselect.validation import checked_choice, checked_flag, checked_positive

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]

DEPENDENT = 1e-12
"""A column depends on others if less than this share of its square is left beside them."""

SMALLEST = 1e-10
"""The path ends at this share of the penalty at which it begins."""

SEGMENTS_PER_COLUMN = 20
"""A path has at most so many segments for each of its min(m, p) columns."""


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of the path, between two knots; the coefficients are linear in the penalty.

    Attributes
    ----------
    penalties : (float, float)
        From a λ to one that is not above it.
    ends : (float array, float array)
        The coefficients there, each of shape (p,).
    """

    penalties: tuple[float, float]
    ends: tuple[FloatArray, FloatArray] = field(repr=False)

    @property
    def middle(self) -> FloatArray:
        """The coefficients halfway, where no active one is zero."""
        return (self.ends[0] + self.ends[1]) / 2.0

    def at(self, penalty: float) -> FloatArray:
        """Return the coefficients at a penalty of this segment, or at the nearest of its ends."""
        first, last = self.penalties
        share = (first - min(first, max(penalty, last))) / (first - last) if first > last else 1.0
        return self.ends[0] + share * (self.ends[1] - self.ends[0])


def lasso_path(X: FloatArray, y: FloatArray) -> Iterator[Segment]:
    """Follow the minimisers of ½‖y - Xβ‖² + λ‖β‖₁ from β = 0 down to λ ≈ 0.

    Parameters
    ----------
    X : float array, shape (m, p)
        Finite, and no entry above 1 or so.
    y : float array, shape (m,)
        The same.

    Yields
    ------
    Segment
        None if Xᵀy = 0.

    Notes
    -----
    With the active columns A and their signs s, β_A moves by γd with X_AᵀX_A d = s when λ falls by
    γ, and the correlations c = Xᵀ(y - Xβ) by -γa with a = XᵀX_A d. A segment ends where another
    |c_j| reaches λ - γ and j becomes active, or where a coefficient reaches zero and leaves. A
    column that depends on the active ones stays out until one of them leaves: of equal columns
    the earlier is taken.

    References
    ----------
    Efron, Hastie, Johnstone and Tibshirani, "Least angle regression", 2004, section 3.1.
    """
    beta: FloatArray = np.zeros(X.shape[1])
    correlations = X.T @ y
    start = penalty = float(np.abs(correlations).max())
    active: list[int] = []
    factor: FloatArray = np.zeros((0, 0))
    signs: FloatArray = np.zeros(0)
    outside = np.ones(X.shape[1], dtype=bool)
    for _ in range(SEGMENTS_PER_COLUMN * min(X.shape)):
        if penalty <= SMALLEST * start:
            return
        table = X[:, active]
        direction = lapack.dpotrs(factor, signs, lower=1)[0] if active else signs
        speeds = X.T @ (table @ direction)
        sizes, growth = beta[active] * signs, direction * signs
        to_zero = np.full(sizes.shape, np.inf)
        np.divide(np.maximum(sizes, 0.0), -growth, out=to_zero, where=growth < 0.0)
        least = min(penalty, float(to_zero.min(initial=np.inf)))
        step, joins, sign = first_to_join(penalty, correlations, speeds, outside)
        while step <= least:
            outside[joins] = False
            longer = with_column(factor, table, X[:, joins])
            if longer[-1, -1] ** 2 > DEPENDENT * (longer[-1] @ longer[-1]):
                break
            step, joins, sign = first_to_join(penalty, correlations, speeds, outside)
        after = beta.copy()
        after[active] += min(step, least) * direction
        before, penalty = penalty, penalty - min(step, least)
        if step <= least:
            active, factor, signs = [*active, joins], longer, np.append(signs, sign)
        elif penalty > 0.0:
            leaves = int(np.argmin(to_zero))
            after[active.pop(leaves)] = 0.0
            signs = np.delete(signs, leaves)
            factor = np.zeros((0, 0))
            for k, j in enumerate(active):
                factor = with_column(factor, X[:, active[:k]], X[:, j])
            outside[:] = True
            outside[active] = False
        yield Segment((before, penalty), (beta, after))
        beta = after
        correlations = X.T @ (y - X[:, active] @ beta[active])


def first_to_join(
    penalty: float, correlations: FloatArray, speeds: FloatArray, outside: BoolArray
) -> tuple[float, int, float]:
    """Return the fall γ of λ until some |c_j - γa_j| = λ - γ, that j, and sign(c_j - γa_j)."""
    found = (np.inf, -1, 0.0)
    for sign in (1.0, -1.0):
        closing = 1.0 - sign * speeds
        room = np.maximum(penalty - sign * correlations, 0.0)
        falls = np.full(room.shape, np.inf)
        np.divide(room, closing, out=falls, where=outside & (closing > 0.0))
        j = int(np.argmin(falls))
        if (falls[j], j) < found[:2]:
            found = (float(falls[j]), j, sign)
    return found


def with_column(factor: FloatArray, table: FloatArray, column: FloatArray) -> FloatArray:
    """Extend L of the Gram matrix LLᵀ of a table by one column."""
    size = len(factor)
    longer = np.zeros((size + 1, size + 1))
    longer[:size, :size] = factor
    if size:
        longer[size, :size] = lapack.dtrtrs(factor, table.T @ column, lower=1)[0]
    left = float(column @ column - longer[size, :size] @ longer[size, :size])
    longer[size, size] = np.sqrt(max(left, 0.0))
    return longer


def lasso_ballot(
    X: FloatArray,
    y: FloatArray,
    *,
    k: int,
    alpha: float | None = None,
    penalise_intercept: bool = False,
    features: Features | None = None,
) -> list[int]:
    """Vote for the k features with the longest coefficients of a Lasso on a block of rows.

    Parameters
    ----------
    X, y : float arrays, shapes (m, p) and (m,)
    k : int
    alpha : float, optional
        See `votes`.
    penalise_intercept : bool
        Whether a column of ones stands behind the columns; else these and the target are centred.
    features : Features, optional
        By default every column is one.
    """
    if y.size < 2:
        return []
    with np.errstate(all="ignore"):
        features = plain_features(X.shape[1]) if features is None else features
        columns, of_target = X.astype(np.float64), y[:, None]
        if penalise_intercept:
            table, x_unit = with_largest_one(np.hstack([columns, np.ones((y.size, 1))]))
            target, y_unit = with_largest_one(of_target)
        else:
            (table, x_unit), (target, y_unit) = centred(columns), centred(of_target)
        return votes(table, x_unit, target[:, 0], y_unit, features, k=k, m=y.size, alpha=alpha)


def votes(
    table: FloatArray,
    x_unit: np.float64,
    target: FloatArray,
    y_unit: np.float64,
    features: Features,
    *,
    k: int,
    m: int,
    alpha: float | None,
) -> list[int]:
    """Return the features with the k longest coefficients of a Lasso.

    Its penalty λ is m `alpha` with scikit-learn's alpha, in the units of the rows. Without one it
    is the largest at which k features have coefficients; these are linear between two knots of the
    path, and taken in the middle of the first segment with k of them, or of the last one.
    """
    lengths: FloatArray = np.zeros(features.count)
    if alpha is None:
        for segment in lasso_path(table, target):
            lengths = lengths_of(segment.middle, features)
            if np.count_nonzero(lengths) >= k:
                break
        return largest(lengths, k)
    scaled = float(np.float64(m) * alpha / x_unit / y_unit)
    for segment in lasso_path(table, target):
        lengths = lengths_of(segment.at(scaled), features)
        if segment.penalties[1] <= scaled:
            break
    return largest(lengths, k)


def lengths_of(coefficients: FloatArray, features: Features) -> FloatArray:
    """Compute ‖β_F‖ of every feature; that of an intercept behind their columns is left out."""
    coefficients = coefficients[: features.starts[-1]]
    if features.singles:
        return np.abs(coefficients)
    return np.sqrt(features.sums(coefficients**2, np.arange(features.count)))


def centred(columns: FloatArray) -> tuple[FloatArray, np.float64]:
    """Subtract the means, in units in which the largest entry is 1; those units too."""
    scaled, first = with_largest_one(columns)
    centred, second = with_largest_one(scaled - scaled.mean(axis=0))
    return centred, first * second


def with_largest_one(values: FloatArray) -> tuple[FloatArray, np.float64]:
    """Divide by the largest |entry|, if there is one above zero; what was divided by.

    It is no float of Python's, whose quotients raise an error where a unit has become zero.
    """
    size = np.float64(np.abs(values).max() or 1.0)
    return values / size, size


def largest(sizes: FloatArray, k: int) -> list[int]:
    """Return the places of the k largest sizes above zero, of equal ones the earlier."""
    order = np.argsort(-sizes, kind="stable")[:k]
    chosen: list[int] = order[sizes[order] > 0.0].tolist()
    return chosen


def votes_of_folds(sums: ExactSums, *, k: int, alpha: float | None) -> FloatArray:
    """Count the folds that vote for each feature, shape (p,), by `votes`. Sensitive."""
    features, moments = sums.layout.features, sums.moments
    end = features.starts[-1]
    entries = np.append(sums.places[:end], moments.p + 1)
    units = [*sums.units[:end], moments.columns.y_bound]
    found = np.zeros(features.count)
    for fold in moments.folds:
        count = int(fold[0, 0]) // 2**32
        if count > 1:
            root = centred_root(fold, entries) * units
            table, x_unit = with_largest_one(root[:, :-1])
            target, y_unit = with_largest_one(root[:, -1])
            block = table, x_unit, target, y_unit
            found[votes(*block, features, k=k, m=count, alpha=alpha)] += 1.0
    return found


def centred_root(fold: IntArray, entries: np.ndarray[tuple[int], np.dtype[np.intp]]) -> FloatArray:
    """Find R, as wide as the entries, with RᵀR = Σ (z_i - z̄)(z_i - z̄)ᵀ up to rounding.

    A Lasso on R has the path of one on the centred rows.
    """
    sums, products = rounded(fold[0, entries]), rounded(fold[np.ix_(entries, entries)])
    rows = max(1.0, float(fold[0, 0]) * GRID**2)
    values, vectors = np.linalg.eigh(products - np.outer(sums, sums) / rows)
    # What is left of a direction by rounding is no direction.
    kept = np.where(values > len(values) * 2.0**-50 * max(float(values[-1]), 0.0), values, 0.0)
    return np.asarray(np.sqrt(kept)[:, None] * vectors.T)


FOLDS_OF_A_ROW = {"add-remove": 1.0, "replace-one": 2.0}
"""Number of folds of moments a row can be in, before and after: each may change its ballot."""

MECHANISMS: dict[str, TopK] = {
    "peeling": Peeling,
    "laplace": partial(OneShotTopK, noise="laplace"),
}


@estimator
class SampleAggregateSelector(ScoreSelector):
    """Select the columns that a Lasso finds on most blocks of rows: two-stage, or SubLasso.

    Each block votes for the k columns with the largest |coefficients| of a non-private Lasso
    with intercept, of those that are not zero; of equal ones for the earlier. A private top-k
    selects from the votes (`SampleAggregate`). Nothing is clipped, and no bounds are needed.

    SubLasso as published is ``alpha=1.0, n_blocks="n/k", penalise_intercept=True``.

    Notes
    -----
    One row changes one block's ballot, so each count by at most 1; not all in one direction.
    Blocks of fewer than two rows cast an empty ballot. No block can raise an error or a warning,
    which would tell about its rows: the Lasso is that of `lasso_path`, where rounding may at
    worst spoil a ballot, and privacy does not depend on what a ballot says.

    With the k counts that Laplace noise of scale λ = 2k/ε would bring to the top, moving each of
    their noises by 2 outweighs what a neighbour changes: (e^{2/λ})^k = e^ε.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import SampleAggregateSelector
    >>> X = np.random.default_rng(0).normal(size=(2000, 6))
    >>> selector = SampleAggregateSelector(1, epsilon=5.0).fit(X, X[:, 4])
    >>> selector.get_support(indices=True).tolist()
    [4]
    """

    name = "sample-aggregate"

    alpha: float | None = parameter(
        "float, optional",
        "The penalty of `sklearn.linear_model.Lasso`; a public constant. None is, for each block, "
        "the largest at which k coefficients are not zero, from the path on the centred block; it "
        "does not depend on the units of X and y.",
        default=None,
        flag="--alpha",
        check=checked_positive,
    )
    penalise_intercept: bool = parameter(
        "bool",
        "Whether the intercept is a column of ones with a penalty like all others.",
        default=False,
        check=checked_flag,
    )
    n_blocks: int | str | None = parameter(
        'int, "n/k" or None',
        'How many blocks; an int is public. None is about √n, "n/k" blocks of k rows: see '
        "`SampleAggregate`.",
        default=None,
        flag="--blocks",
        check=checked_blocks,
    )
    top_k: str = parameter(
        '{"peeling", "laplace"}',
        '"peeling" is `Peeling` with Gumbel noise, "laplace" the k largest of the votes with '
        "Laplace noise of scale 2k/ε.",
        default="peeling",
        flag="--top-k",
        check=lambda value, name: checked_choice(value, name, MECHANISMS),
    )

    def check(self, named: Callable[[str], str] = str) -> Self:
        """See `PrivateSelector.check`."""
        if self.alpha is None and self.penalise_intercept:
            raise InvalidInput("penalise_intercept needs an alpha")
        return super().check(named)

    def _stated(self, p: int, k: int) -> Guarantee:
        return SampleAggregate(
            np.zeros((1, p)),
            np.zeros(1),
            k,
            self.epsilon,
            ballot=lambda *_: (),
            n_blocks=self.n_blocks,
            top_k=MECHANISMS[self.top_k],
            relation=self.relation,
        ).guarantee

    def _of_rows(self, problem: Problem, rows: Rows, source: random.Random) -> Mechanism[Support]:
        return SampleAggregate(
            rows.columns(problem)[:, : problem.layout.features.starts[-1]],
            rows.y,
            problem.support_size,
            self.epsilon,
            ballot=partial(
                lasso_ballot,
                k=problem.support_size,
                alpha=self.alpha,
                penalise_intercept=self.penalise_intercept,
                features=problem.layout.features,
            ),
            n_blocks=self.n_blocks,
            top_k=MECHANISMS[self.top_k],
            relation=self.relation,
            n_items=problem.n_features,
        )

    def _of_sums(self, problem: Problem, sums: ExactSums) -> Mechanism[Support]:
        """Take the folds as the blocks; a row that is replaced may leave one and enter another."""
        folds = len(sums.moments.folds)
        if self.penalise_intercept or self.n_blocks not in (None, folds):
            raise InvalidInput(
                f"the {folds} folds of the moments are the blocks, and an intercept has no "
                "penalty; make the moments with another number of folds"
            )
        return MECHANISMS[self.top_k](
            votes_of_folds(sums, k=problem.support_size, alpha=self.alpha),
            problem.support_size,
            self.epsilon,
            sensitivity=FOLDS_OF_A_ROW[self.relation],
            relation=self.relation,
        )
