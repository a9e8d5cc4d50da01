"""The sources that the [data] section of an instance file may name.

A new source is a loader and an entry of `SOURCES`.
"""

from __future__ import annotations

import math
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.datasets import BUNDLED, bundled, correlated_gaussian, logistic_gaussian
from mipselect.disk import DAMAGE, regular_file
from mipselect.errors import InvalidInput

if TYPE_CHECKING:
    from mipselect.tables.table_file import TableFile

WAYS = {"delimiter": str, "encoding": str, "sheet": str}
"""Keys of a table, and arguments of `TableFile`."""

MOST_NUMBERS = sys.maxsize // 8

Loaded = tuple[FloatArray, FloatArray, Sequence[str] | None]
Head = tuple[int | None, int, Sequence[str] | None]


@dataclass(frozen=True)
class Source:
    """One kind of [data]: its keys with their types, and how arrays of numbers are read by it.

    Attributes
    ----------
    required, optional : mapping of str to type
    load : callable or None
        Takes the [data] section and the folder of the file; returns X, y and names or None. None of
        a table with a schema.
    head : callable
        Takes the same; returns n, p and the same names, and reads or draws no row. Where n would
        have to be counted it is None.
    """

    required: Mapping[str, type]
    optional: Mapping[str, type]
    load: Callable[[Mapping[str, Any], Path], Loaded] | None = None
    head: Callable[[Mapping[str, Any], Path], Head] = lambda data, folder: (None, 0, None)


def _load_npz(data: Mapping[str, Any], folder: Path) -> Loaded:
    path = regular_file(folder / data["path"])
    return _member(path, "X"), _member(path, "y"), None


def _member(path: Path, name: str) -> FloatArray:
    """Read one array of an .npz file, of finite numbers."""
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            found = stored.get(name) if isinstance(stored, np.lib.npyio.NpzFile) else None
    except (*DAMAGE, MemoryError) as error:
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


def _npz_shape(path: Path) -> tuple[int, int]:
    """Read (n, p) of X from the head of the array."""
    regular_file(path)
    try:
        with zipfile.ZipFile(path) as archive, archive.open("X.npy") as file:
            version = np.lib.format.read_magic(file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            n, p = read(file)[0]
    except (*DAMAGE, MemoryError) as error:
        raise InvalidInput(f"{path}: cannot be read as .npz with a table X: {error}") from error
    return int(n), int(p)


def shifted(y: FloatArray, shift: float) -> FloatArray:
    """Subtract a public constant from the target: the model has no intercept."""
    if shift == 0.0:
        return y
    if not math.isfinite(shift):
        raise InvalidInput(f"target_shift must be a finite number, got {shift}")
    with np.errstate(over="ignore"):
        difference = y - float(shift)
    if not np.isfinite(difference).all():
        raise InvalidInput("(sensitive) the target minus target_shift is beyond all floats")
    return difference


def _recipe(draw: Callable[..., tuple[FloatArray, FloatArray]]) -> Source:
    """Make a synthetic source: its keys are the parameters of `draw`."""

    def load(data: Mapping[str, Any], _: Path) -> Loaded:
        if data["n"] * data["p"] > MOST_NUMBERS:
            raise InvalidInput("n · p is more than any machine can store")
        settings = {key: value for key, value in data.items() if key != "source"}
        return *draw(**settings), None

    return Source(
        required={"n": int, "p": int, "rho": float, "snr": float, "support_size": int, "seed": int},
        optional={},
        load=load,
        head=lambda data, _: (data["n"], data["p"], None),
    )


def table_file(data: Mapping[str, Any], folder: Path) -> TableFile:
    """Return the file or the URL of the source "table"."""
    from mipselect.tables.table_file import TableFile

    path = data["path"]
    ways = {key: data[key] for key in WAYS if key in data}
    return TableFile(path if "://" in path else folder / path, **ways)


def _load_table(data: Mapping[str, Any], folder: Path) -> Loaded:
    from mipselect.tables.numbers import read_table

    return read_table(table_file(data, folder), data["target"], data.get("features"))


def _head_of_table(data: Mapping[str, Any], folder: Path) -> Head:
    from mipselect.tables.numbers import header

    names = header(table_file(data, folder), data["target"], data.get("features"))
    return None, len(names), names


def _head_of_bundled(data: Mapping[str, Any], _: Path) -> Head:
    known = BUNDLED[data["name"]]
    return known.n, known.p, known.names


SOURCES = {
    "table": Source(
        required={"path": str, "target": str},
        optional={"features": list, "target_shift": float, **WAYS},
        load=_load_table,
        head=_head_of_table,
    ),
    "npz": Source(
        required={"path": str},
        optional={"target_shift": float},
        load=_load_npz,
        head=lambda data, folder: (*_npz_shape(folder / data["path"]), None),
    ),
    "sklearn": Source(
        required={"name": str},
        optional={"target_shift": float},
        load=lambda data, _: bundled(data["name"]),
        head=_head_of_bundled,
    ),
    "correlated-gaussian": _recipe(correlated_gaussian),
    "logistic-gaussian": _recipe(logistic_gaussian),
}

SCHEMA_TABLE = Source(
    required={"path": str, "target": str, "schema": str},
    optional={
        "always": list,
        "never": list,
        "intercept": bool,
        "ranges": dict,
        "unit_rule": str,
        **WAYS,
    },
)
"""The source "table" where it has a schema; features may have several columns."""

OF_THE_ROWS = "rows"
"""The `ranges` of a table without a schema."""

RANGED_TABLE = Source(
    required={"path": str, "target": str, "ranges": str},
    optional={"always": list, "never": list, "intercept": bool, **WAYS},
)
"""The source "table" within the ranges of its own rows, which only a sensitive report may use."""
