"""From moments to what an instance holds: G, b and d in the order of its features, their bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mipselect.errors import InvalidInput
from mipselect.grid import GRID
from mipselect.layout import Column, Columns, Layout, laid_out
from mipselect.losses.gram import FULL_GRAM_BYTES
from mipselect.losses.held import HeldSums
from mipselect.moments import Moments
from mipselect.moments.columns import ArrayColumns
from mipselect.moments.sums import IntMatrix


def layout_of_arrays(
    columns: ArrayColumns,
    *,
    feature_names: Sequence[str] | None,
    groups: Iterable[Columns] | Mapping[str, Columns] | None,
    always: Iterable[Columns] | Column | None,
    intercept: bool,
) -> Layout:
    """Features of summed columns; each is bounded by those of all its columns together."""
    layout = laid_out(
        len(columns.names),
        columns.names,
        feature_names,
        groups=groups,
        always=always,
        intercept=intercept,
        x_bound=1.0,
        always_bound=None,
    )

    def bound(part: Sequence[int]) -> float:
        each = [columns.x_bounds[j] for j in part]
        return each[0] if len(each) == 1 else math.nextafter(math.hypot(*each), math.inf)

    return replace(
        layout,
        bounds=np.array([bound(group) for group in layout.groups]),
        always_bound=max(map(bound, layout.always), default=max(columns.x_bounds)),
    )


def held_sums(moments: Moments, layout: Layout) -> HeldSums:
    """The sums over the columns of a layout, which are named as in the moments, in their units."""
    columns, matrix = moments.columns, moments.matrix
    place = {name: k for k, name in enumerate(columns.names)}
    chosen = [place[layout.column_names[j]] for j in layout.order.tolist()]
    entries = [1 + k for k in chosen] + ([0] if layout.intercept else [])
    units = [columns.x_bounds[k] for k in chosen] + ([1.0] if layout.intercept else [])
    size = layout.features.size
    if 8 * size**2 > FULL_GRAM_BYTES:
        raise InvalidInput(
            f"{size:,} columns need XᵀX, which is larger than 1 GiB beyond 11,585 columns"
        )
    gram, moment = np.zeros((size, size)), np.zeros(size)
    inside = slice(len(entries))
    gram[inside, inside] = _in_units(matrix[np.ix_(entries, entries)]) * np.outer(units, units)
    moment[inside] = _in_units(matrix[entries, -1]) * (np.array(units) * columns.y_bound)
    square = float(_in_units(matrix[-1:, -1])[0]) * columns.y_bound**2
    gram.flags.writeable = moment.flags.writeable = False
    return HeldSums(moments.n, gram, moment, square)


def _in_units(sums: IntMatrix) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Sums over rows in [-1, 1]; each is rounded once, if it has more than 53 bits."""
    return sums.astype(np.float64) * GRID**2
