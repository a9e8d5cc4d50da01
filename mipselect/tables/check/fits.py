"""Least squares on all fields and on few of them: do the public bounds bind? SENSITIVE."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.features import Features
from mipselect.restricted.gram import KnownGram
from mipselect.restricted.squared import PreparedSquared
from mipselect.tables.defaults import DEFAULT_RIDGE, default_coef_bound
from mipselect.validation import checked_integer, checked_positive

SUPPORT_SIZE = 5
"""Fields that a greedy search takes, where nothing else is asked for."""

LEAST_RIDGE = 1e-9
"""Penalty in rows that keeps a fit of fields that repeat one another from being arbitrary."""

ALL, BEST = "all fields", "the best fields of a greedy search"


@dataclass(frozen=True)
class TrialBounds:
    """Public bounds of the fits.

    Attributes
    ----------
    support_size : int
        s of the greedy search.
    coef_bound : float or None
        r; None for the default of each size.
    ridge : float
        λ, in rows.
    intercept : bool
    """

    support_size: int
    coef_bound: float | None
    ridge: float
    intercept: bool

    @classmethod
    def of(
        cls,
        support_size: int | None,
        coef_bound: float | None,
        ridge: float | None,
        *,
        intercept: bool,
    ) -> TrialBounds:
        """Check what was given, and take defaults for what was not."""
        return cls(
            SUPPORT_SIZE
            if support_size is None
            else checked_integer(support_size, "support_size", 1),
            None if coef_bound is None else checked_positive(coef_bound, "coef_bound"),
            DEFAULT_RIDGE if ridge is None else checked_positive(ridge, "ridge"),
            intercept,
        )


@dataclass(frozen=True, eq=False)
class TrialFit:
    """A fit of the target by least squares without a bound on its coefficients.

    Attributes
    ----------
    fields : tuple of str
        Names of the fields that it uses.
    what : str
        The way in which they were chosen.
    is_bound : bool
        Whether the bound on the length of the coefficients is active.
    lost : float
        Share of the squares that the fit explains which a fit within the bound does not.
    reach : float
        The largest prediction that the bound admits, in halves of the range of the target.
    coef : float array
        Coefficients of the columns; not for a report.
    places : int array
        Rows of the products that they are of.
    beyond : float or None
        Share of the rows with predictions at or beyond `reach`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.tables import TableSchema, check_table
    >>> schema = TableSchema.of_numbers({"dose": (0, 10), "effect": (0, 10)})
    >>> rows = pa.table({"dose": [0, 5, 10] * 9, "effect": [0, 5, 10] * 9})
    >>> (fit,) = check_table(rows, schema, target="effect").fits
    >>> fit.fields, fit.is_bound, fit.reach
    (('dose',), True, 1.25)
    """

    fields: tuple[str, ...]
    what: str
    is_bound: bool
    lost: float
    reach: float
    coef: FloatArray = field(repr=False)
    places: tuple[int, ...] = field(repr=False)
    beyond: float | None = None


def trial_fits(
    gram: FloatArray,
    blocks: Sequence[Collection[int]],
    target: int,
    names: Sequence[str],
    always: Collection[int],
    options: TrialBounds,
) -> tuple[TrialFit, ...]:
    """Fit the target on all fields, and on a few that a greedy search finds.

    Parameters
    ----------
    gram : float array, shape (q, q)
        Σ z zᵀ; row 0 is that of the column of ones.
    blocks : sequence of collections of int
        Rows of `gram` of each field.
    target : int
        The row of `gram` that is the target.
    names : sequence of str
        Names of the fields.
    always : collection of int
        Fields that are always in, by their places.
    options : TrialBounds
    """
    free = [k for k in range(len(blocks)) if k not in always]
    if not free:
        return ()
    # Columns of the fields to choose from, of those always in, and of an intercept.
    rows = [j for k in (*free, *always) for j in blocks[k]] + [0] * options.intercept
    widths = np.array([len(blocks[k]) for k in free], dtype=np.intp)
    features = Features(widths, len(rows) - int(widths.sum()))
    within = partial(_prepared, gram, rows, features, target, options.ridge)
    mean = gram[0, target] ** 2 / gram[0, 0] if options.intercept else 0.0
    size, unbound = min(options.support_size, len(free)), within(np.inf)
    tried: list[tuple[str, IntArray]] = [(ALL, np.arange(len(free)))]
    if 0 < size < len(free):
        tried.append((BEST, _greedy(unbound, size)))
    fits = []
    for what, chosen in tried:
        radius = options.coef_bound
        if radius is None:
            radius = default_coef_bound(len(chosen), len(always), options.intercept)
        coef = _all_of(unbound, chosen)
        is_bound = bool(np.linalg.norm(coef) > radius)
        used = sorted({*(free[k] for k in chosen.tolist()), *always})
        fits.append(
            TrialFit(
                fields=tuple(names[k] for k in used),
                what=what,
                is_bound=is_bound,
                lost=_lost(unbound, within(radius), chosen, float(mean)) if is_bound else 0.0,
                reach=radius * math.sqrt(len(used) + options.intercept),
                coef=coef,
                places=tuple(rows[c] for c in _columns_of(features, chosen).tolist()),
            )
        )
    return tuple(fits)


def _prepared(
    gram: FloatArray,
    rows: Sequence[int],
    features: Features,
    target: int,
    ridge: float,
    radius: float,
) -> PreparedSquared:
    """Prepare least squares on rows of `gram`; where there is one, a column that fills up is 0."""
    products, moment = np.zeros((features.size, features.size)), np.zeros(features.size)
    products[: len(rows), : len(rows)] = gram[np.ix_(rows, rows)]
    moment[: len(rows)] = gram[rows, target]
    sums = KnownGram(products), moment, float(gram[target, target]), 1
    columns = PreparedSquared(*sums, ridge=max(ridge, LEAST_RIDGE), radius=radius)
    return columns.on_features(features)


def _columns_of(features: Features, support: IntArray) -> IntArray:
    return np.append(features.columns(support), features.always_columns)


def _all_of(problem: PreparedSquared, support: IntArray) -> FloatArray:
    """Fit the coefficients of all columns of a support, those always in last."""
    fit = problem.fit(support)
    return np.concatenate([fit.coef, fit.always])


def _lost(
    unbound: PreparedSquared, bound: PreparedSquared, support: IntArray, mean: float
) -> float:
    """Compute the share of the explained squares that the fit within a radius does not explain."""
    columns = _columns_of(unbound.features, support)
    moment, inside = unbound.moment[columns], unbound.gram.block(columns)
    free, within = (
        float(unbound.target_norm - 2.0 * moment @ beta + beta @ inside @ beta)
        for beta in (_all_of(unbound, support), _all_of(bound, support))
    )
    explained = unbound.target_norm - mean - free
    return min(max((within - free) / explained, 0.0), 1.0) if explained > 0.0 else 0.0


def _greedy(problem: PreparedSquared, size: int) -> IntArray:
    """Choose fields one after another: the one with which a fit leaves least."""
    chosen: IntArray = np.empty(0, dtype=np.intp)
    for _ in range(size):
        left = np.setdiff1d(np.arange(problem.features.count), chosen)
        best = np.argmin(problem.values_of_additions(chosen, left))
        chosen = np.sort(np.append(chosen, left[best]))
    return chosen
