"""Public rules of blocks: which score, one row of each person, in an order without the table."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mipselect import ExponentialMechanism, Instance
from mipselect.blocks.scores import BlockOptions
from mipselect.errors import InvalidInput
from mipselect.problem.block_scores import scored
from mipselect.problem.problem import Problem
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema, instances
from mipselect.tables.instances import ScoredTable
from mipselect.tables.public_map import TableQuestion


def columns(p: int, support_size: int) -> Problem:
    return Problem.of_columns(p, None, support_size=support_size, loss=None)


def schema(levels: int) -> TableSchema:
    code = {"name": "code", "type": "string", "categories": [f"c{k}" for k in range(levels)]}
    numbers = [{"name": name, "type": "number"} for name in ("a", "b", "y")]
    return TableSchema.of({"fields": [code, *numbers]})


def of_people(levels: int) -> TableSchema:
    fields = [{"name": "who", "type": "integer"}, *schema(levels).content["fields"]]
    return TableSchema.of({"csvw-eo:privacyUnit": "who", "fields": fields})


def frame(levels: int, n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    codes = [f"c{k}" for k in rng.integers(levels, size=n)]
    return pd.DataFrame({"code": codes, "a": X[:, 0], "b": X[:, 1], "y": X.sum(axis=1)})


@pytest.mark.parametrize(
    ("p", "s", "n", "options", "score"),
    [
        (12, 3, 5000, {}, "block-r2"),
        (12, 3, None, {}, "block-r2"),
        (12, 3, 11, {}, "blocks"),
        (12, 3, 5000, {"lists": False}, "blocks"),
        (12, 3, 5000, {"ridge": 2.0}, "blocks"),
        (12, 3, 5000, {"coef_bound": 0.4}, "blocks"),
        (12, 3, 5000, {"block_rows": 5}, "blocks"),
        (12, 3, 5000, {"block_rows": 6}, "block-r2"),
        (100, 5, 5000, {}, "blocks"),
        (60, 3, 5000, {}, "block-r2"),
        (60, 3, 5_000_000, {}, "blocks"),
        (12, 3, 5000, {"score": "blocks"}, "blocks"),
        (12, 3, 5000, {"score": "block-r2", "block_rows": 8}, "block-r2"),
    ],
)
def test_the_rule_of_columns_of_numbers(
    p: int, s: int, n: int | None, options: dict[str, Any], score: str
) -> None:
    problem = scored(BlockOptions(**options), columns(p, s), n)
    assert problem.score == score
    assert (problem.loss is None) is (score == "block-r2")
    assert problem.relations == ("replace-one",)


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize(
    ("options", "target", "rows"),
    [({}, "code", 3), ({}, "y", 2), ({"block_rows": 2}, "code", 2), ({"block_rows": 5}, "y", 5)],
)
def test_least_squares_has_three_rows_a_block_where_a_target_has_two_classes(
    options: dict[str, Any], target: str, rows: int, people: bool
) -> None:
    chosen, table, known = BlockOptions(score="blocks", **options), frame(2, 400), schema(2)
    if people:
        table["who"], known = np.arange(400), of_people(2)
    question = TableQuestion(known, target)
    made = ScoredTable(table, question, 1, {}, chosen).made()
    problem, _ = ScoredTable(table, question, 1, {}, chosen).problem()
    assert isinstance(made, Instance)
    assert made.problem.blocks is not None
    assert made.problem.blocks.rows == problem.blocks.rows == rows


def reader(table: pd.DataFrame) -> pa.RecordBatchReader:
    """A source that can be read once only."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    return pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches())


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize(("levels", "score"), [(4, "block-r2"), (15, "blocks"), (15, None)])
@pytest.mark.parametrize("always", [(), ("code",), ("b",)])
def test_a_stream_is_read_once(
    always: tuple[str, ...],
    levels: int,
    score: str | None,
    people: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is made, of people too, is what the constructor makes."""

    class Kept:
        def shuffle(self, order: list[int]) -> None:
            order.reverse()

    monkeypatch.setattr(instances.random, "SystemRandom", Kept)
    known, table = (of_people if people else schema)(levels), frame(levels, 700)
    if people:
        table["who"] = np.arange(700)
        table = pd.concat([table, table.iloc[:50]])
    blocks: dict[str, Any] = {"partitions": 3, "partition_seed": 2}
    question, asked = TableQuestion(known, "y", always), BlockOptions(score=score, **blocks)
    made = ScoredTable(reader(table), question, 1, {}, asked).made()
    assert made.n == 700
    of = made.problem.score
    assert score in (of, None)
    given: dict[str, Any] = {"target": "y", "support_size": 1, "always": always, "score": of}
    same = Instance.from_table(table, known, **given, **blocks)
    supports = np.arange(made.n_features)[:, None]
    assert made.prepared.values(supports).tolist() == same.prepared.values(supports).tolist()
    assert made.problem.public() == same.problem.public()


FIELDS = [{"name": "who", "type": "string"}, *({"name": name, "type": "number"} for name in "abcy")]
SCHEMA = TableSchema.of({"csvw-eo:privacyUnit": "who", "fields": FIELDS})
Row = tuple[str, float, float, float, float]

TABLE: list[Row] = [
    ("p", 1.0, 4.0, 2.0, 1.0),
    ("q", 2.0, 3.0, 9.0, 2.0),
    ("p", 7.0, 0.0, 1.0, -3.0),
    ("r", 3.0, 2.0, 4.0, 3.0),
    ("t", 4.0, 1.0, 7.0, 4.0),
    ("q", 0.0, 0.0, 0.0, 0.0),
]
MOVED: list[Row] = [("q", 5.0, -3.0, -8.0, 5.0), *(row for row in TABLE if row[0] != "q")]
"""Another person q, whose row stands first: all others move by one place."""


def arrow(rows: list[Row]) -> pa.Table:
    names = [field["name"] for field in FIELDS]
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def instance(rows: list[Row], **options: Any) -> Instance:
    given: dict[str, Any] = {"support_size": 1, "partitions": 1, "partition_seed": 0} | options
    return Instance.from_table(arrow(rows), SCHEMA, target="y", **given, score="blocks")


class Order:
    """In place of the operating system: one order of the people."""

    def __init__(self, order: tuple[int, ...]) -> None:
        self._order = order

    def __call__(self) -> Order:
        return self

    def shuffle(self, given: list[int]) -> None:
        given[:] = [given[k] for k in self._order]


def laws(rows: list[Row], monkeypatch: pytest.MonkeyPatch, epsilon: float) -> np.ndarray:
    """The law of the draw for each order of four people, shape (24, 3)."""
    found = []
    for order in permutations(range(4)):
        monkeypatch.setattr(instances.random, "SystemRandom", Order(order))
        mechanism = ExponentialMechanism(instance(rows), epsilon)
        found.append([np.exp(mechanism.log_probability((j,))) for j in range(3)])
    return np.array(found)


def test_a_person_may_stand_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mixture over all orders does not depend on the order of the table, and is private."""
    epsilon = 2.0
    one, other = laws(TABLE, monkeypatch, epsilon), laws(MOVED, monkeypatch, epsilon)
    back = laws([*(row for row in TABLE if row[0] != "p"), *TABLE[:1]], monkeypatch, epsilon)
    assert one.mean(axis=0) == pytest.approx(back.mean(axis=0), rel=1e-12)
    assert not np.allclose(one[0], back[0], rtol=1e-3)
    assert np.abs(np.log(one.mean(axis=0)) - np.log(other.mean(axis=0))).max() <= epsilon
    orders = {order: k for k, order in enumerate(permutations(range(4)))}
    for order, k in orders.items():
        # Places of p, q, r, t among the people of the other table: q, p, r, t.
        matched = tuple({0: 1, 1: 0, 2: 2, 3: 3}[place] for place in order)
        assert np.abs(np.log(one[k]) - np.log(other[orders[matched]])).max() <= epsilon


def test_one_row_stays_of_each_person() -> None:
    """n counts people; which row stays is a public rule."""
    for rule in ("first", "last", "mean"):
        found = instance(TABLE, unit_rule=rule)
        assert found.n == 4
        assert found.data.moments is not None
    rows = [row for row in TABLE if row != TABLE[2] and row != TABLE[5]]
    one, other = (
        instance(table, partitions=1024).objectives([[0], [1], [2]]) for table in (TABLE, rows)
    )
    # Of all three partitions of four people there are enough among 1024.
    assert one == pytest.approx(other, abs=0.1)
    last = instance(TABLE, partitions=1024, unit_rule="last").objectives([[0], [1], [2]])
    assert np.abs(last - other).max() > 0.1


def test_a_rule_needs_people() -> None:
    without = TableSchema.of({"fields": FIELDS})
    with pytest.raises(InvalidInput, match="needs csvw-eo:privacyUnit"):
        Instance.from_table(
            arrow(TABLE), without, target="y", support_size=1, never=["who"],
            unit_rule="last", score="blocks",
    )  # fmt: skip


def test_a_seed_of_draws_that_are_not_private_orders_people_too() -> None:
    def drawn(options: BlockOptions) -> bytes:
        made = ScoredTable(arrow(TABLE), TableQuestion(SCHEMA, "y"), 1, {}, options).made()
        assert isinstance(made, Instance)
        assert made.data.moments is not None
        return made.data.moments.matrix.tobytes()

    asked = BlockOptions(score="blocks", partitions=1)
    assert len({drawn(replace(asked, partition_seed=1, order_seed=1)) for _ in range(60)}) == 1
    assert len({drawn(replace(asked, partition_seed=1)) for _ in range(60)}) >= 2
    selector = PermuteAndFlipSelector(1, score="blocks", partitions=1)
    assert len({drawn(selector.block_options(random.Random(3))) for _ in range(60)}) == 1
    assert selector.block_options(random.SystemRandom()).order_seed is None
