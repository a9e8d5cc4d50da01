"""Layout of the columns of a table as features: groups, columns that are always in, an intercept.

All of it is public, and so are the bounds: of the length of every row within each feature.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray, IntArray, blocks_of, checked_scales, is_mapped
from mipselect.errors import InvalidInput
from mipselect.restricted.features import Features, shortened, single_below
from mipselect.validation import (
    checked_feature_names,
    checked_flag,
    checked_names,
    checked_positive,
    checked_scale,
    shown,
)

Column = int | str
Columns = Column | Sequence[Column]
Groups = Iterable[Columns] | Mapping[str, Columns] | None
Always = Iterable[Columns] | Column | None

LONGEST_JOINED = 60
"""Characters of a name that is made of the names of a feature's columns."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Columns that are taken together, with their bounds.

    Attributes
    ----------
    groups : tuple of tuple of int
        The columns of every feature.
    always : tuple of tuple of int
        Those that are always in, taken together where they are bounded together.
    intercept : bool
        Whether a column of ones is always in.
    feature_names : tuple of str
        One for every feature.
    column_names : tuple of str
        One for every column.
    limits : ndarray of shape (p,), or None
        Bounds of the length of a row within every feature; None where none were given.
    always_limit : float or None
        The same within every entry of `always`.
    """

    groups: tuple[tuple[int, ...], ...]
    always: tuple[tuple[int, ...], ...]
    intercept: bool
    feature_names: tuple[str, ...]
    column_names: tuple[str, ...]
    limits: FloatArray | None = field(repr=False)
    always_limit: float | None

    @property
    def bounds(self) -> FloatArray:
        """`limits`; `InvalidInput` where they are missing."""
        if self.limits is None:
            raise missing("x_bound")
        return self.limits

    @property
    def always_bound(self) -> float:
        """`always_limit`; `InvalidInput` where it is missing."""
        if self.always_limit is None:
            raise missing("x_bound")
        return self.always_limit

    def require_scales(self) -> None:
        """Raise `InvalidInput` unless the bounds are of a size that doubles can work with."""
        alike = len(np.unique(self.bounds)) == 1
        for k, bound in enumerate(self.bounds[: 1 if alike else None].tolist()):
            checked_scale(bound, "x_bound" if alike else f"x_bound[{k}]")

    @cached_property
    def features(self) -> Features:
        """Features of the matrix that `arranged` returns."""
        widths = np.array([len(group) for group in self.groups], dtype=np.intp)
        return Features(widths, sum(map(len, self.always)) + self.intercept)

    @cached_property
    def order(self) -> IntArray:
        """The columns of the table in the order of `arranged`."""
        return np.array([j for part in (*self.groups, *self.always) for j in part], dtype=np.intp)

    @property
    def in_order(self) -> bool:
        """True if `order` is the order of the table."""
        return bool((self.order == np.arange(len(self.order))).all())

    def prediction_bound(self, support_size: int, radius: float) -> float:
        """Compute U = r √(b_A² + the s largest b_j² added up), the largest |x_i·β|.

        See docs/mathematics/restricted-problem.md, (4).
        """
        largest = float(self.bounds.max())
        scaled = np.sort((self.bounds / largest) ** 2)[len(self.bounds) - support_size :]
        inside = len(self.always) * (self.always_bound / largest) ** 2
        inside += (1.0 / largest) ** 2 if self.intercept else 0.0
        return largest * radius * math.sqrt(math.fsum([inside, *scaled]))

    def ordered(self, matrix: Any) -> Any:
        """Order columns of the table: of every feature, then those always in."""
        return matrix if self.in_order else matrix[:, self.order]

    def clipped(self, columns: FloatArray) -> FloatArray:
        """Clip the columns that `ordered` returns, and add a column of ones; (n, features.size).

        A row that is too long within a feature is shortened to the bound; nothing of it depends
        on other rows. Nor on what type the numbers have, which any row can turn from float32 to
        float64: what is clipped becomes a number of float32 in both. A file that is mapped, and
        holds nothing to clip, is not copied.
        """
        features = self.features
        bounds = self.bounds
        if self.always:
            bounds = np.append(bounds, np.full(len(self.always), self.always_bound))
        if features.plain and len(np.unique(bounds)) == 1:
            bound, columns = single_below(float(bounds[0])), columns[:, : len(bounds)]
            if is_mapped(columns) and all(np.abs(one).max() <= bound for one in blocks_of(columns)):
                return columns
            return np.clip(columns, -bound, bound)
        result = np.zeros((len(columns), features.size), columns.dtype)
        start = 0
        for part, limit in zip((*self.groups, *self.always), bounds.tolist(), strict=True):
            end = start + len(part)
            shortened(columns[:, start:end], limit, out=result[:, start:end])
            start = end
        if self.intercept:
            result[:, start] = 1.0
        return result

    def table(self, arranged: FloatArray) -> FloatArray:
        """Return the columns of the table in their own order."""
        if self.in_order:
            return arranged[:, : len(self.order)]
        return arranged[:, np.argsort(self.order)]


def laid_out(
    n_columns: int,
    column_names: Sequence[str] | None,
    *,
    groups: Groups,
    always: Always,
    intercept: bool = False,
    x_bound: float | Sequence[float] | None = None,
) -> Layout:
    """Check all of it; see `Instance` for what it means.

    Raises
    ------
    InvalidInput
        Naming the group, the column or the bound that is wrong.
    """
    if column_names is None:
        column_names = [f"x{j}" for j in range(n_columns)]
    names = checked_feature_names(column_names, n_columns)
    place, taken = {name: j for j, name in enumerate(names)}, dict[int, str]()

    def take(given: Columns, what: str) -> tuple[int, ...]:
        entries = _entries(given)
        if not entries:
            raise InvalidInput(f"{what} has no columns")
        found = tuple(_column(entry, what, place, len(names)) for entry in entries)
        for j in found:
            if j in taken:
                raise InvalidInput(f"column {j} ({names[j]}) is in {taken[j]} and in {what}")
            taken[j] = what
        return found

    fixed = () if always is None else _entries(always)
    constant = tuple(take(part, f"always[{k}]") for k, part in enumerate(fixed))
    chosen: tuple[tuple[int, ...], ...]
    if groups is None:
        chosen = tuple((j,) for j in range(len(names)) if j not in taken)
    else:
        given = _entries(groups.values() if isinstance(groups, Mapping) else groups)
        chosen = tuple(take(group, f"groups[{k}]") for k, group in enumerate(given))
        if left := [j for j in range(len(names)) if j not in taken]:
            raise InvalidInput(
                f"column {left[0]} ({names[left[0]]}) is in no group and not in always; add it, or "
                f"leave it out of X{f' ({len(left)} such columns)' if len(left) > 1 else ''}"
            )
    if not chosen:
        raise InvalidInput(
            "all columns are always in, or in no group: there is nothing to choose from"
        )
    if isinstance(groups, Mapping):
        feature_names = checked_names(list(groups))
    else:
        feature_names = tuple(_joined([names[j] for j in group]) for group in chosen)
    limits = None
    if x_bound is not None:
        each = checked_scales(x_bound, "x_bound", len(chosen), "feature", check=checked_positive)
        limits = np.array(each)
    return Layout(
        chosen,
        constant,
        checked_flag(intercept, "intercept"),
        checked_feature_names(feature_names, len(chosen)),
        names,
        limits,
        None if limits is None else float(limits.max()),
    )


def _entries(given: Any) -> list[Any]:
    """Return the entries of a sequence; anything else is one entry."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    return list(given) if several else [given]


def missing(name: str) -> InvalidInput:
    """Make the error for a public bound that a method needs and nobody gave."""
    return InvalidInput(f"{name} must be given; choose it without looking at the data")


def _column(entry: Any, what: str, place: Mapping[str, int], n_columns: int) -> int:
    if isinstance(entry, str):
        if entry not in place:
            raise InvalidInput(f"{what}: there is no column {shown(entry)}")
        return place[entry]
    if isinstance(entry, Integral) and not isinstance(entry, bool):
        if 0 <= int(entry) < n_columns:
            return int(entry)
        raise InvalidInput(f"{what}: columns are 0..{n_columns - 1}, got {shown(entry)}")
    raise InvalidInput(f"{what} must hold column indices or names, got {shown(entry)}")


def _joined(names: Sequence[str]) -> str:
    whole = "+".join(names)
    if len(names) == 1 or len(whole) <= LONGEST_JOINED:
        return whole
    return f"{names[0][:LONGEST_JOINED]}+{len(names) - 1} more"
