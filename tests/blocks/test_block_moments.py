"""Sums over the rows of blocks: by hand in integers, from every source, and their values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from mipselect import Instance, top_supports
from mipselect.blocks import partitions
from mipselect.blocks.normalised import ColumnsOfFeatures, normalised
from mipselect.blocks.partitions import Blocks
from mipselect.errors import InvalidInput
from mipselect.tables import TableSchema
from mipselect.tables.mapping import open_table, read_rows
from mipselect.tables.moments import Moments, block_sums
from mipselect.tables.moments.columns import ArrayBlockColumns, TableBlockColumns
from mipselect.tables.moments.sums import ONE
from mipselect.tables.public_map import TableQuestion
from tests.support.ball import least
from tests.support.hostile_blocks import hostile_rows
from tests.support.one_table import CONTENT, table

WITHOUT_RANGES = TableSchema.of(
    {**CONTENT, "fields": [
        {key: value for key, value in field.items() if key != "constraints"}
        for field in CONTENT["fields"]
    ]}
)  # fmt: skip
QUESTION = {"groups": [[0, 2], [1], [3, 4, 5]], "always": [6]}


def by_hand(rows: np.ndarray, blocks: Blocks, columns: ColumnsOfFeatures) -> np.ndarray:
    """The sums block by block, in Python's integers."""
    size = rows.shape[1]
    total = np.zeros((size + 1, size + 1), dtype=object)
    total[0, 0] = len(rows) * ONE
    ordered = rows[blocks.order(0, len(rows))] if len(rows) > blocks.window else rows
    for number, start in enumerate(range(0, len(rows), blocks.window)):
        window = ordered[start : start + blocks.window]
        for part in blocks.of_window(number, len(window)):
            for block in part:
                units = normalised(window, block[None], columns).astype(int).astype(object)
                total[1:, 1:] += units.T @ units
    return total


def numbers(n: int = 101, p: int = 7, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Finite hostile columns, and a target."""
    rows = np.nan_to_num(hostile_rows(np.random.default_rng(seed), n, p + 1))
    return rows[:, :p], rows[:, p]


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows, chunks, cached pieces and exact sums of a few blocks, by three threads."""
    monkeypatch.setattr(partitions, "WINDOW", 43)
    monkeypatch.setattr(block_sums, "CHUNK_ENTRIES", 1)
    monkeypatch.setattr(block_sums, "CHUNK_BLOCKS", 3)
    monkeypatch.setattr(block_sums, "CACHED_ENTRIES", 40)
    monkeypatch.setattr(block_sums, "cores", lambda: 3)
    for name in ("SIGNS", "ON_GRID"):
        few = replace(getattr(block_sums, name), most_blocks=4)
        monkeypatch.setattr(block_sums, name, few)


@pytest.mark.parametrize("question", [{}, QUESTION])
@pytest.mark.parametrize("rows", [2, 3, 5])
def test_arrays(rows: int, question: dict[str, Any], small_pieces: None) -> None:
    for seed in range(6):
        X, y = numbers(seed=seed)
        instance = Instance.from_blocks(
            X, y, support_size=2, block_rows=rows, partitions=3, partition_seed=seed, **question
        )
        moments = instance.moments
        assert moments is not None
        assert isinstance(moments.columns, ArrayBlockColumns)
        ordered = np.column_stack([X[:, instance.layout.order], y])
        blocks = Blocks(rows, 3, seed)
        assert blocks.window < 44
        assert (moments.matrix == by_hand(ordered, blocks, moments.columns.parts)).all()
        assert instance.n == 101


def test_one_size_of_pieces_is_as_good_as_another(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """But for windows, which are public and part of the law."""
    X, y = numbers(3000)

    def matrix(rows: int, **question: Any) -> np.ndarray:
        found = Instance.from_blocks(
            X, y, support_size=2, block_rows=rows, partitions=2, partition_seed=5, **question
        ).moments
        assert found is not None
        return found.matrix

    wanted = [matrix(2), matrix(4), matrix(2, **QUESTION), matrix(3, **QUESTION)]
    request.getfixturevalue("small_pieces")
    monkeypatch.setattr(partitions, "WINDOW", 1 << 16)
    found = [matrix(2), matrix(4), matrix(2, **QUESTION), matrix(3, **QUESTION)]
    assert all((one == other).all() for one, other in zip(wanted, found, strict=True))


def in_batches(X: np.ndarray, y: np.ndarray, size: int) -> Iterator[Any]:
    return ((X[k : k + size], y[k : k + size]) for k in range(0, len(y), size))


@pytest.mark.parametrize("rows", [2, 3])
def test_batches_and_frames(rows: int, small_pieces: None) -> None:
    X, y = numbers()
    names = tuple(f"x{j}" for j in range(7))
    singles = tuple((j,) for j in range(7))
    columns = ArrayBlockColumns(names, singles, (), names, Blocks(rows, 2, seed=9))
    wanted = Moments.of_blocks((X, y), columns)
    for size in (1, 10, 43, 100):
        found = Moments.of_blocks(in_batches(X, y, size), columns)
        assert (found.matrix == wanted.matrix).all()
    frame = pd.DataFrame(X, columns=list(names))
    assert (Moments.of_blocks((frame, y), columns).matrix == wanted.matrix).all()
    instance = Instance.from_blocks(
        frame, pd.Series(y), support_size=1, block_rows=rows, partitions=2, partition_seed=9
    )
    assert instance.moments is not None
    assert (instance.moments.matrix == wanted.matrix).all()


def sources(folder: Path, whole: pa.Table) -> dict[str, Any]:
    """The same rows in the same order."""
    parquet.write_table(whole, folder / "one.parquet", row_group_size=7)
    csv.write_csv(whole, folder / "one.csv")
    parts = folder / "parts"
    parts.mkdir()
    for k, start in enumerate(range(0, len(whole), 40)):
        parquet.write_table(whole.slice(start, 40), parts / f"{k}.parquet", row_group_size=11)
    return {
        "table": whole,
        "stream": whole.to_reader(max_chunksize=13),
        "frame": whole.to_pandas(),
        "Parquet": folder / "one.parquet",
        "CSV": folder / "one.csv",
        "folder": parts,
        "list": [whole.slice(0, 30), whole.slice(30)],
        "iterator": iter([whole.slice(0, 99), whole.slice(99)]),
    }


@pytest.mark.parametrize("rows", [2, 4])
def test_tables_from_every_source(rows: int, tmp_path: Path, small_pieces: None) -> None:
    whole = table(150)
    columns = TableBlockColumns(TableQuestion(WITHOUT_RANGES, "stay"), Blocks(rows, 2, seed=3))
    X, y, _ = read_rows(open_table(whole, columns.public), columns.public)
    assert np.isnan(X).any()
    assert np.isnan(y).any()
    wanted = by_hand(np.column_stack([X, y]), columns.blocks, columns.parts)
    for name, source in sources(tmp_path, whole).items():
        assert (Moments.of_blocks(source, columns).matrix == wanted).all(), name
    instance = Instance.from_table(
        whole, WITHOUT_RANGES, target="stay", support_size=2, always=["dose"],
        block_rows=rows, partitions=2, partition_seed=3, score="blocks",
    )  # fmt: skip
    assert instance.moments is not None
    assert (instance.moments.matrix == wanted).all()
    assert instance.feature_names == ("age", "ward", "smoker")


def test_a_missing_place_among_ordered_categories_is_missing() -> None:
    """As a missing number is: not a value in the middle."""
    field = {"name": "stage", "type": "string", "categories": ["i", "ii", "iii"],
             "categoriesOrdered": True}  # fmt: skip
    schema = TableSchema.of({"fields": [field, {"name": "y", "type": "number"}]})
    rows = pa.table({"stage": ["iii", None, "i"], "y": [1.0, 2.0, 3.0]})
    columns = TableBlockColumns(TableQuestion(schema, "y"), Blocks(3, 1, seed=0))
    X, _, _ = read_rows(open_table(rows, columns.public), columns.public)
    assert np.array_equal(X, [[1.0, 0.0], [np.nan, 1.0], [-1.0, 0.0]], equal_nan=True)


def test_a_saved_file_and_sites_that_are_added(tmp_path: Path) -> None:
    X, y = numbers(400)
    parts = [
        Instance.from_blocks(X[part], y[part], support_size=2, partitions=3).moments
        for part in (slice(0, 150), slice(150, 400))
    ]
    assert parts[0] is not None
    assert parts[1] is not None
    parts[0].save(tmp_path / "one.npz")
    total = Moments.load(tmp_path / "one.npz") + parts[1]
    assert (total.matrix == parts[0].matrix + parts[1].matrix).all()
    assert total.n == 400
    total.save(tmp_path / "all.npz")
    again = Moments.load(tmp_path / "all.npz")
    assert (again.matrix == total.matrix).all()
    instance = Instance.from_moments(again, support_size=2)
    assert instance.sensitivity == Instance.from_blocks(X, y, support_size=2).sensitivity
    assert top_supports(instance, 3).certified


def test_sums_of_other_blocks_are_not_added() -> None:
    X, y = numbers()
    one = Instance.from_blocks(X, y, support_size=2).moments
    assert one is not None
    for options in ({"block_rows": 3}, {"partitions": 4}, {"groups": [[0, 1], [2, 3, 4, 5, 6]]}):
        other = Instance.from_blocks(X, y, support_size=2, **options).moments
        with pytest.raises(InvalidInput, match="cannot be added"):
            _ = one + other
    with pytest.raises(InvalidInput, match="cannot be added"):
        _ = one + Moments.of((X, y), x_bound=1.0, y_bound=1.0)


def test_more_blocks_than_fit_are_refused(tmp_path: Path) -> None:
    """Also of sites that are added, and of a file."""
    columns = ArrayBlockColumns(("a",), ((0,),), (), ("a",), Blocks(2, 1024, seed=0))

    def site(n: int) -> Moments:
        totals = np.zeros((1, 3, 3), dtype=np.int64)
        totals[0, 0, 0] = n * ONE
        return Moments(columns, totals)

    most = 2 * ((2**31 - 1) // 1024)
    assert site(most).n == most
    with pytest.raises(InvalidInput, match="fewer partitions than 1024"):
        site(most + 2)
    with pytest.raises(InvalidInput, match="fewer partitions"):
        _ = site(most) + site(2)
    site(most).save(tmp_path / "m.npz")
    assert Moments.load(tmp_path / "m.npz").n == most
    with pytest.raises(InvalidInput, match="1 row is no block of 2 rows: there must be at least 2"):
        site(1)


@pytest.mark.parametrize("entries", [block_sums.SIGNS, block_sums.ON_GRID])
def test_sums_are_exact_up_to_their_limit(entries: block_sums.Entries) -> None:
    """Where every product is as large as it can be, but for one that makes the sum odd."""
    largest = 1.0 if entries is block_sums.SIGNS else 2.0**16
    rows = np.full((1 << 14, 1), largest, dtype=entries.type)
    sums = block_sums.PartialSums(1, entries)
    for _ in range((entries.most_blocks >> 14) - 1):
        sums.add(rows, len(rows))
    rows[-1] -= 1.0
    sums.add(rows, len(rows))
    totals = np.zeros((1, 1), dtype=np.int64)
    sums.move_to(totals)
    last = int(rows[-1, 0]) ** 2 * entries.unit
    assert totals[0, 0] == (entries.most_blocks - 1) * ONE + last
    # Nothing is left for the next sum.
    sums.add(rows[:1], 1)
    sums.move_to(totals)
    assert totals[0, 0] == entries.most_blocks * ONE + last


@pytest.mark.parametrize("radius", [None, 0.05, 10.0])
@pytest.mark.parametrize("rows", [2, 4])
def test_values_are_those_of_the_normalised_rows(rows: int, radius: float | None) -> None:
    """R(S) from its definition, with a mean over m blocks and T partitions."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((61, 7))
    y = np.exp(X[:, 1] - X[:, 4] + rng.standard_normal(61))
    T = 3
    instance = Instance.from_blocks(
        X, y, support_size=2, block_rows=rows, partitions=T, partition_seed=2, ridge=0.7,
        coef_bound=radius, **QUESTION,
    )  # fmt: skip
    ordered = np.column_stack([X[:, instance.layout.order], y])
    blocks = np.vstack(list(Blocks(rows, T, 2).of_window(0, 61)))
    assert instance.moments is not None
    Z = normalised(ordered, blocks, instance.moments.columns.parts) / 2.0**16
    starts = instance.layout.features.starts
    m = 61 // rows
    for support in ((0, 1), (0, 2), (1, 2)):
        inside = [j for f in support for j in range(starts[f], starts[f + 1])]
        inside += [6]  # Always in, last in the order.
        G, b = Z[:, inside].T @ Z[:, inside] / T, Z[:, inside].T @ Z[:, -1] / T
        total = Z[:, -1] @ Z[:, -1] / T + least(G, b, 0.7, instance.coef_bound)
        assert instance.objective(support) == pytest.approx(total / (2 * m), rel=1e-9)


def test_two_rows_a_block_are_kendalls_correlation() -> None:
    """Over all pairs of a few rows: the mean over many partitions is τ."""
    from scipy.stats import kendalltau

    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((10, 2)), rng.standard_normal(10)
    instance = Instance.from_blocks(X, y, support_size=1, partitions=1024, partition_seed=0)
    assert instance.moments is not None
    tau = instance.moments.matrix[1:, 1:] / (5 * 1024 * ONE)
    rows = np.column_stack([X, y])
    for j in range(3):
        for k in range(3):
            wanted = kendalltau(rows[:, j], rows[:, k]).statistic
            assert tau[j, k] == pytest.approx(wanted, abs=0.06)
