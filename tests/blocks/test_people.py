"""Several rows of one person: one row each, in an order that has nothing to do with the table."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect import ExponentialMechanism, Instance
from mipselect.errors import InvalidInput
from mipselect.problem.block_scores import BlockOptions
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema, instances
from mipselect.tables.instances import ScoredTable
from mipselect.tables.public_map import TableQuestion

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


def test_order_is_drawn_by_the_operating_system() -> None:
    """Also with a seed of the partitions."""
    seen = {instance(TABLE).data.moments.matrix.tobytes() for _ in range(60)}
    assert len(seen) >= 2  # There are three partitions of four people into pairs.


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
