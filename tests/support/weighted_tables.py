"""Tables with all kinds of fields, a survey weight, rows that break every rule; and their pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from mipselect import Instance
from mipselect.tables import TableSchema
from mipselect.tables.moments import Moments
from tests.support.exact_audit import Data, Pair

Row = tuple[Any, ...]
Pairs = tuple[Pair, ...]

UNIT = {"type": "number", "constraints": {"minimum": -1, "maximum": 1}}
MOST = 4.0
WEIGHT = {
    "name": "w",
    "type": "number",
    "mipselect:role": "weight",
    "constraints": {"maximum": MOST},
}


def schema(levels: int = 3, *more: dict[str, Any], missing: bool = True) -> TableSchema:
    """A category, numbers, a boolean and the target; blanks are missing values or not foreseen."""
    required = {"constraints": {"minimum": -1, "maximum": 1, "required": True}}
    fields: list[dict[str, Any]] = [
        {"name": "ward", "type": "string", "categories": [f"c{k}" for k in range(levels)]},
        {"name": "dose", **UNIT, **({} if missing else required)},
        {"name": "x", **UNIT},
        {"name": "z", **UNIT},
        {"name": "smoker", "type": "boolean"},
        {"name": "y", **UNIT},
        *more,
    ]
    return TableSchema.of({"fields": fields, **({"missingValues": ["", "NA"]} if missing else {})})


PLAIN, WEIGHTED = schema(), schema(3, WEIGHT)

HOSTILE_WEIGHTS = (0, MOST, 1e300, "inf", -1, "-inf", None, "", "nan", "x", 1e-300, 5e-324, 3.99)
HOSTILE_ROWS: tuple[Row, ...] = (
    ("no such ward", -1e300, 1e300, "nan", "perhaps", "nan"),
    (None, None, None, None, None, None),
    ("c0", -1, -1, -1, "true", 1),
    ("c0", 1, 1, 1, "true", -1),
    ("c1", 1, -1, 1, "false", 1e9),
    ("c2", "inf", "-inf", "", "TRUE", -1e9),
)


def drawn(
    n: int, rng: np.random.Generator, *, hostile: float = 1 / 6, levels: int = 3
) -> list[Row]:
    """Rows with some signal in the ward and in the dose."""
    rows: list[Row] = []
    for _ in range(n):
        k, dose = int(rng.integers(levels)), float(rng.uniform(-1, 1))
        y = 0.4 * (k % 3 - 1) + 0.5 * dose + 0.1 * float(rng.normal())
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


def of_rows(rows: list[Row], known: TableSchema, **asked: Any) -> Data:
    given = {"target": "y", "ridge": 1e-3, **asked}
    return Data(Instance.from_table(table_of(rows, known), known, **given))


def of_moments(rows: list[Row], known: TableSchema, **asked: Any) -> Data:
    del asked["loss"]
    moments = Moments.of(table_of(rows, known), known, target="y")
    return Data(Instance.from_moments(moments, ridge=1e-3, **asked))


def of_blocks(rows: list[Row], known: TableSchema, **asked: Any) -> Data:
    blocks = {"block_rows": asked["support_size"] + 1, "partitions": 3, "partition_seed": 1}
    kept = {key: asked[key] for key in ("support_size", "always")}
    return of_rows(rows, known, **kept, **blocks, score="blocks", ridge=None)


MADE: dict[str, Callable[..., Data]] = {"rows": of_rows, "moments": of_moments, "blocks": of_blocks}


@cache
def pairs(made: str | None = None) -> Pairs:
    """More than 200 pairs: hostile rows and weights in place of others, and random ones.

    Without a name there are no weights, and categories of up to 200 levels.
    """
    rng = np.random.default_rng(3)
    make, found = MADE[made or "rows"], []
    for k in range(8 if made else 12):
        levels = 3 if made else (2, 4, 200)[k % 3]
        known = WEIGHTED if made else schema(levels, missing=k % 2 == 0)
        rows = drawn((6, 25, 60)[k % (2 if made else 3)], rng, levels=levels)
        asked: dict[str, Any] = {
            "support_size": 1 + k // 2 % 2,
            "always": ["smoker"] if k % 4 == 1 else [],
            "intercept": k % 3 != 1,
            "coef_bound": (0.4, 1.5)[k // 4 % 2],
            "loss": ("squared", "squared", "quantile(0.7)" if made else "huber(0.5)")[k % 3],
        }
        data, place = make(rows, known, **asked), int(rng.integers(len(rows)))
        others: list[Row] = [(*row, MOST) for row in HOSTILE_ROWS]
        if made:
            others += [(*rows[place][:-1], weight) for weight in HOSTILE_WEIGHTS]
            others += list(zip(*zip(*HOSTILE_ROWS, strict=True), HOSTILE_WEIGHTS[:6], strict=True))
        for other in (*others, *drawn(4 if made else 12, rng, levels=levels, hostile=0.0)):
            found.append((data, make([*rows[:place], other, *rows[place + 1 :]], known, **asked)))
    return tuple(found)


@cache
def clear_pairs() -> Pairs:
    """Pairs whose first member has its best support clearly ahead."""
    rng, found = np.random.default_rng(5), []
    for k in range(4):
        known, rows = schema((2, 200)[k % 2]), []
        for _ in range(700):
            ward, (dose, x, z) = int(rng.integers(2)), rng.uniform(-1, 1, 3).tolist()
            y = 0.55 * (1 - 2 * ward) + 0.4 * dose
            rows.append((f"c{ward}", dose, x, z, "true", y))
        asked = {"support_size": 2, "coef_bound": 1.2, "intercept": k > 1}
        data = of_rows(rows, known, **asked)
        assert data.meets_condition()
        for other in HOSTILE_ROWS:
            place = int(rng.integers(700))
            swapped = [*rows[:place], other, *rows[place + 1 :]]
            found.append((data, of_rows(swapped, known, **asked)))
    return tuple(found)


NUMBERS = 13


def _of_numbers(*more: dict[str, Any]) -> TableSchema:
    required = {"minimum": -1, "maximum": 1, "required": True}
    names = [*(f"x{k}" for k in range(NUMBERS)), "y"]
    numbers = [{"name": name, "type": "number", "constraints": required} for name in names]
    return TableSchema.of({"fields": [*numbers, *more]})


def mirrored(levels: int) -> Pair:
    """Every feature predicts y as well as the others, all coefficients at their bound, s = 1.

    One row is right about the category and wrong about the numbers, or the other way round.
    """
    category = {"name": "ward", "type": "string", "categories": [f"c{k}" for k in range(levels)]}
    known, rows = _of_numbers(category), [(*[1] * (NUMBERS + 1), "c0")] * 40
    asked = {"support_size": 1, "intercept": False, "coef_bound": 0.6}
    right, wrong = ((*[-1] * NUMBERS, y, "c0") for y in (1, -1))
    return of_rows([*rows, right], known, **asked), of_rows([*rows, wrong], known, **asked)


def of_weight(weight: Any, made: str) -> Pair:
    """Numbers alone, of which the first row, of this weight, is right about one or all others.

    In blocks this row is far from all others, and decides every pair that it is in.
    """
    known, found = _of_numbers(WEIGHT), []
    y = np.ones(41) if made != "blocks" else np.random.default_rng(7).standard_normal(40)
    far = 1.0 if made != "blocks" else 1e17
    asked: dict[str, Any] = {"support_size": 1, "intercept": False, "coef_bound": 0.6}
    for sign in (1.0, -1.0):
        rows = np.repeat(y[:, None], NUMBERS + 1, axis=1)
        rows[0], rows[0, 0], rows[0, -1] = -far * sign, far * sign, far
        weights = [weight, *[MOST] * (len(y) - 1)]
        cells = [(*row, w) for row, w in zip(rows.tolist(), weights, strict=True)]
        more = {"partitions": 3, "partition_seed": 1, "score": "blocks", "support_size": 1}
        found.append(
            of_rows(cells, known, **more)
            if made == "blocks"
            else MADE[made](cells, known, **asked, loss="squared")
        )
    return found[0], found[1]


def tight(made: str) -> Pairs:
    return tuple(of_weight(weight, made) for weight in (MOST, 1e300, 0.5 * MOST, 0.0))
