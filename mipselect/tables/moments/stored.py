"""Moments in a file: an npz archive without pickles, for its owner only, whole or not at all."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mipselect import disk
from mipselect.blocks.partitions import Blocks
from mipselect.errors import InvalidInput
from mipselect.grid import MOST_ROWS
from mipselect.tables.moments.block_columns import (
    ArrayBlockColumns,
    BlockColumns,
    Columns,
    TableBlockColumns,
)
from mipselect.tables.moments.columns import ArrayColumns, TableColumns
from mipselect.tables.moments.sums import MOST_BYTES, ONE, IntMatrix
from mipselect.tables.question import TableQuestion
from mipselect.tables.schema import TableSchema
from mipselect.validation import shown

FORMAT = "mipselect moments 1"
SENSITIVE = (
    "SENSITIVE: computed from the data without any privacy. Keep it where the data may be kept."
)


@dataclass(frozen=True, eq=False)
class Stored:
    """Contents of a file of moments.

    Attributes
    ----------
    columns : Columns
    totals : ndarray of int64, shape (folds, p + 2, p + 2)
    counted : dict of str to (int, int) or None
        The parts that were added up, with bytes and time of those that are files here.
    whole : bool
        False where a pass was interrupted after these.
    """

    columns: Columns
    totals: IntMatrix
    counted: Mapping[str, tuple[int, int] | None] = field(default_factory=dict)
    whole: bool = True


def write(path: Path, stored: Stored) -> None:
    """Write the file, or raise `MipselectError` and leave what was there."""
    about = {
        "format": FORMAT,
        "sensitive": SENSITIVE,
        "whole": stored.whole,
        "columns": stored.columns.to_dict(),
        "counted": [
            {"label": label, "file": None if file is None else list(file)}
            for label, file in stored.counted.items()
        ],
    }
    archive = io.BytesIO()
    np.savez(archive, about=np.array(json.dumps(about, ensure_ascii=False)), totals=stored.totals)
    disk.save(path, archive.getvalue(), sensitive=True)


def read(path: Path) -> Stored:
    """Read and check a file; raise `InvalidInput`, naming it, for anything that is none."""
    disk.regular_file(path)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            about, totals = json.loads(str(archive["about"][()])), archive["totals"]
    except (*disk.DAMAGE, MemoryError):
        raise InvalidInput(f"{path}: is no file of moments, or a damaged one") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InvalidInput(f"{path}: is no file of moments in the format {FORMAT!r}")
    try:
        columns = _columns(about["columns"])
        counted = {entry["label"]: _file(entry["file"]) for entry in about["counted"]}
        whole = bool(about["whole"])
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InvalidInput(f"{path}: the file is damaged: {shown(error)}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error
    size = len(columns.names) + 2
    if totals.dtype != np.int64 or totals.ndim != 3 or totals.shape[1:] != (size, size):
        raise InvalidInput(f"{path}: the file is damaged: its sums must be {size} by {size}")
    if not (len(totals) and _are_sums(totals, columns)):
        raise InvalidInput(f"{path}: the file is damaged: its numbers are no sums of rows")
    return Stored(columns, totals, counted, whole)


def _file(entry: Sequence[int] | None) -> tuple[int, int] | None:
    return None if entry is None else (int(entry[0]), int(entry[1]))


def _columns(content: Mapping[str, Any]) -> Columns:
    """Read what `to_dict` wrote; else raise `InvalidInput`, `KeyError` or `TypeError`."""
    match content["kind"]:
        case "arrays":
            names, x_bounds = tuple(content["names"]), tuple(content["x_bounds"])
            return ArrayColumns(names, x_bounds, content["y_bound"])
        case "table":
            ranges = {name: (ends[0], ends[1]) for name, ends in content["ranges"].items()}
            return TableColumns(replace(_question(content), ranges=ranges))
        case "blocks of arrays":
            return ArrayBlockColumns(
                tuple(content["names"]),
                tuple(tuple(group) for group in content["groups"]),
                tuple(tuple(part) for part in content["always"]),
                tuple(content["feature_names"]),
                Blocks(content["block_rows"], content["partitions"]),
            )
        case "blocks of a table":
            blocks = Blocks(content["block_rows"], content["partitions"])
            columns = TableBlockColumns(_question(content), blocks)
            _ = columns.public
            return columns
        case kind:
            raise InvalidInput(f"columns are of arrays or of a table, not {shown(kind)}")


def _question(content: Mapping[str, Any]) -> TableQuestion:
    schema = TableSchema.of(content["schema"])
    return TableQuestion(schema, content["target"], never=content["never"])


def _are_sums(totals: IntMatrix, columns: Columns) -> bool:
    """Return whether every matrix could be ZᵀZ of some rows that begin with a one."""
    rows, left = np.divmod(totals[:, 0, 0], ONE)
    in_range = totals.nbytes <= MOST_BYTES and int(rows.min()) >= 0 and not left.any()
    if not in_range or sum(rows.tolist()) > MOST_ROWS:
        return False
    terms = columns.blocks.terms(rows) if isinstance(columns, BlockColumns) else rows
    if int(terms.max()) > MOST_ROWS:
        return False
    most = (np.maximum(rows, terms) * ONE)[:, None, None]
    diagonal = np.diagonal(totals, axis1=1, axis2=2)
    return bool(
        (np.abs(totals) <= most).all()
        and (totals >= -most).all()
        and (totals == totals.transpose(0, 2, 1)).all()
        and (diagonal >= 0).all()
    )
