"""Simulated values of a field, and its column as a file would hold it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr

from mipselect.arrays import FloatArray
from mipselect.tables.encoders import Encoder, Indicators, Ranked, Scaled, Unscaled

SPREAD_OF_INTEGERS = 1000.0
"""Standard deviation of an integer without a range: hardly any are equal."""


def numbers_of(encoder: Encoder, z: FloatArray, spread: float = 1.0) -> FloatArray:
    """Turn standard normal numbers into numbers in units of a field, or places of categories."""
    if isinstance(encoder, Unscaled):
        return SPREAD_OF_INTEGERS * z if encoder.field.type == "integer" else z
    if isinstance(encoder, Scaled):
        half = 0.5 * (encoder.high - encoder.low)
        middle = 0.5 * (encoder.low + encoder.high)
        return np.asarray(np.clip(middle + half * spread * z, encoder.low, encoder.high))
    assert isinstance(encoder, Ranked | Indicators)
    levels = encoder.levels
    return np.asarray(np.minimum(np.floor(ndtr(z) * levels), levels - 1.0))


def stored(encoder: Encoder, numbers: FloatArray, absent: NDArray[np.bool_]) -> pa.Array:
    """Make the column of a field as a file would have it."""
    field = encoder.field
    if isinstance(encoder, Scaled | Unscaled):
        narrow = isinstance(encoder, Scaled) and encoder.high - encoder.low < 2.0
        whole = field.type == "integer" and not narrow
        return pa.array(np.rint(numbers) if whole else numbers, mask=absent)
    categories: Sequence[object] = field.categories or (False, True)
    places = pa.array(numbers.astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(places, pa.array(list(categories))).dictionary_decode()
