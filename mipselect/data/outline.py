"""Outlines of problems before a row is read: from the instance file and the header."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mipselect.data.descriptions import read_description
from mipselect.data.files import Problem, blank_problem
from mipselect.data.sources import DAMAGE, SCHEMA_TABLE
from mipselect.data.tables import choose_columns, parquet_columns
from mipselect.disk import regular_file, unreadable
from mipselect.errors import InvalidInput

LONGEST_HEADER = 1 << 24
"""Bytes; a longer line is no header."""

BLANK_ROWS = 2
"""Rows of a blank: one for each class."""


@dataclass(frozen=True)
class Outline:
    """A problem without its rows.

    Attributes
    ----------
    path : Path
        Of the file that describes it.
    n : int or None
        Rows, where the description says how many; None where they would have to be counted.
    p : int
    feature_names : sequence of str or None
        None where only the data say them.
    settings : mapping
        As in `Problem`.
    target_shift : float
    made : Problem or None
        That of a table with a schema, on two rows without values.
    """

    path: Path
    n: int | None
    p: int
    feature_names: Sequence[str] | None
    settings: Mapping[str, Any]
    target_shift: float
    made: Problem | None = None

    def blank(self) -> Problem:
        """The problem on `BLANK_ROWS` rows of zeros, to check its settings; targets 0 and 1."""
        if self.made is not None:
            return self.made
        return Problem(
            self.path,
            np.zeros((BLANK_ROWS, self.p)),
            np.arange(float(BLANK_ROWS)),
            self.feature_names,
            self.settings,
            data_seed=None,
            target_shift=self.target_shift,
        )


def instance_outline(name_or_path: str | Path) -> Outline:
    """Read the outline of an instance from its file, and the header of its table if it has one.

    Raises
    ------
    InvalidInput
        As `load_problem`, but for what is wrong with a row.
    """
    description = read_description(name_or_path)
    settings = {key: value for key, value in description.instance.items() if key != "description"}
    data, folder = description.data, description.path.parent
    shift = data.get("target_shift", 0.0)
    try:
        if description.source is SCHEMA_TABLE:
            return schema_outline(description.path, folder, data, settings)
        if data["source"] == "table":
            columns = header(folder / data["path"], data["target"], data.get("features"))
            return Outline(description.path, None, len(columns), columns, settings, shift)
        if data["source"] == "npz":
            n, p = _npz_shape(folder / data["path"])
        else:
            n, p = description.source.shape(data, folder)
    except InvalidInput as error:
        raise InvalidInput(f"{description.path}: {error}") from error
    named = data["source"] == "sklearn"
    names = None if named else tuple(f"x{j}" for j in range(p))
    return Outline(description.path, n, p, names, settings, shift)


def table_outline(
    path: Path,
    *,
    target: str,
    features: Sequence[str] | None,
    target_shift: float,
    settings: Mapping[str, Any],
) -> Outline:
    """Read the outline of a table from its header; the arguments are those of `table_problem`."""
    names = header(path, target, features)
    return Outline(path, None, len(names), names, settings, target_shift)


def schema_outline(
    path: Path, folder: Path, data: Mapping[str, Any], settings: Mapping[str, Any]
) -> Outline:
    """Read an outline from schema and header; the arguments are those of `schema_problem`."""
    n, made = blank_problem(path, folder, data, settings)
    p = made.X.shape[1]
    return Outline(path, n, p, made.feature_names, settings, target_shift=0.0, made=made)


def header(path: Path, target: str, features: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the features; see `read_table`. Of a CSV file the first record is read.

    Raises
    ------
    InvalidInput
        For what is wrong with the name of the file or its header.
    """
    try:
        if path.suffix == ".parquet":
            columns = parquet_columns(regular_file(path))
        elif path.name.endswith(".csv.gz"):
            with gzip.open(regular_file(path), "rb") as file:
                columns = _first_record(file, path)  # type: ignore[arg-type]
        elif path.suffix == ".csv":
            with regular_file(path).open("rb") as file:
                columns = _first_record(file, path)
        else:
            raise InvalidInput(f"{path}: a table must end in .csv, .csv.gz or .parquet")
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error
    return choose_columns(path, columns, target, features)


def _first_record(file: BinaryIO, path: Path) -> list[str]:
    """The names in the first line that is not blank; a quoted one may have line breaks."""
    written = b""
    while len(written) < LONGEST_HEADER:
        line = file.readline(LONGEST_HEADER)
        written += line
        if not line or (written.strip() and written.count(b'"') % 2 == 0):
            break
    try:
        text = written.decode("utf-8-sig")
        if "\0" in text:
            raise UnicodeError
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except UnicodeError:
        raise InvalidInput(f"{path}: the header is not UTF-8; save the file as UTF-8") from None
    except csv.Error as error:
        raise InvalidInput(f"{path}: the header is not written as it must be: {error}") from error
    if not rows:
        raise InvalidInput(f"{path}: the file is empty")
    return rows[0]


def _npz_shape(path: Path) -> tuple[int, int]:
    """(n, p) of X, from the head of the array."""
    regular_file(path)
    try:
        with zipfile.ZipFile(path) as archive, archive.open("X.npy") as file:
            version = np.lib.format.read_magic(file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            n, p = read(file)[0]
    except DAMAGE as error:
        raise InvalidInput(f"{path}: cannot be read as .npz with a table X: {error}") from error
    return int(n), int(p)
