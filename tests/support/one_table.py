"""A table with all kinds of fields and hostile values, and its moments by hand, in integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from mipselect.tables import TableSchema
from tests.support.mapped_tables import map_table

CONTENT: dict[str, Any] = {
    "missingValues": ["", "NA"],
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 91}},
        {"name": "ward", "type": "string", "categories": ["a", "b", "c"]},
        {"name": "smoker", "type": "boolean"},
        {"name": "dose", "type": "number", "constraints": {
            "minimum": 0, "maximum": 3, "required": True}},
        {"name": "stay", "type": "number", "constraints": {"minimum": 0, "maximum": 7}},
    ],
}  # fmt: skip
SCHEMA = TableSchema.of(CONTENT)
STRANGE = ["", "NA", "inf", "-1e300", "nonsense", None, "true", "0"]


def table(n: int, seed: int = 0) -> pa.Table:
    """Texts, so that they may be anything; every tenth value is strange."""
    rng = np.random.default_rng(seed)
    age, ward = rng.integers(18, 92, n), rng.integers(3, size=n)
    dose = rng.uniform(0, 3, n)
    stay = 2.0 + ward + 0.02 * age + 0.3 * dose + rng.normal(0, 0.4, n)
    columns: dict[str, list[str | None]] = {
        "age": [str(v) for v in age],
        "ward": ["abc"[v] for v in ward],
        "smoker": [("true", "false")[v] for v in rng.integers(2, size=n)],
        "dose": [f"{v:.7f}" for v in dose],
        "stay": [f"{v:.7f}" for v in stay],
    }
    for values in columns.values():
        for k in np.flatnonzero(rng.random(n) < 0.1):
            values[k] = STRANGE[int(rng.integers(len(STRANGE)))]
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def numbers(n: int, p: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Arrays, some beyond their bounds of 2 and 1, some tiny."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.choice(
        [1.0, 1e-5, 3.0, 1e300], (n, p), p=[0.7, 0.1, 0.1, 0.1]
    )
    return X, np.clip(X[:, 0], -1, 1) * 0.5 + rng.standard_normal(n) * 0.3


def summed(entries: np.ndarray, y: np.ndarray) -> np.ndarray:
    """ZᵀZ of entries in [-1, 1], in Python's integers."""
    Z = [[2**16, *(int(v * 2**16) for v in row), int(t * 2**16)]
         for row, t in zip(entries.tolist(), y.tolist(), strict=True)]  # fmt: skip
    size = len(Z[0])
    return np.array(
        [[sum(row[j] * row[k] for row in Z) for k in range(size)] for j in range(size)],
        dtype=object,
    )


def of_table(source: pa.Table, target: str = "stay", **question: Any) -> np.ndarray:
    """By hand, from the mapped table."""
    mapped = map_table(source, SCHEMA, target=target, **question)
    return summed(mapped.X, mapped.y)
