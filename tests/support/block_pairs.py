"""Neighbouring tables in blocks of rows, with the same partitions: hostile, tight and clear."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa

from mipselect import BlockScores, Instance
from mipselect.tables import TableSchema
from tests.support.exact_audit import Data, Pair
from tests.support.hostile_blocks import hostile_rows

FIELDS = [
    {"name": "ward", "type": "string", "categories": ["a", "b", "c", "d"]},
    {"name": "dose", "type": "number"},
    {"name": "sex", "type": "string", "categories": ["f", "m"]},
    {"name": "stage", "type": "string", "categories": ["i", "ii", "iii"],
     "categoriesOrdered": True},
    {"name": "y", "type": "number"},
]  # fmt: skip
SCHEMA = TableSchema.of({"fields": FIELDS})


def of_arrays(rows: np.ndarray, **options: Any) -> Data:
    """Blocks of rows whose last column is the target."""
    return Data(Instance.from_blocks(rows[:, :-1], rows[:, -1], **options))


def hostile_pairs(seed: int, count: int, **fixed: Any) -> Iterator[Pair]:
    """A random hostile table, and `count` others that differ in one row."""
    rng = np.random.default_rng([seed, 3])
    b = int(rng.choice([2, 3, 4]))
    n, p = int(rng.choice([b, 2 * b + 1, 25])), int(rng.integers(4, 7))
    rows = np.nan_to_num(hostile_rows(rng, n, p + 1))
    options: dict[str, Any] = {
        "support_size": int(rng.integers(1, 3)),
        "block_rows": b,
        "partitions": int(rng.choice([1, 2, 5])),
        "partition_seed": seed,
        "ridge": float(rng.choice([1e-6, 1.0])),
        "coef_bound": [None, 0.3, 2.0][seed % 3],
        "groups": [[0, 1], *([j] for j in range(2, p))] if seed % 4 == 3 else None,
    } | fixed
    data = of_arrays(rows, **options)
    for other in with_other_rows(rng, rows, count):
        yield data, of_arrays(other, **options)


def with_other_rows(rng: np.random.Generator, rows: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """Neighbours: one row like others, so that blocks have ties and constants; or wild."""
    n, columns = rows.shape
    for k in range(count):
        other = rows.copy()
        if k % 2:
            fresh = rows[rng.integers(n)] * rng.choice([-1.0, 1.0], columns)
        else:
            with np.errstate(over="ignore"):
                fresh = hostile_rows(rng, 1, columns)[0] * rng.choice([1.0, 1e17])
        other[rng.integers(n)] = np.nan_to_num(fresh)
        yield other


def tight_pair(p: int, m: int, b: int, partitions: int, *, width: int = 1, **options: Any) -> Pair:
    """Neighbours that use nearly all that one row may move, at s = 1.

    All columns follow the target, `width` of them in each feature. One row is larger than all
    others by far, so that it decides every block that it is in: in the one table it is right about
    feature 0 and wrong about the others, in the other table the reverse.
    """
    rng = np.random.default_rng(7)
    y = rng.standard_normal(b * m)
    rows = np.repeat(y[:, None], p * width + 1, axis=1)
    rows[0] = -1e17
    rows[0, :width] = rows[0, -1] = 1e17
    other = rows.copy()
    other[0, :-1] *= -1.0
    given: dict[str, Any] = {
        "support_size": 1, "block_rows": b, "partitions": partitions, "partition_seed": 1,
        "ridge": 1e-3,
    } | options  # fmt: skip
    if width > 1:
        given["groups"] = [range(width * j, width * (j + 1)) for j in range(p)]
    return of_arrays(rows, **given), of_arrays(other, **given)


def clear_pairs(n: int, count: int) -> Iterator[Pair]:
    """One feature is the target but for its scale, the others are noise; a row becomes wild."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 4))
    rows = np.column_stack([X, X[:, 0] ** 3])
    options = {"support_size": 1, "partitions": 2, "partition_seed": n}
    data = of_arrays(rows, **options)
    for row in range(count):
        other = rows.copy()
        other[row] = rng.standard_normal(5) * 1e9
        yield data, of_arrays(other, **options)


def table_of(cells: list[list[Any]]) -> pa.Table:
    """Texts by the fields of the schema."""
    return pa.table({field["name"]: [None if cell is None else str(cell) for cell in column]
                     for field, column in zip(FIELDS, cells, strict=True)})  # fmt: skip


def hostile_cells(rng: np.random.Generator, n: int) -> list[list[Any]]:
    """Cells that are missing, in no list, or far from all others."""

    def cells(usual: list[Any]) -> list[Any]:
        strange = [None, "", "nan", "inf", "?", "-1e300", "5e-324"]
        found = [usual[k] for k in rng.integers(len(usual), size=n)]
        return [
            cell if rng.random() < 0.8 else strange[int(rng.integers(len(strange)))]
            for cell in found
        ]

    numbers = rng.integers(-3, 4, 5).tolist()
    return [cells(list("abcd")), cells(numbers), cells(["f", "m"]), cells(["i", "ii", "iii"]),
            cells(numbers)]  # fmt: skip


def table_pairs(seed: int, count: int) -> Iterator[Pair]:
    """The same of tables with categories and missing values."""
    rng = np.random.default_rng([seed, 4])
    n = int(rng.choice([6, 20]))
    cells = hostile_cells(rng, n)
    options: dict[str, Any] = {
        "score": "blocks",
        "target": "y",
        "support_size": 2,
        "always": [["sex"], []][seed % 2],
        "block_rows": int(rng.choice([2, 3, 5])),
        "partitions": 3,
        "partition_seed": seed,
    }
    data = Data(Instance.from_table(table_of(cells), SCHEMA, **options))
    for other in with_other_cells(rng, cells, count):
        yield data, Data(Instance.from_table(table_of(other), SCHEMA, **options))


def with_other_cells(
    rng: np.random.Generator, cells: list[list[Any]], count: int
) -> Iterator[list[list[Any]]]:
    """Neighbours: a table in which the cells of one row are others."""
    for _ in range(count):
        row, fresh = int(rng.integers(len(cells[0]))), hostile_cells(rng, 1)
        yield [[*column[:row], *new, *column[row + 1 :]]
               for column, new in zip(cells, fresh, strict=True)]  # fmt: skip


@cache
def hostile() -> tuple[Pair, ...]:
    of_arrays = [pair for seed in range(40) for pair in hostile_pairs(seed, 12)]
    of_tables = [pair for seed in range(8) for pair in table_pairs(seed, 12)]
    return (*of_arrays, *of_tables)


@cache
def tight() -> tuple[Pair, ...]:
    sizes = [(8, 10, 2, 1), (8, 30, 2, 3), (16, 20, 3, 2), (16, 12, 4, 4), (12, 20, 6, 1)]
    several = [tight_pair(12, 20, 2, 2, width=2), tight_pair(12, 20, 3, 2, width=3)]
    return (*(tight_pair(*size) for size in sizes), *several)


@cache
def clear() -> tuple[Pair, ...]:
    return (*clear_pairs(20, 20), *clear_pairs(300, 20))


def scored(rows: np.ndarray, **question: Any) -> Data:
    """Block R² of rows whose last column is the target."""
    return Data(BlockScores(rows[:, :-1], rows[:, -1], partition_seed=5, **question))  # type: ignore[arg-type]


@cache
def flipped(p: int = 60) -> Pair:
    """A row that makes the target go with the first column alone, or with all others alone."""
    rows = np.empty((4, p + 1))
    rows[1:, 0], rows[1:, 1:] = [1.0, -2.0, 1.0], np.array([-1.0, 0.0, 1.0])[:, None]
    rows[1:, 1:p] += 1e-9 * np.random.default_rng(0).standard_normal((3, p - 1))
    one, other = rows.copy(), rows.copy()
    one[0], other[0] = 0.0, 0.0
    one[0, [0, p]] = 1e300
    question = {"support_size": 1, "block_rows": 4, "partitions": 1}
    return scored(one, **question), scored(other, **question)


@cache
def of_scores() -> tuple[Pair, ...]:
    """More than 150 pairs of block R², of arrays and of tables."""
    found = [flipped(), flipped(4)]
    for seed in range(24):
        rng = np.random.default_rng([seed, 5])
        n, b = ((6, 6), (13, 6), (40, 8))[seed % 3]
        rows = np.nan_to_num(hostile_rows(rng, n, 5))
        question: dict[str, Any] = {
            "support_size": 1 + seed % 2,
            "block_rows": b,
            "partitions": 1 + seed % 2 * 3,
            "always": [3] if seed % 5 == 4 else None,
            "groups": [[0, 1], [2], [3]] if seed % 5 == 3 else None,
        }
        first = scored(rows, **question)
        found += [(first, scored(other, **question)) for other in with_other_rows(rng, rows, 6)]
    asked = {"target": "y", "support_size": 2, "block_rows": 8, "partitions": 2}
    for seed in range(8):
        rng = np.random.default_rng([seed, 6])
        always = ["sex"] if seed % 3 == 2 else []
        make = partial(Instance.from_table, schema=SCHEMA, always=always, score="block-r2", **asked)
        cells = hostile_cells(rng, (8, 20)[seed % 2])
        first, *others = (
            Data(make(table_of(each), partition_seed=5))
            for each in (cells, *with_other_cells(rng, cells, 5))
        )
        found += [(first, other) for other in others]
    return tuple(found)
