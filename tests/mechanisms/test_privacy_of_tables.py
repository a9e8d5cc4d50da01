"""Privacy as it is defined, from raw rows of a table to the law of every outcome.

The tables have categories, missing values and rows that break every rule of their schema; the
neighbours differ by one raw row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect import Instance, Mistakes, TopR, mistake_levels, top_supports
from mipselect.mechanisms import ExponentialMechanism, SupportMechanism
from mipselect.problem import layout
from mipselect.tables import TableSchema
from tests.support.exact_audit import (
    Data,
    excess,
    levels_of,
    log_probabilities,
    loss_of,
    pool_of,
)

ROUNDING = 1.0 + 1e-9
EPSILON = 1.0
Row = tuple[Any, ...]
Build = Callable[[Data], SupportMechanism]

HOSTILE: tuple[Row, ...] = (
    ("no such ward", -1e300, 1e300, "perhaps", "nan"),
    (None, None, None, None, None),
    ("", "inf", "-inf", "", "1e999"),
    ("c0", -1, -1, "true", -1),
    ("c0", 1, 1, "false", 1),
    ("c1", -1, 1, None, 1e9),
    ("c2", "one", "2", "TRUE", -1e9),
    (None, 1, -1, "true", 1),
)


def schema(levels: int, *, missing: bool = True, numbers: int = 1) -> TableSchema:
    """A category, numbers, a boolean and the target; blanks are missing values or not foreseen."""
    unit = {"type": "number", "constraints": {"minimum": -1, "maximum": 1}}
    fields: list[dict[str, Any]] = [
        {"name": "ward", "type": "string", "categories": [f"c{k}" for k in range(levels)]},
        {"name": "dose", **unit, **({} if missing else {"constraints": {
            "minimum": -1, "maximum": 1, "required": True}})},
        *({"name": f"x{k}", **unit} for k in range(numbers)),
        {"name": "smoker", "type": "boolean"},
        {"name": "y", **unit},
    ]  # fmt: skip
    return TableSchema.of({"fields": fields, **({"missingValues": ["", "NA"]} if missing else {})})


def data_of(rows: list[Row], known: TableSchema, **question: Any) -> Data:
    cells = [[None if v is None else str(v) for v in column] for column in zip(*rows, strict=True)]
    names = [field.name for field in known.fields]
    table = pa.table({n: pa.array(c, pa.string()) for n, c in zip(names, cells, strict=True)})
    asked = {"target": "y", "ridge": 1e-3, **question}
    return Data(Instance.from_table(table, known, **asked))


def drawn(n: int, levels: int, rng: np.random.Generator) -> list[Row]:
    """Rows with some signal in the ward and in the dose, of which every sixth is hostile."""
    rows: list[Row] = []
    for _ in range(n):
        k, dose = int(rng.integers(levels)), float(rng.uniform(-1, 1))
        y = 0.6 * (-1) ** k + 0.5 * dose + 0.1 * rng.normal()
        rows.append((f"c{k}", dose, float(rng.uniform(-1, 1)), str(rng.random() < 0.5), y))
        if rng.random() < 1 / 6:
            rows[-1] = HOSTILE[int(rng.integers(len(HOSTILE)))]
    return rows


@cache
def pairs() -> tuple[tuple[Data, Data], ...]:
    """More than 200 pairs: every hostile row in the place of another, and random ones."""
    rng = np.random.default_rng(3)
    found = []
    for k in range(12):
        levels, n = (2, 4, 200)[k % 3], (6, 25, 60)[k // 3 % 3]
        question: dict[str, Any] = {
            "support_size": 1 + k % 2,
            "always": ["smoker"] if k % 4 == 1 else [],
            "intercept": k % 3 != 1,
            "coef_bound": (0.4, 1.5)[k // 2 % 2],
            "loss": ("huber(0.5)", "squared", "squared")[k % 3],
        }
        known, rows = schema(levels, missing=k % 2 == 0), drawn(n, levels, rng)
        data = data_of(rows, known, **question)
        for other in (*HOSTILE, *drawn(12, levels, rng)):
            place = int(rng.integers(n))
            found.append((data, data_of([*rows[:place], other, *rows[place + 1 :]], known,
                                        **question)))  # fmt: skip
    return tuple(found)


@cache
def mirrored(levels: int, numbers: int = 12) -> tuple[Data, Data]:
    """Every feature predicts y as well as the others, all coefficients at their bound, s = 1.

    One row is right about the category and wrong about the numbers, or the other way round.
    """
    known, question = schema(levels, numbers=numbers), {
        "support_size": 1, "intercept": False, "coef_bound": 0.6, "never": ["smoker"],
    }  # fmt: skip
    rest: list[Row] = [("c0", *[1] * (numbers + 1), "true", 1)] * 40
    low = ("c0", *[-1] * (numbers + 1), "true")
    return (
        data_of([*rest, (*low, 1)], known, **question),
        data_of([*rest, (*low, -1)], known, **question),
    )


@cache
def separated() -> tuple[tuple[Data, Data], ...]:
    """Pairs whose first member has its best support clearly ahead."""
    rng = np.random.default_rng(5)
    found = []
    for k in range(4):
        levels, n, known = (2, 200)[k % 2], 700, schema((2, 200)[k % 2])
        rows: list[Row] = []
        for _ in range(n):
            ward, dose = int(rng.integers(2)), float(rng.uniform(-1, 1))
            y = 0.55 * (1 - 2 * ward) + 0.4 * dose
            rows.append((f"c{ward}", dose, float(rng.uniform(-1, 1)), "true", y))
        question = {"support_size": 2, "coef_bound": 1.2, "intercept": k > 1}
        data = data_of(rows, known, **question)
        assert data.meets_condition(), levels
        for other in HOSTILE:
            place = int(rng.integers(n))
            swapped = [*rows[:place], other, *rows[place + 1 :]]
            found.append((data, data_of(swapped, known, **question)))
    return tuple(found)


def exponential(data: Data) -> SupportMechanism:
    return ExponentialMechanism(data.instance, EPSILON)


def listed(data: Data) -> SupportMechanism:
    return TopR(pool_of(data, min(2, data.instance.number_of_supports)), EPSILON)


def searched(data: Data) -> SupportMechanism:
    return TopR(top_supports(data.instance, 2, tolerance=0.0), EPSILON)


def all_listed(data: Data) -> SupportMechanism:
    return TopR(pool_of(data, data.instance.number_of_supports), EPSILON)


def all_searched(data: Data) -> SupportMechanism:
    everything = data.instance.number_of_supports
    return TopR(top_supports(data.instance, everything, tolerance=0.0), EPSILON)


@pytest.mark.deep
@pytest.mark.parametrize("build", [exponential, listed, searched, all_listed])
def test_no_raw_row_tells_more_than_epsilon(build: Build) -> None:
    assert len(pairs()) > 200
    assert loss_of(build, pairs()) <= EPSILON * ROUNDING
    assert loss_of(build, [mirrored(2), mirrored(200)]) <= EPSILON * ROUNDING


def test_pools_that_are_wrong_within_their_tolerance() -> None:
    for late, seed in ((0.6, 1), (1.0, 2)):

        def build(data: Data, late: float = late, seed: int = seed) -> SupportMechanism:
            size = min(2, data.instance.number_of_supports)
            return TopR(pool_of(data, size, 1.0, late=late, seed=seed), EPSILON)

        assert loss_of(build, pairs()) <= EPSILON * ROUNDING


@pytest.mark.parametrize("levels", [2, 200])
@pytest.mark.parametrize("build", [exponential, all_listed, all_searched])
def test_the_audit_uses_most_of_epsilon_and_half_of_the_sensitivity_fails(
    levels: int, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert loss_of(build, [mirrored(levels)]) > 0.8 * EPSILON
    for paid in ("sensitivity", "oscillation"):
        halve = partial(lambda right, self: right(self) / 2.0, getattr(Instance, paid).fget)
        monkeypatch.setattr(Instance, paid, property(halve))
    halved = tuple(Data(member.instance.with_support_size(1)) for member in mirrored(levels))
    assert loss_of(build, [halved]) > 1.5 * EPSILON


def test_mistakes_is_private_on_its_condition() -> None:
    for levels in (levels_of, lambda data: mistake_levels(data.instance, tolerance=0.0)):

        def build(data: Data, levels: Any = levels) -> SupportMechanism:
            return Mistakes(levels(data), EPSILON)

        assert loss_of(build, separated()) <= EPSILON * ROUNDING


def test_mistakes_with_its_test_is_private_on_all_tables() -> None:
    delta = 1e-3
    for data, other in (*pairs()[::3], *separated(), mirrored(200)):
        laws = [
            log_probabilities(
                Mistakes(
                    levels_of(member),
                    0.6,
                    test_epsilon=0.4,
                    delta=delta,
                    fallback=pool_of(member, 2),
                ),
                member,
            )
            for member in (data, other)
        ]
        assert excess(*laws, EPSILON) <= delta


def grouped(x: list[float]) -> Data:
    """One feature of three columns and twelve of one, s = 1; other rows pin the coefficients.

    `x` is the first row, with one number for all of the twelve.
    """
    X = np.tile([0.8, 0.6, 0.0, *[1.0] * 12], (41, 1))
    X[0] = [*x[:3], *x[3:] * 12]
    return Data(
        Instance(
            X, np.ones(41), support_size=1, x_bound=1.0, y_bound=1.0, coef_bound=0.6, ridge=1e-3,
            groups=[[0, 1, 2], *([j] for j in range(3, 15))],
        )
    )  # fmt: skip


def test_rows_that_are_too_long_are_shortened_or_the_audit_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    far = ([90.0, 80.0, 0.0, -1.0], [-90.0, -80.0, 0.0, 1.0])
    assert 0.8 < loss_of(exponential, [(grouped(far[0]), grouped(far[1]))]) <= ROUNDING

    def careless(block: Any, bound: float, *, out: Any) -> None:
        # Every entry by itself, as for single columns.
        np.clip(block, -bound, bound, out=out)

    monkeypatch.setattr(layout, "shortened", careless)
    corner = ([1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, -1.0, 1.0])
    assert loss_of(exponential, [(grouped(corner[0]), grouped(corner[1]))]) > ROUNDING
    monkeypatch.setattr(layout, "shortened", lambda block, bound, *, out: np.copyto(out, block))
    near = ([1.6, 1.2, 0.0, -1.0], [-1.6, -1.2, 0.0, 1.0])
    assert loss_of(exponential, [(grouped(near[0]), grouped(near[1]))]) > 1.2
