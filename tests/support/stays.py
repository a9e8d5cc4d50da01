"""Stays in a hospital as lines of a CSV file with its schema, and lines that are not right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

SCHEMA: dict[str, Any] = {
    "missingValues": ["", "NA"],
    "csvw-eo:privacyUnit": "id",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100}},
        {"name": "sex", "type": "string", "categories": ["f", "m"]},
        {"name": "ward", "type": "string", "categories": ["a", "b", "c", "d"]},
        {"name": "noise, plain", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
        {"name": "stay", "type": "number", "constraints": {"minimum": 0, "maximum": 60}},
        {"name": "died", "type": "boolean"},
    ],
}
HOSTILE = [
    ["p7", "old", "x", "?", "nan", "1e999", "perhaps"],
    ["p7"] * 7,
    ["p7", "", "", "", "", "", ""],
    ["only", "three", "values"],
    ["\x00", "-inf", "f", "a", "-1e300", "-1", "TRUE"],
]


def rows(n: int, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        age, ward = rng.integers(18, 100), rng.choice(list("abcd"))
        stay = 20 + 30 * (ward in "ab") - 15 * (ward == "c") + rng.normal()
        died = rng.random() < (age > 60) * 0.9
        line = [f"p{i}", str(age), rng.choice(["f", "m", "NA"]), ward, f"{rng.random():.3f}"]
        lines.append([*line, f"{stay:.2f}", str(died)])
    return lines


def written(path: Path, lines: list[list[str]]) -> Path:
    names = [f'"{entry["name"]}"' for entry in SCHEMA["fields"]]
    path.write_text("\n".join(",".join(line) for line in [names, *lines]) + "\n")
    path.with_name("schema.json").write_text(json.dumps(SCHEMA))
    return path
