"""A table of patients with every kind of field, and its schema."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mipselect.tables import TableSchema


def between(low: float, high: float, **more: Any) -> dict[str, Any]:
    return {"type": "number", "constraints": {"minimum": low, "maximum": high, **more}}


SCHEMA = TableSchema.of(
    {
        "missingValues": ["", "NA"],
        "fields": [
            {"name": "age", **between(18, 100)},
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
            {"name": "ward", "type": "string", "categories": ["a", "b", "c", "d"]},
            {"name": "dose", **between(0, 1, required=True)},
            {"name": "stay", **between(0, 60)},
            {"name": "died", "type": "boolean"},
        ],
    }
)


def patients(n: int = 3000, seed: int = 0) -> pd.DataFrame:
    """`stay` follows `ward` and `sex`; `died` follows `age`."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 101, n).astype(str),
            "sex": rng.choice(["f", "m", "NA"], n, p=[0.5, 0.4, 0.1]),
            "ward": rng.choice(list("abcd"), n),
            "dose": rng.random(n).round(3).astype(str),
        }
    )
    ward = frame["ward"].map({"a": 10.0, "b": 40.0, "c": 25.0, "d": 25.0})
    stay = ward + 8.0 * (frame["sex"] == "m") + rng.normal(size=n)
    frame["stay"] = stay.round(2).astype(str)
    frame["died"] = (rng.random(n) < np.where(frame["age"].astype(int) > 60, 0.9, 0.1)).astype(str)
    frame["other"] = "x"
    return frame
