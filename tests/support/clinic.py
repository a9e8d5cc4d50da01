"""A table whose target follows derived features, and its schema."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

CONTENT: dict[str, Any] = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100}},
        {
            "name": "income",
            "type": "number",
            "unit": "CHF",
            "constraints": {"minimum": 1000, "maximum": 5e5},
        },
        {"name": "smoker", "type": "boolean"},
        {"name": "admitted", "type": "date"},
        {"name": "stay", "type": "number", "constraints": {"minimum": 0, "maximum": 60}},
        {"name": "died", "type": "boolean"},
    ],
    "mipselect:features": [
        {"name": "log income", "from": "income", "transform": "log"},
        {"name": "month", "from": "admitted", "part": "month"},
        {"name": "root of age", "from": "age", "transform": "sqrt"},
    ],
}


def clinic(n: int = 3000, seed: int = 0) -> pd.DataFrame:
    """`stay` grows with the doublings of income and the root of age; it is longer in January."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 101, n), np.exp(rng.normal(10.5, 0.9, n))
    day = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3650, n), "D")
    stay = 2 * np.log2(income) - 22 + 2.5 * np.sqrt(age) + 6 * (day.month == 1)
    frame = pd.DataFrame({"age": age, "income": income.round(2)})
    frame["smoker"] = rng.random(n) < 0.4
    frame["admitted"] = day.strftime("%Y-%m-%d")
    frame["stay"] = (stay + rng.normal(0, 1, n)).round(2)
    frame["died"] = frame["smoker"] & (age > 60)
    return frame
