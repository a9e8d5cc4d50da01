"""The sources that the [data] section of an instance file may name.

A new source is a loader and an entry of `SOURCES`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.data.datasets import BUNDLED, bundled, correlated_gaussian, logistic_gaussian
from mipselect.data.tables import read_table
from mipselect.errors import InvalidInput

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
    path = folder / data["path"]
    try:
        stored = np.load(path, allow_pickle=False)
        arrays = dict(stored) if isinstance(stored, np.lib.npyio.NpzFile) else {}
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file") from None
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"{path}: cannot be read as .npz: {error}") from error
    if not {"X", "y"} <= set(arrays):
        raise InvalidInput(f"{path}: must be an .npz file with the arrays X and y")
    X, y = arrays["X"], arrays["y"]
    if y.dtype.kind not in "biuf":
        raise InvalidInput(f"{path}: y must hold real numbers, got dtype {y.dtype}")
    return X, _shifted(y, data), None


def _load_bundled(data: Mapping[str, Any], _: Path) -> Loaded:
    X, y, names = bundled(data["name"])
    return X, _shifted(y, data), names


def _shifted(y: FloatArray, data: Mapping[str, Any]) -> FloatArray:
    """y minus the public constant target_shift: the model has no intercept."""
    shift = data.get("target_shift")
    return y if shift is None else y - shift


def _measured_shape(load: Loader) -> Callable[[Mapping[str, Any], Path], tuple[int, int]]:
    """The shape of data that have to be read to know it."""

    def shape(data: Mapping[str, Any], folder: Path) -> tuple[int, int]:
        n, p = load(data, folder)[0].shape
        return n, p

    return shape


def _recipe(draw: Callable[..., tuple[FloatArray, FloatArray]]) -> Source:
    """A synthetic source: its keys are the parameters of `draw`."""

    def load(data: Mapping[str, Any], _: Path) -> Loaded:
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
