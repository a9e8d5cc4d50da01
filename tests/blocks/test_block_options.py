"""The public rule for the score of a draw from blocks: nothing of it looks at a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mipselect import BlockScores, Instance
from mipselect.planning import Question
from mipselect.problem.block_scores import BlockOptions
from mipselect.problem.problem import Problem
from mipselect.tables import instances
from mipselect.tables.instances import ScoredTable
from mipselect.tables.public_map import TableQuestion
from mipselect.tables.schema import TableSchema


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
    problem = BlockOptions(**options).scored(columns(p, s), n)
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
    planned = Question(schema=known, target=target, rows=400, support_size=1)
    assert planned.blocks(1.0, "blocks").block_rows == (3 if target == "code" else 2)


def reader(table: pd.DataFrame) -> pa.RecordBatchReader:
    """A source that can be read once only."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    return pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches())


@pytest.mark.parametrize(("levels", "score"), [(4, None), (15, None), (15, "blocks")])
def test_a_stream_is_read_once(levels: int, score: str | None) -> None:
    n = 3000
    options = BlockOptions(score=score, partitions=2, partition_seed=3)
    made, same = (
        ScoredTable(source, TableQuestion(schema(levels), "y"), 1, {}, options).made()
        for source in (reader(frame(levels, n)), frame(levels, n))
    )
    assert made.problem.score == same.problem.score == (score or "block-r2")
    supports = np.arange(made.n_features)[:, None]
    assert made.prepared.values(supports).tolist() == same.prepared.values(supports).tolist()


@pytest.mark.parametrize(("levels", "score"), [(4, "block-r2"), (15, "blocks"), (15, None)])
@pytest.mark.parametrize("always", [(), ("code",), ("b",)])
def test_people_are_read_once(
    levels: int, score: str | None, always: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is made is what the two constructors make."""

    class Kept:
        def shuffle(self, order: list[int]) -> None:
            order.reverse()

    monkeypatch.setattr(instances.random, "SystemRandom", Kept)
    table = frame(levels, 700)
    table["who"] = np.arange(700)
    several = pd.concat([table, table.iloc[:50]])
    question: dict[str, Any] = {"target": "y", "support_size": 1, "always": always}
    blocks: dict[str, Any] = {"partitions": 3, "partition_seed": 2}
    made = ScoredTable(
        reader(several),
        TableQuestion(of_people(levels), "y", always),
        1,
        {},
        BlockOptions(score=score, **blocks),
    ).made()
    assert made.n == 700
    if isinstance(made, BlockScores):
        assert score in ("block-r2", None)
        same = Instance.from_table(
            several, of_people(levels), **question, **blocks, score="block-r2"
        )
        assert made.counts.tolist() == same.counts.tolist()
    else:
        other = Instance.from_table(
            several, of_people(levels), **question, **blocks, score="blocks"
        )
        supports = [[j] for j in range(made.n_features)]
        assert made.objectives(supports).tolist() == other.objectives(supports).tolist()
        assert made.problem.public() == other.problem.public()
