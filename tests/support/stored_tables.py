"""One table in every kind of file, with a schema that fits all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
from pyarrow import parquet

from mipselect.tables import TableSchema

CODES = {1: "never", 2: "former", 3: "daily"}
NONE = ["", "-9", "-8"]
SCHEMA = TableSchema.of(
    {
        "fields": [
            {
                "name": "age",
                "type": "integer",
                "constraints": {"minimum": 18, "maximum": 90},
                "missingValues": NONE,
            },
            {"name": "dose", "type": "number", "constraints": {"minimum": -2, "maximum": 2}},
            {"name": "sex", "type": "string", "categories": ["f", "m", "é"]},
            {
                "name": "smoking",
                "type": "integer",
                "categories": list(CODES),
                "missingValues": NONE,
            },
            {"name": "y", "type": "number", "constraints": {"minimum": -5, "maximum": 5}},
        ]
    }
)
Columns = dict[str, list[Any]]


def columns(rows: int = 200) -> Columns:
    """A table in which every cell survives every kind of file; None where there is no number."""
    rng = np.random.default_rng(5)
    return {
        "age": [_one(rng, [*range(15, 99), -9, -8, None]) for _ in range(rows)],
        "dose": [_one(rng, [*(k / 64 for k in range(-200, 200)), None]) for _ in range(rows)],
        "sex": [_one(rng, ["f", "m", "é", "?", ""]) for _ in range(rows)],
        "smoking": [_one(rng, [1, 2, 3, 4, -9, None]) for _ in range(rows)],
        "y": [k / 128 for k in rng.integers(-700, 700, rows).tolist()],
    }


def _one(rng: np.random.Generator, among: list[Any]) -> Any:
    return among[rng.integers(len(among))]


def frame(table: Columns) -> pd.DataFrame:
    texts = {name for name, cells in table.items() if any(isinstance(c, str) for c in cells)}
    kinds = {name: (object if name in texts else float) for name in table}
    return pd.DataFrame(
        {name: pd.Series(cells, dtype=kinds[name]) for name, cells in table.items()}
    )


def as_sav(table: Columns, path: Path) -> Path:
    pyreadstat.write_sav(
        frame(table),
        path,
        column_labels={"age": "Age in years", "sex": "Sex"},
        variable_value_labels={"smoking": {**CODES, -9: "refused"}, "age": {-9: "refused"}},
        missing_ranges={"age": [{"lo": -9, "hi": -8}], "smoking": [-9, -8]},
        variable_measure={"smoking": "ordinal", "age": "scale"},
        variable_format={"age": "F3.0"},
        compress=path.suffix == ".zsav",
    )
    return path


def as_dta(table: Columns, path: Path) -> Path:
    labels = {"smoking": CODES, "age": {-9: "refused"}}
    names = {"age": "Age in years"}
    pyreadstat.write_dta(frame(table), path, column_labels=names, variable_value_labels=labels)
    return path


def as_xpt(table: Columns, path: Path) -> Path:
    pyreadstat.write_xport(
        frame(table), path, column_labels={"age": "Age in years"}, file_format_version=5
    )
    return path


def as_xlsx(table: Columns, path: Path) -> Path:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append([f" {name} " for name in table])
    for row in zip(*table.values(), strict=True):
        sheet.append(list(row))
    book.save(path)
    return path


def as_parquet(table: Columns, path: Path) -> Path:
    parquet.write_table(pa.Table.from_pandas(frame(table), preserve_index=False), path)
    return path


WRITERS: dict[str, Callable[[Columns, Path], Path]] = {
    ".sav": as_sav,
    ".zsav": as_sav,
    ".dta": as_dta,
    ".xpt": as_xpt,
    ".xlsx": as_xlsx,
}
