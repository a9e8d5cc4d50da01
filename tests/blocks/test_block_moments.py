"""Sums over the rows of blocks by hand, from every source; draws from them, and refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from mipselect import ExponentialMechanism, Instance, top_supports
from mipselect.blocks import partitions
from mipselect.blocks.normalised import ColumnsOfFeatures, normalised
from mipselect.blocks.partitions import Blocks
from mipselect.errors import InvalidInput
from mipselect.tables import TableSchema, instances
from mipselect.tables.mapping import open_table, read_rows
from mipselect.tables.moments import ONE, BlockColumns
from mipselect.tables.public_map import TableQuestion
from tests.support.by_cvxpy import least
from tests.support.designs import random_block_instance
from tests.support.exact_audit import Data
from tests.support.hostile_blocks import hostile_rows
from tests.support.one_table import CONTENT, table
from tests.support.soft_draws import Judged

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
    ordered = rows[blocks.order(len(rows))] if len(rows) > blocks.window else rows
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
    monkeypatch.setattr(instances, "CHUNK_ENTRIES", 1)
    monkeypatch.setattr(instances, "CHUNK_BLOCKS", 3)
    monkeypatch.setattr(instances, "CACHED_ENTRIES", 40)
    monkeypatch.setattr(instances, "cores", lambda: 3)
    for name in ("SIGNS", "ON_GRID"):
        few = replace(getattr(instances, name), most_blocks=4)
        monkeypatch.setattr(instances, name, few)


@pytest.mark.parametrize("question", [{}, QUESTION])
@pytest.mark.parametrize("rows", [2, 3, 5])
def test_arrays(rows: int, question: dict[str, Any], small_pieces: None) -> None:
    for seed in range(6):
        X, y = numbers(seed=seed)
        instance = Instance.from_blocks(
            X, y, support_size=2, block_rows=rows, partitions=3, partition_seed=seed, **question
        )
        moments = instance.data.moments
        assert moments is not None
        assert isinstance(moments.columns, BlockColumns)
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
        ).data.moments
        assert found is not None
        return found.matrix

    wanted = [matrix(2), matrix(4), matrix(2, **QUESTION), matrix(3, **QUESTION)]
    request.getfixturevalue("small_pieces")
    monkeypatch.setattr(partitions, "WINDOW", 1 << 16)
    found = [matrix(2), matrix(4), matrix(2, **QUESTION), matrix(3, **QUESTION)]
    assert all((one == other).all() for one, other in zip(wanted, found, strict=True))


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
    }


@pytest.mark.parametrize("rows", [2, 4])
def test_tables_from_every_source(rows: int, tmp_path: Path, small_pieces: None) -> None:
    whole = table(150)
    public = TableQuestion(WITHOUT_RANGES, "stay", always=["dose"]).without_ranges
    X, y, _ = read_rows(open_table(whole, public), public)
    assert np.isnan(X).any()
    assert np.isnan(y).any()
    wanted = by_hand(np.column_stack([X, y]), Blocks(rows, 2, seed=3), public.parts)
    for name, source in sources(tmp_path, whole).items():
        instance = Instance.from_table(
            source, WITHOUT_RANGES, target="stay", support_size=2, always=["dose"],
            block_rows=rows, partitions=2, partition_seed=3, score="blocks",
        )  # fmt: skip
        assert instance.data.moments is not None
        assert (instance.data.moments.matrix == wanted).all(), name
        assert instance.feature_names == ("age", "ward", "smoker")


def test_a_missing_place_among_ordered_categories_is_missing() -> None:
    """As a missing number is: not a value in the middle."""
    field = {"name": "stage", "type": "string", "categories": ["i", "ii", "iii"],
             "categoriesOrdered": True}  # fmt: skip
    schema = TableSchema.of({"fields": [field, {"name": "y", "type": "number"}]})
    rows = pa.table({"stage": ["iii", None, "i"], "y": [1.0, 2.0, 3.0]})
    public = TableQuestion(schema, "y").without_ranges
    X, _, _ = read_rows(open_table(rows, public), public)
    assert np.array_equal(X, [[1.0, 0.0], [np.nan, 1.0], [-1.0, 0.0]], equal_nan=True)


def test_sums_are_not_kept(tmp_path: Path) -> None:
    """Those of two passes are of other partitions."""
    X, y = numbers()
    one = Instance.from_blocks(X, y, support_size=2).data.moments
    assert one is not None
    for act in (lambda: one.save(tmp_path / "m.npz"), lambda: one + one):
        with pytest.raises(InvalidInput, match="neither saved nor added"):
            act()
    with pytest.raises(InvalidInput, match=r"Instance\.from_blocks"):
        Instance.from_moments(one, support_size=2)
    assert not list(tmp_path.iterdir())


def test_more_blocks_than_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "MOST_ROWS", 10)
    for rows, refused in ((10, False), (12, True)):
        X, y = np.arange(rows)[:, None], np.arange(rows)
        if refused:
            with pytest.raises(InvalidInput, match="fewer partitions than 2"):
                Instance.from_blocks(X, y, support_size=1, partitions=2)
        else:
            assert Instance.from_blocks(X, y, support_size=1, partitions=2).n == rows
    with pytest.raises(InvalidInput, match="1 row is no block of 2 rows: there must be at least 2"):
        Instance.from_blocks([[1.0]], [1.0], support_size=1)


@pytest.mark.parametrize("entries", [instances.SIGNS, instances.ON_GRID])
def test_sums_are_exact_up_to_their_limit(entries: instances.Entries) -> None:
    """Where every product is as large as it can be, but for one that makes the sum odd."""
    largest = 1.0 if entries is instances.SIGNS else 2.0**16
    rows = np.full((entries.most_blocks, 1), largest, dtype=entries.type)
    rows[-1] -= 1.0
    last = int(rows[-1, 0]) ** 2 * entries.unit
    totals = np.array([[7]])
    instances.add_products(rows, totals, Lock())
    assert (totals[0, 0] - 7) * entries.unit == (entries.most_blocks - 1) * ONE + last


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
    assert instance.data.moments is not None
    Z = normalised(ordered, blocks, instance.data.moments.columns.parts) / 2.0**16
    starts = instance.layout.features.starts
    m = 61 // rows
    for support in ((0, 1), (0, 2), (1, 2)):
        inside = [j for f in support for j in range(starts[f], starts[f + 1])]
        inside += [6]  # Always in, last in the order.
        G, b = Z[:, inside].T @ Z[:, inside] / T, Z[:, inside].T @ Z[:, -1] / T
        total = Z[:, -1] @ Z[:, -1] / T + least(G, b, 0.7, instance.coef_bound)
        assert instance.objective(support) == pytest.approx(total / (2 * m), rel=1e-9)


def money(n: int = 400, p: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Money: two of the columns say something, and all are skewed."""
    rng = np.random.default_rng(0)
    X = np.exp(2.0 * rng.standard_normal((n, p)))
    return X, X[:, 1] * X[:, 4] * np.exp(rng.standard_normal(n))


def small(seed: int = 0, **options: Any) -> Instance:
    X, y = money(60, 6)
    given: dict[str, Any] = {"support_size": 2, "partitions": 2, "partition_seed": seed} | options
    return Instance.from_blocks(X, y, **given)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_law_is_the_stated_one(seed: int, epsilon: float) -> None:
    """∝ exp(-εR/2w), w = max(2U, (1 + U)²/2)/m or what a small U leaves of it."""
    data = Data(random_block_instance(seed))
    instance = data.instance
    blocks = instance.problem.blocks
    assert blocks is not None
    m, U = instance.n // blocks.rows, instance.problem.prediction_bound
    w = (2.0 * U if U <= 1.0 else 0.5 * (1.0 + U) ** 2) / m
    assert instance.oscillation == pytest.approx(w, rel=1e-14)
    logs = -epsilon * data.values / (2.0 * w)
    logs -= np.logaddexp.reduce(logs)
    mechanism = ExponentialMechanism(instance, epsilon)
    found = [mechanism.log_probability(support) for support in data.supports]
    assert found == pytest.approx(logs.tolist(), rel=1e-9, abs=1e-9)


def test_what_one_row_costs() -> None:
    """In the defaults: U = 0.75, w = 1.5/m and Δ = 1.75²/2m, m of the rows that fill blocks."""
    for rows, n in ((2, 60), (2, 61), (7, 60)):
        X, y = money(n, 6)
        instance = Instance.from_blocks(X, y, support_size=3, block_rows=rows)
        m = n // rows
        assert instance.problem.prediction_bound == pytest.approx(0.75)
        assert instance.ridge == 1.0
        assert instance.oscillation == pytest.approx(1.5 / m)
        assert instance.sensitivity == pytest.approx(1.75**2 / (2 * m))
    always = small(always=[5], support_size=2)
    assert always.coef_bound == pytest.approx(0.75 / math.sqrt(3.0))
    assert always.problem.prediction_bound == pytest.approx(0.75)
    X, y = money(60, 14)
    wide = Instance.from_blocks(X, y, support_size=1, groups=[range(12), [12], [13]])
    assert wide.problem.prediction_bound == pytest.approx(1.5)
    assert wide.oscillation == pytest.approx(0.5 * 2.5**2 / 30)


@pytest.mark.parametrize("block", range(6))
def test_cells_of_hostile_designs(block: int) -> None:
    """Bounds hold at every support, intervals contain the truth, and one try has the law."""
    for seed in range(8 * block, 8 * block + 8):
        rng = np.random.default_rng(seed)
        instance = random_block_instance(seed, max_p=6, max_s=3)
        options: dict[str, Any] = {}
        if seed % 2:
            options["sizes"] = sorted({1, min(2, instance.n_features), instance.support_size})
        if seed % 3 == 0:
            options["prior_weights"] = np.exp(rng.standard_normal(instance.n_features))
        epsilon = float(10.0 ** rng.uniform(-1.0, 1.5))
        judged = Judged(instance, epsilon, steps_before=seed % 4, **options)
        judged.check_cells()
        judged.check_intervals()
        if seed % 4 == 0:
            judged.check_sampler()


@pytest.mark.parametrize("b", [2, 3, 6])
def test_tables_on_which_nothing_can_be_seen(b: int) -> None:
    """Constant columns, a constant target, one huge value: a law, and never an error."""
    X = np.ones((13, 4))
    for y in (np.zeros(13), np.arange(13.0), np.where(np.arange(13) == 3, 1e300, 0.0)):
        instance = Instance.from_blocks(X, y, support_size=2, block_rows=b)
        data = Data(instance)
        assert np.ptp(data.values) == 0.0
        mechanism = ExponentialMechanism(instance, 1.0)
        assert mechanism.log_probability((0, 3)) == pytest.approx(-math.log(6.0), abs=1e-12)
        assert len(top_supports(instance, 3)) == 3
        assert Judged(instance, 1.0).mechanism.sample(0) in map(tuple, data.supports.tolist())


def test_what_needs_rows_or_units_says_so() -> None:
    instance = small()
    for wanted in ("X", "y"):
        with pytest.raises(InvalidInput, match="no rows"):
            getattr(instance, wanted)
    with pytest.raises(InvalidInput, match="no unit of the table"):
        instance.fit_in_units([0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block_rows": 61}, "60 rows are no block of 61"),
        ({"ridge": -1.0}, "ridge"),
        ({"coef_bound": 0.0}, "coef_bound"),
        ({"support_size": 7}, "support_size"),
        ({"groups": [[0, 1], [1, 2]]}, "in groups.0. and in groups.1."),
    ],
)
def test_what_are_no_blocks_of_a_problem_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        small(**options)


def test_numbers_that_are_missing_in_arrays_are_refused() -> None:
    X, y = money(20, 5)
    X[4, 1] = np.nan
    with pytest.raises(InvalidInput, match="row 4"):
        Instance.from_blocks(X, y, support_size=1)
    with pytest.raises(InvalidInput, match="one value per row"):
        Instance.from_blocks(X[:3], y, support_size=1)
