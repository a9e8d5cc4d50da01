"""Rank correlations of a table that is read in blocks: sensitivity, law and what is lost."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect.errors import InvalidInput
from mipselect.selectors import KendallSelector
from mipselect.selectors.kendall import BlockRankings, Rankings
from mipselect.tables import TableSchema
from mipselect.tables.streamed_rows import StreamedRows

UNIT = {"type": "number", "constraints": {"minimum": -1, "maximum": 1, "required": True}}
SCHEMA = TableSchema.of({"fields": [{"name": name, **UNIT} for name in ("a", "b", "c", "y")]})


def streamed(rows: np.ndarray, block: int, **question: Any) -> StreamedRows:
    table = pa.table({name: rows[:, j] for j, name in enumerate(("a", "b", "c", "y"))})
    asked = {"target": "y", "support_size": 2, **question}
    return StreamedRows.of(table, SCHEMA, block=block, **asked)


def drawn(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.choice([-1.0, -0.5, 0.0, 0.3, 1.0], (n, 4))


def test_blocks_do_not_depend_on_how_a_table_is_stored() -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (53, 4))
    table = pa.table({name: rows[:, j] for j, name in enumerate(("a", "b", "c", "y"))})
    for pieces in (table, [table.slice(0, 20), table.slice(20, 1), table.slice(21)]):
        found = list(
            StreamedRows.of(
                pieces, SCHEMA, target="y", support_size=1, always=["a"], block=10
            ).blocks()
        )
        assert [len(y) for _, y in found] == [10] * 5 + [3]
        assert np.vstack([X for X, _ in found]) == pytest.approx(rows[:, [1, 2, 0]])
        assert np.concatenate([y for _, y in found]) == pytest.approx(rows[:, 3])


def test_one_block_of_all_rows_is_kendalls_correlation() -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (60, 4)).astype(np.float32).astype(float)
    rankings = Rankings.of(rows, 0)
    taus = BlockRankings(streamed(rows, 60).blocks, 3, 5)
    assert taus.with_target() == pytest.approx(rankings.correlations(rankings.ranks[3])[:3])
    assert taus.with_column(1) == pytest.approx(rankings.correlations(rankings.ranks[1])[:3])


def test_a_replaced_row_moves_the_sum_by_two_at_most_and_can() -> None:
    largest = 0.0
    for seed in range(60):
        rows = drawn(9, seed)
        if seed % 3 == 0:
            rows = np.repeat(np.linspace(-1, 1, 9)[:, None], 4, axis=1)
        other = rows.copy()
        place = seed % 9
        other[place] = [-1, 1, -1, 1] if seed % 2 else [1, -1, 1, -1]
        for c in (-1, 0, 2):
            one, two = (BlockRankings(streamed(r, 4).blocks, 3, 7) for r in (rows, other))
            moved = [taus.with_target() if c < 0 else taus.with_column(c) for taus in (one, two)]
            largest = max(largest, float(np.abs(moved[0] - moved[1]).max()))
    assert 1.9 < largest <= 2.0 + 1e-12


@pytest.mark.parametrize("always", [[], ["c"]])
def test_a_draw_is_private(always: list[str]) -> None:
    worst = 0.0
    size = 2 - len(always)
    method = KendallSelector(epsilon=1.0, relation="replace-one")
    for seed in range(25):
        rows = drawn(7, seed)
        other = rows.copy()
        other[seed % 7] = -rows[seed % 7]
        laws = [
            method.of_blocks(streamed(r, 3, always=always, support_size=size), 0)
            for r in (rows, other)
        ]
        for support in itertools.combinations(range(3 - len(always)), size):
            logs = [law.log_probability(support) for law in laws]
            worst = max(worst, abs(logs[0] - logs[1]))
    assert 0.05 < worst <= 1.0 + 1e-9


def test_little_is_lost_between_blocks() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=4000)
    rows = np.clip(np.column_stack([x, x, x, 0.3 * x + rng.normal(size=4000)]) / 5, -1, 1)
    whole = BlockRankings(streamed(rows, 4000).blocks, 3, 1).with_target()
    blocks = BlockRankings(streamed(rows, 500).blocks, 3, 1).with_target()
    # 4000 τ/2 is about 370; the noise of a draw with ε = 1 is about 10.
    assert np.abs(whole - blocks).max() < 5.0


def test_what_is_wrong_is_one_line() -> None:
    rows = streamed(drawn(5, 0), 3)
    with pytest.raises(InvalidInput, match="replace-one only"):
        KendallSelector(epsilon=1.0, relation="add-remove").of_blocks(rows)
    table = pa.table({name: [0.0] for name in ("a", "b", "c", "y")})
    with pytest.raises(InvalidInput, match="an iterator is read once"):
        StreamedRows.of(iter([table]), SCHEMA, target="y", support_size=1)
    with pytest.raises(InvalidInput, match="block must be"):
        StreamedRows.of(table, SCHEMA, target="y", support_size=1, block=1)
    people = TableSchema.of({**SCHEMA.content, "csvw-eo:privacyUnit": "a"})
    with pytest.raises(InvalidInput, match="several blocks"):
        StreamedRows.of(table, people, target="y", support_size=1)
