"""The tables that some experiments are run on: they are no part of this package."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mipselect.disk import regular_file, unreadable
from mipselect.errors import InvalidInput

FloatArray = NDArray[np.floating[Any]]

LARGEST_TABLE = 2**31
"""Bytes."""


@dataclass(frozen=True)
class DataKind:
    """Tables of one shape.

    Attributes
    ----------
    folder : str
        Where they are looked for inside of the folder that is given, if it exists there.
    suffix : str
        How their names end.
    shape : str
        What a file holds, in words.
    had : str
        Where such data can be had.
    """

    folder: str
    suffix: str
    shape: str
    had: str


SCORES = DataKind(
    "scores",
    ".npy",
    "one vector of at least 12 numbers",
    "counts by item, such as five-star ratings by film of the Netflix prize, or the vectors patent "
    "and hepth of the DPComp benchmark (Hay et al., 2016)",
)
MICROARRAYS = DataKind(
    "microarray",
    ".npz",
    "arrays X of shape (n, p) and y of shape (n,), class codes",
    "the R package datamicroarray (J. Ramey) has the papers' gene-expression tables",
)
REGRESSION = DataKind(
    "regression",
    ".csv.gz",
    "a table with a header and numbers or words; the target is the last column, or the one "
    "that the paper names",
    "OpenML tasks 361072 to 361104, openml.org, have the paper's 25 tables",
)


@dataclass(frozen=True)
class DataSource:
    """The tables of a kind that there are.

    Attributes
    ----------
    kind : DataKind
    files : mapping of str to Path
        By name, without the suffix.
    """

    kind: DataKind
    files: Mapping[str, Path] = field(repr=False)

    @classmethod
    def found(cls, kind: DataKind, given: Path | None) -> DataSource:
        """Look for tables in a folder, or take one file.

        Raises
        ------
        InvalidInput
            If there is none, saying where they are had.
        """
        if given is None:
            raise InvalidInput(f"needs --data with {kind.folder}/*{kind.suffix}: {kind.had}")
        if given.is_file():
            paths = [given] if given.name.endswith(kind.suffix) else []
        else:
            inside = given / kind.folder
            folder = inside if inside.is_dir() else given
            paths = sorted(folder.glob(f"*{kind.suffix}")) if folder.is_dir() else []
        if not paths:
            raise InvalidInput(
                f"--data {given}: no {kind.folder}/*{kind.suffix} there ({kind.shape}): {kind.had}"
            )
        return cls(kind, {path.name.removesuffix(kind.suffix): path for path in paths})

    def scores(self, name: str) -> FloatArray:
        """Read a score vector, shape (d,)."""
        path = regular_file(self.files[name])
        try:
            scores = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise unreadable(path, error) from error
        if not (isinstance(scores, np.ndarray) and scores.ndim == 1 and scores.size >= 12):
            raise self._other_shape(path)
        return self._numbers(path, scores)

    def microarray(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Read a table X, shape (n, p), and class codes, shape (n,)."""
        path = regular_file(self.files[name])
        try:
            with np.load(path, allow_pickle=False) as data:
                X, y = data["X"], data["y"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._other_shape(path) from error
        if X.ndim != 2 or y.shape != X.shape[:1] or not X.size:
            raise self._other_shape(path)
        return self._numbers(path, X), self._numbers(path, y)

    def text(self, name: str) -> list[list[str]]:
        """Read the header and the rows of a CSV file, all of the same length."""
        path = regular_file(self.files[name])
        try:
            with gzip.open(path, "rb") as file:
                content = file.read(LARGEST_TABLE)
            lines = [line.split(",") for line in content.decode().splitlines() if line]
        except (OSError, EOFError, ValueError) as error:
            raise self._other_shape(path) from error
        if len(lines) < 20 or len({len(line) for line in lines}) > 1 or len(lines[0]) < 3:
            raise self._other_shape(path)
        return lines

    def _numbers(self, path: Path, values: np.ndarray[Any, Any]) -> FloatArray:
        try:
            numbers = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise self._other_shape(path) from error
        if not np.isfinite(numbers).all():
            raise self._other_shape(path)
        return numbers

    def _other_shape(self, path: Path) -> InvalidInput:
        return InvalidInput(f"{path}: it should hold {self.kind.shape}; {self.kind.had}")
