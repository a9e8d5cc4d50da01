"""The sources that the [data] section of an instance file may name.

A new source is a loader and an entry of `SOURCES`.
"""

from __future__ import annotations

import math
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.data.tables import read_table
from mipselect.datasets import BUNDLED, bundled, correlated_gaussian, logistic_gaussian
from mipselect.disk import regular_file
from mipselect.errors import InvalidInput

DAMAGE = (
    *(OSError, EOFError, ValueError, KeyError, RuntimeError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error, struct.error, OverflowError, SyntaxError, TypeError),
    MemoryError,
)
"""Exceptions that NumPy and its unpacker raise for files that are not what they seem."""

MOST_NUMBERS = sys.maxsize // 8

Loaded = tuple[FloatArray, FloatArray, Sequence[str] | None]
Loader = Callable[[Mapping[str, Any], Path], Loaded]


@dataclass(frozen=True)
class Source:
    """One kind of [data]: its keys with their types, and how to get at the numbers.

    Attributes
    ----------
    required, optional : mapping of str to type
    load : callable
        Takes the [data] section and the folder of the file; returns X, y and names or None.
    shape : callable
        Takes the same; returns (n, p) without generating data.
    """

    required: Mapping[str, type]
    optional: Mapping[str, type]
    load: Loader
    shape: Callable[[Mapping[str, Any], Path], tuple[int, int]]


def _load_table(data: Mapping[str, Any], folder: Path) -> Loaded:
    X, y, names = read_table(folder / data["path"], data["target"], data.get("features"))
    return X, _shifted(y, data), names


def _load_npz(data: Mapping[str, Any], folder: Path) -> Loaded:
    path = regular_file(folder / data["path"])
    X, y = (_member(path, name) for name in ("X", "y"))
    return X, _shifted(y, data), None


def _member(path: Path, name: str) -> FloatArray:
    """One array of an .npz file, of finite numbers."""
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            found = stored.get(name) if isinstance(stored, np.lib.npyio.NpzFile) else None
    except DAMAGE as error:
        raise InvalidInput(f"{path}: cannot be read as .npz: {error}") from error
    if not isinstance(found, np.ndarray):
        raise InvalidInput(f"{path}: must be an .npz file with the arrays X and y; {name} is none")
    if found.dtype.kind not in "biuf":
        raise InvalidInput(f"{path}: {name} must hold real numbers, got dtype {found.dtype}")
    bad = np.argwhere(~np.isfinite(found))
    if bad.size:
        where = ", ".join(
            f"{what} {at}" for what, at in zip(("row", "column"), bad[0], strict=False)
        )
        raise InvalidInput(
            f"{path}: (sensitive) {name} must be finite: {where} (counted from 0) is not; remove "
            "or impute such rows first"
        )
    return found


def _load_bundled(data: Mapping[str, Any], _: Path) -> Loaded:
    X, y, names = bundled(data["name"])
    return X, _shifted(y, data), names


def _shifted(y: FloatArray, data: Mapping[str, Any]) -> FloatArray:
    """y minus the public constant target_shift: the model has no intercept."""
    shift = data.get("target_shift")
    if shift is None:
        return y
    if not math.isfinite(shift):
        raise InvalidInput(f"target_shift must be a finite number, got {shift}")
    with np.errstate(over="ignore"):
        shifted = y - float(shift)
    if not np.isfinite(shifted).all():
        raise InvalidInput("(sensitive) the target minus target_shift is beyond all floats")
    return shifted


def _measured_shape(load: Loader) -> Callable[[Mapping[str, Any], Path], tuple[int, int]]:
    """The shape of data that have to be read to know it."""

    def shape(data: Mapping[str, Any], folder: Path) -> tuple[int, int]:
        n, p = load(data, folder)[0].shape
        return n, p

    return shape


def _recipe(draw: Callable[..., tuple[FloatArray, FloatArray]]) -> Source:
    """A synthetic source: its keys are the parameters of `draw`."""

    def load(data: Mapping[str, Any], _: Path) -> Loaded:
        if data["n"] * data["p"] > MOST_NUMBERS:
            raise InvalidInput("n · p is more than any machine has room for")
        settings = {key: value for key, value in data.items() if key != "source"}
        return *draw(**settings), None

    return Source(
        required={"n": int, "p": int, "rho": float, "snr": float, "support_size": int, "seed": int},
        optional={},
        load=load,
        shape=lambda data, _: (data["n"], data["p"]),
    )


def _bundled_shape(data: Mapping[str, Any], _: Path) -> tuple[int, int]:
    known = BUNDLED[data["name"]]
    return known.n, known.p


SOURCES = {
    "table": Source(
        required={"path": str, "target": str},
        optional={"features": list, "target_shift": float},
        load=_load_table,
        shape=_measured_shape(_load_table),
    ),
    "npz": Source(
        required={"path": str},
        optional={"target_shift": float},
        load=_load_npz,
        shape=_measured_shape(_load_npz),
    ),
    "sklearn": Source(
        required={"name": str},
        optional={"target_shift": float},
        load=_load_bundled,
        shape=_bundled_shape,
    ),
    "correlated-gaussian": _recipe(correlated_gaussian),
    "logistic-gaussian": _recipe(logistic_gaussian),
}


def _load_mapped(data: Mapping[str, Any], folder: Path) -> Loaded:
    """The columns that `Instance.from_table` groups to features."""
    from mipselect.tables import TableSchema, map_table

    question = {key: data[key] for key in ("always", "never", "ranges", "unit_rule") if key in data}
    schema = TableSchema.read(folder / data["schema"])
    table = map_table(folder / data["path"], schema, target=data["target"], **question)
    return table.X, table.y, table.column_names


SCHEMA_TABLE = Source(
    required={"path": str, "target": str, "schema": str},
    optional={"always": list, "never": list, "intercept": bool, "ranges": dict, "unit_rule": str},
    load=_load_mapped,
    shape=_measured_shape(_load_mapped),
)
"""The source "table" where it has a schema; features may have several columns."""
