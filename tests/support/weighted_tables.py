"""Tables with a survey weight, all kinds of fields, and rows that break every rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from mipselect.tables import TableSchema

Row = tuple[Any, ...]

UNIT = {"type": "number", "constraints": {"minimum": -1, "maximum": 1}}
FIELDS: list[dict[str, Any]] = [
    {"name": "ward", "type": "string", "categories": ["c0", "c1", "c2"]},
    {"name": "dose", **UNIT},
    {"name": "x", **UNIT},
    {"name": "z", **UNIT},
    {"name": "smoker", "type": "boolean"},
    {"name": "y", **UNIT},
]
MOST = 4.0
WEIGHT = {
    "name": "w",
    "type": "number",
    "mipselect:role": "weight",
    "constraints": {"maximum": MOST},
}
WEIGHTED = TableSchema.of({"missingValues": ["", "NA"], "fields": [*FIELDS, WEIGHT]})
PLAIN = TableSchema.of({"missingValues": ["", "NA"], "fields": FIELDS})

HOSTILE_WEIGHTS = (0, MOST, 1e300, "inf", -1, "-inf", None, "", "nan", "x", 1e-300, 5e-324, 3.99)
HOSTILE_ROWS: tuple[Row, ...] = (
    ("no such ward", -1e300, 1e300, "nan", "perhaps", "nan"),
    (None, None, None, None, None, None),
    ("c0", -1, -1, -1, "true", 1),
    ("c0", 1, 1, 1, "true", -1),
    ("c1", 1, -1, 1, "false", 1e9),
    ("c2", "inf", "-inf", "", "TRUE", -1e9),
)


def drawn(n: int, rng: np.random.Generator, *, hostile: float = 1 / 6) -> list[Row]:
    """Rows with some signal in the ward and in the dose."""
    rows: list[Row] = []
    for _ in range(n):
        k, dose = int(rng.integers(3)), float(rng.uniform(-1, 1))
        y = 0.4 * (k - 1) + 0.5 * dose + 0.1 * float(rng.normal())
        row: Row = (f"c{k}", dose, *rng.uniform(-1, 1, 2).tolist(), str(rng.random() < 0.5), y)
        weight: Any = float(rng.uniform(0.0, 1.5 * MOST))
        if rng.random() < hostile:
            row = HOSTILE_ROWS[int(rng.integers(len(HOSTILE_ROWS)))]
        if rng.random() < hostile:
            weight = HOSTILE_WEIGHTS[int(rng.integers(len(HOSTILE_WEIGHTS)))]
        rows.append((*row, weight))
    return rows


def table_of(rows: list[Row], known: TableSchema = WEIGHTED) -> pa.Table:
    """All cells as texts; without the weight where the schema has none."""
    names = [field.name for field in known.fields]
    columns = list(zip(*rows, strict=True))[: len(names)]
    cells = [[None if v is None else str(v) for v in column] for column in columns]
    return pa.table({n: pa.array(c, pa.string()) for n, c in zip(names, cells, strict=True)})


def share_of(cell: Any) -> float:
    """What a weight counts, by hand."""
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return 0.0
    return min(max(value, 0.0), MOST) / MOST if value == value else 0.0
