"""Least squares on all fields and on few of them: do the public bounds bind? SENSITIVE."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.tables.defaults import DEFAULT_RIDGE, default_coef_bound
from mipselect.validation import checked_integer, checked_nonnegative, checked_positive

SUPPORT_SIZE = 5
"""Fields that a greedy search takes, where nothing else is asked for."""

LEAST_RIDGE = 1e-9
"""Penalty in rows that keeps a fit of fields that repeat one another from being arbitrary."""

HALVINGS = 100
"""Halvings of the interval that the penalty lies in."""

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
            DEFAULT_RIDGE if ridge is None else checked_nonnegative(ridge, "ridge"),
            intercept,
        )

    def radius(self, size: int, always: int) -> float:
        """Return r for so many fields besides those that are always in."""
        if self.coef_bound is not None:
            return self.coef_bound
        return default_coef_bound(size, always, self.intercept)

    def reach(self, size: int, always: int) -> float:
        """Return U, the largest prediction, in halves of the range of the target."""
        return self.radius(size, always) * float(np.sqrt(size + always + self.intercept))


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
    base = [0] if options.intercept else []
    free = [k for k in range(len(blocks)) if k not in always]
    size = min(options.support_size, len(free))
    fits = []
    for what, chosen in ((ALL, free), (BEST, _greedy(gram, blocks, target, free, always, options))):
        if not chosen or (what == BEST and size == len(free)):
            continue
        used = sorted({*chosen, *always})
        places = [*base, *(j for k in used for j in blocks[k])]
        coef = ridge_fit(gram, places, target, options.ridge)
        count, kept = len(chosen), len(always)
        radius = options.radius(count, kept)
        is_bound = bool(np.linalg.norm(coef) > radius)
        fits.append(
            TrialFit(
                fields=tuple(names[k] for k in used),
                what=what,
                is_bound=is_bound,
                lost=_lost(gram, places, target, coef, radius, options) if is_bound else 0.0,
                reach=options.reach(count, kept),
                coef=coef,
                places=tuple(places),
            )
        )
    return tuple(fits)


def ridge_fit(gram: FloatArray, places: Sequence[int], target: int, ridge: float) -> FloatArray:
    """Fit the coefficients of some columns by least squares, with a penalty λ on all of them."""
    inside = gram[np.ix_(places, places)] + max(ridge, LEAST_RIDGE) * np.eye(len(places))
    result: FloatArray = np.linalg.lstsq(inside, gram[places, target], rcond=None)[0]
    return result


def fit_within(
    gram: FloatArray, places: Sequence[int], target: int, ridge: float, radius: float
) -> FloatArray:
    """Fit within a ball that the free fit is outside of, by the penalty that ends on its edge."""
    curvatures, directions = np.linalg.eigh(gram[np.ix_(places, places)])
    moment = directions.T @ gram[places, target]
    curvatures = np.maximum(curvatures, 0.0) + max(ridge, LEAST_RIDGE)
    # ‖β‖ ≤ ‖Xᵀy‖/μ, so that the penalty lies below the upper end.
    low, high = 0.0, float(np.linalg.norm(moment)) / radius
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        outside = np.linalg.norm(moment / (curvatures + middle)) > radius
        low, high = (middle, high) if outside else (low, middle)
    result: FloatArray = directions @ (moment / (curvatures + high))
    return result


def _lost(
    gram: FloatArray,
    places: Sequence[int],
    target: int,
    coef: FloatArray,
    radius: float,
    options: TrialBounds,
) -> float:
    """Compute the share of the explained squares that a fit within the radius does not explain."""
    within = fit_within(gram, places, target, options.ridge, radius)
    total = gram[target, target]
    if options.intercept:
        total = total - gram[0, target] ** 2 / gram[0, 0]
    inside, moment = gram[np.ix_(places, places)], gram[places, target]
    free, bound = (
        float(gram[target, target] - 2.0 * moment @ beta + beta @ inside @ beta)
        for beta in (coef, within)
    )
    explained = float(total) - free
    return min(max((bound - free) / explained, 0.0), 1.0) if explained > 0.0 else 0.0


def _greedy(
    gram: FloatArray,
    blocks: Sequence[Collection[int]],
    target: int,
    free: Sequence[int],
    always: Collection[int],
    options: TrialBounds,
) -> list[int]:
    """Choose fields one after another: the one that explains most of what is left."""
    chosen: list[int] = []
    for _ in range(min(options.support_size, len(free))):
        used = [
            *([0] if options.intercept else []),
            *(j for k in (*always, *chosen) for j in blocks[k]),
        ]
        coef = ridge_fit(gram, used, target, options.ridge) if used else np.zeros(0)
        left = gram[:, target] - gram[:, used] @ coef
        gains = {}
        for k in free:
            if k not in chosen:
                own = list(blocks[k])
                gains[k] = _gain(gram, own, left[own], options)
        chosen.append(max(gains, key=lambda k: (gains[k], -k)))
    return chosen


def _gain(gram: FloatArray, own: list[int], left: FloatArray, options: TrialBounds) -> float:
    """Compute the squares that the columns of a field explain of the rest, around their means."""
    inside = gram[np.ix_(own, own)] + max(options.ridge, LEAST_RIDGE) * np.eye(len(own))
    if options.intercept:
        inside -= np.outer(gram[own, 0], gram[0, own]) / max(gram[0, 0], 1.0)
    return float(left @ np.linalg.lstsq(inside, left, rcond=None)[0])
