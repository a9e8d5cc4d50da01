"""Tables that an instance file names, with a schema or within the ranges of their rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from mipselect.errors import InvalidInput
from mipselect.problem.block_options import BlockOptions
from mipselect.problem.stored.settings import SETTINGS
from mipselect.problem.stored.sources import table_file
from mipselect.tables.instances import ScoredTable
from mipselect.tables.numbers import header, read_table
from mipselect.tables.question import TableQuestion
from mipselect.tables.schema import TableSchema
from mipselect.tables.table_file import TableFile
from mipselect.validation import checked_choice

QUESTION = ("target", "always", "never", "ranges", "unit_rule")
"""Keys of [data] that are arguments of `TableQuestion`."""

OF_THE_LOSS = ("ranges", "intercept")
"""Keys of [data] that only a loss of rows has."""


def table_within_its_rows(
    file: TableFile, target: str, never: Collection[str]
) -> tuple[TableSchema, pa.Table]:
    """Read a table of numbers; its ranges, smallest to largest value, are sensitive as the rows.

    Columns that are never features are left out, and may hold anything.
    """
    known = header(file, target, None)
    for name in never:
        checked_choice(name, "never", known)
    X, y, names = read_table(file, target, [name for name in known if name not in never])
    columns = {**{name: X[:, j] for j, name in enumerate(names)}, target: y}
    ends = {name: (float(column.min()), float(column.max())) for name, column in columns.items()}
    for name, (low, high) in ends.items():
        if low == high:
            ends[name] = low - max(1.0, abs(low)), high + max(1.0, abs(high))
    return TableSchema.of_numbers(ends), pa.table(columns)


def stored_table(
    data: Mapping[str, Any],
    folder: Path,
    settings: Mapping[str, Any],
    blocks: BlockOptions | None,
) -> ScoredTable:
    """Return what a file says of a table with a schema; no row is read."""
    source: Any = table_file(data, folder)
    if "schema" in data:
        schema = TableSchema.read(folder / data["schema"])
    else:
        schema, source = table_within_its_rows(source, data["target"], data.get("never", ()))
        data = {key: value for key, value in data.items() if key not in ("never", "ranges")}
    for name in OF_THE_LOSS:
        if blocks is not None and name in data:
            raise InvalidInput(
                f"{name} does not apply to score {blocks.score!r}, which centres and scales"
            )
    question = TableQuestion(schema, **{key: data[key] for key in QUESTION if key in data})
    of_loss = {key: value for key, value in settings.items() if key not in SETTINGS}
    support_size = of_loss.pop("support_size")
    of_loss |= {"intercept": data.get("intercept", True)}
    return ScoredTable(source, question, support_size, of_loss, blocks)
