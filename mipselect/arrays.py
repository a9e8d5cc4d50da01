"""Arrays that pass between packages: their types, and checks of arguments that are arrays.

Docstrings give their shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.errors import InvalidInput
from mipselect.validation import checked_scale, shown

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
ScoreArray = NDArray[Any]
"""Scores as doubles, or as Python numbers where doubles would round them."""


BLOCK_ENTRIES = 2**24
"""Entries of an array that are looked at together."""


def blocks_of(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield parts of an array, as it lies in memory: what is made of one is no second array."""
    if array.ndim == 0:
        yield array
        return
    along = array.T if array.flags.f_contiguous else array
    step = max(1, BLOCK_ENTRIES * len(along) // max(1, along.size))
    yield from (along[start : start + step] for start in range(0, len(along), step))


def is_mapped(array: NDArray[Any]) -> bool:
    """Tell whether an array is, or is part of, a file that is mapped to be read only."""
    part: Any = array
    while isinstance(part, np.ndarray):
        if isinstance(part, np.memmap):
            return str(part.mode) == "r"
        part = part.base
    return False


def checked_scales(
    values: float | ArrayLike,
    what: str,
    size: int,
    each: str = "column",
    *,
    check: Callable[[float, str], float] = checked_scale,
) -> tuple[float, ...]:
    """Return one number > 0 for each of `size` columns or features; one number is for all."""
    listed_values = np.asarray(values, dtype=object)
    if listed_values.ndim == 0:
        return (check(listed_values.item(), what),) * size
    if listed_values.shape != (size,):
        raise InvalidInput(
            f"{what} must be one number, or {size}, one for each {each}; got {shown(values)}"
        )
    return tuple(check(value, f"{what}[{k}]") for k, value in enumerate(listed_values.tolist()))


def checked_indices(
    indices: ArrayLike, count: int, size: int, what: str, kind: str = "indices"
) -> IntArray:
    """Return `count` distinct indices below `size`, in their order."""
    array: np.ndarray[Any, Any] = np.asarray(indices)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise InvalidInput(f"{what} is {count} integer {kind}, got {shown(indices)}")
    if array.min() < 0 or array.max() >= size or len(np.unique(array)) < count:
        raise InvalidInput(
            f"{what} is {count} distinct {kind} in 0..{size - 1}, got {shown(array.tolist())}"
        )
    return array.astype(np.intp)


def checked_support(outcome: ArrayLike, size: int, n_features: int) -> tuple[int, ...]:
    """Return `size` distinct column indices below p, sorted."""
    indices = checked_indices(outcome, size, n_features, "a support", "column indices")
    return tuple(sorted(indices.tolist()))
