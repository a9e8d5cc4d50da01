"""Schemas of few fields, at random from what is right and what is wrong."""

from __future__ import annotations

import random
from typing import Any

TYPES = ["integer", "number", "boolean", "string", "date", "any"]
ENDS: list[Any] = [0, -1, -9, 5, 5.5, 100, 1e25, -1e25, 2**53, "5", "2020-01-01", 1e26]
CATEGORIES: list[Any] = [
    ["x", "y"],
    ["x", " x "],
    [{"value": "x", "label": "the first"}, "\u00e9"],
    ["a\u00a0b", "y"],
    ["", "y"],
    ["\U0001f600" * 200, "y"],
    ["\U0001f600" * 201],
    [1, 2],
    [1, 1.0],
    [{"value": 0}, -0.0],
    [-9, 1.5],
    [2**53],
    [2**53 + 2],
    [1, "x"],
    [1, True],
    ["true", "7"],
    ["y", "z", "TRUE"],
    [1, 7, 0.5],
]
MISSING: list[Any] = [
    [],
    [""],
    ["-9", " 1 "],
    [" x\t"],
    [{"value": "1,5"}],
    ["+1.", "y", ".5e1"],
    ["TRUE"],
    ["-0"],
    ["1_0", "0x1", "\u0661", "1 0", "7.0"],
    ["inf", "1e999"],
]
ENUMS: list[Any] = [["x", "y"], [1, 2], [1, 1]]
CHARACTERS = [*",.' |;_", "\u00a0", "5", "e"]
TRUTHS: list[Any] = [["yes"], ["ja"], ["no"], ["false "], ["yes", "no"], ["1"], ["TRUE", "ja"]]
NAMES = [*"abcdefgh", " ", "\U0001f600", "x" * 200, "a\u00a0b", "\u200f"]
UNITS = [*"aaabbbccc", "nobody"]


def faulty_schema(rng: random.Random) -> dict[str, Any]:
    """Return a schema whose shape is right, and which may be wrong in what it says."""
    fields = [_field(rng) for _ in range(rng.randint(1, 2))]
    table = {"missingValues": MISSING, "csvw-eo:privacyUnit": UNITS}
    return {**_some(rng, table), "fields": fields}


def _field(rng: random.Random) -> dict[str, Any]:
    ends = {"minimum": ENDS, "maximum": ENDS, "required": [True, False], "enum": ENUMS}
    field = {
        "categories": CATEGORIES,
        "missingValues": MISSING,
        "decimalChar": CHARACTERS,
        "groupChar": CHARACTERS,
        "trueValues": TRUTHS,
        "falseValues": TRUTHS,
        "bareNumber": [*[True] * 9, False],
        "mipselect:role": ["weight", "ignored"],
    }
    constraints = _some(rng, ends)
    return {
        "name": rng.choice(NAMES),
        **({"type": rng.choice(TYPES)} if rng.random() < 0.9 else {}),
        **({"constraints": constraints} if constraints else {}),
        **_some(rng, field),
    }


def _some(rng: random.Random, properties: dict[str, list[Any]]) -> dict[str, Any]:
    return {key: rng.choice(pool) for key, pool in properties.items() if rng.random() < 0.3}
