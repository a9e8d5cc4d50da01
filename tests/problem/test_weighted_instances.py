"""R(S) with survey weights against weighted least squares by hand; moments and blocks."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet
from scipy.optimize import minimize

from mipselect import BlockScores, Instance
from mipselect.blocks.grid import GRID
from mipselect.blocks.normalised import ColumnsOfFeatures, normalised
from mipselect.blocks.scores import BlockOptions
from mipselect.errors import InvalidInput
from mipselect.tables import TableSchema
from mipselect.tables.instances import ScoredTable
from mipselect.tables.moments import Moments
from mipselect.tables.public_map import TableQuestion
from tests.support.by_cvxpy import least
from tests.support.exact_audit import Data
from tests.support.mapped_tables import map_table
from tests.support.weighted_tables import (
    MOST,
    PLAIN,
    WEIGHTED,
    Row,
    drawn,
    share_of,
    table_of,
)

ASKED: dict[str, Any] = {"target": "y", "support_size": 2, "ridge": 0.5, "coef_bound": 0.6}


def instance_of(rows: list[Row], known: TableSchema = WEIGHTED, **more: Any) -> Instance:
    return Instance.from_table(table_of(rows, known), known, **{**ASKED, **more})


def by_hand(instance: Instance, support: tuple[int, ...], weights: np.ndarray) -> float:
    """min over the ball of (1/2n) Σ w (y - xβ)² + (λ/2n)‖β‖²."""
    n, chosen = instance.n, [c for j in support for c in instance.layout.groups[j]]
    fixed = [c for part in instance.layout.always for c in part]
    X = np.column_stack([instance.X[:, [*chosen, *fixed]].astype(float), np.ones(n)])
    G, b = X.T @ (weights[:, None] * X), X.T @ (weights * instance.y)
    rest = least(G, b, instance.ridge, instance.coef_bound)
    return (float(weights @ instance.y**2) + rest) / (2 * n)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("always", [[], ["smoker"]])
def test_every_value_is_that_of_weighted_least_squares(seed: int, always: list[str]) -> None:
    rng = np.random.default_rng(seed)
    rows = drawn(int(rng.choice([5, 40, 300])), rng)
    radius = float(rng.choice([0.3, 5.0]))
    instance = instance_of(rows, always=always, coef_bound=radius)
    weights = np.array([share_of(row[-1]) for row in rows])
    np.testing.assert_array_equal(instance.data.weights, weights)
    data = Data(instance)
    expected = [by_hand(instance, tuple(S), weights) for S in data.supports.tolist()]
    np.testing.assert_allclose(data.values, expected, rtol=1e-6, atol=1e-8)


def test_the_quantile_loss_by_an_independent_solver() -> None:
    rows = drawn(60, np.random.default_rng(1))
    instance = instance_of(rows, loss="quantile(0.8)", coef_bound=0.8)
    weights = np.array([share_of(row[-1]) for row in rows])

    def value(support: tuple[int, ...]) -> float:
        chosen = [c for j in support for c in instance.layout.groups[j]]
        X = np.column_stack([instance.X[:, chosen].astype(float), np.ones(instance.n)])

        def objective(beta: np.ndarray) -> float:
            errors = instance.y - X @ beta
            loss = np.maximum(0.8 * errors, -0.2 * errors)
            return float(weights @ loss + 0.25 * beta @ beta) / instance.n

        inside = {"type": "ineq", "fun": lambda beta: 0.64 - beta @ beta}
        best = min(
            minimize(objective, start, constraints=[inside], method="SLSQP",
                     options={"maxiter": 500, "ftol": 1e-12}).fun
            for start in np.random.default_rng(0).normal(size=(4, X.shape[1])) * 0.2
        )  # fmt: skip
        return float(best)

    for support in [(0, 1), (1, 2), (2, 3)]:
        found = instance.objective(support)
        assert found <= value(support) + 1e-9
        assert found == pytest.approx(value(support), abs=2e-4)


@pytest.mark.parametrize("loss", ["huber(0.5)", "huber"])
def test_other_losses_are_refused_before_a_row_is_read(loss: str) -> None:
    with pytest.raises(InvalidInput, match="go with the squared and the quantile loss"):
        Instance.from_table("no such file.csv", WEIGHTED, **{**ASKED, "loss": loss})


def test_the_sensitivity_is_that_without_weights() -> None:
    rows = drawn(50, np.random.default_rng(0))
    one, other = instance_of(rows), instance_of(rows, PLAIN)
    assert one.sensitivity == other.sensitivity
    assert one.oscillation == other.oscillation
    public = one.problem.public()
    assert (public["weight"], public["weight_bound"]) == ("w", MOST)
    assert "weight" not in other.problem.public()


def weighing(rows: list[Row], weight: Any) -> list[Row]:
    return [(*row[:-1], weight) for row in rows]


SCALED: dict[str, Any] = {"target": "y", "support_size": 2}


@pytest.mark.parametrize("weight", [MOST, "4.0", 1e12, "inf"])
def test_weights_at_their_maximum_change_no_bit(weight: Any) -> None:
    rows = weighing(drawn(300, np.random.default_rng(2)), weight)
    pairs = [(table_of(rows, known), known) for known in (WEIGHTED, PLAIN)]
    for loss in ("squared", "quantile(0.3)"):
        one, other = (
            Data(Instance.from_table(table, known, loss=loss, **SCALED)) for table, known in pairs
        )
        np.testing.assert_array_equal(one.values, other.values)
    for block_rows in (2, 3, 5):
        options = {"block_rows": block_rows, "partitions": 3, "partition_seed": 5}
        one, other = (
            Data(Instance.from_table(table, known, **SCALED, **options, score="blocks"))
            for table, known in pairs
        )
        np.testing.assert_array_equal(one.values, other.values)
    weighted, plain = (Moments.of(table, known, target="y") for table, known in pairs)
    rest = [k for k in range(weighted.p + 2) if k != weighted.p]
    np.testing.assert_array_equal(weighted.matrix[np.ix_(rest, rest)], plain.matrix)
    np.testing.assert_array_equal(weighted.matrix[weighted.p], weighted.matrix[0])
    of_moments = [Data(Instance.from_moments(m, support_size=2)) for m in (weighted, plain)]
    np.testing.assert_array_equal(of_moments[0].values, of_moments[1].values)


def test_a_row_of_weight_0_is_a_row_of_zeros() -> None:
    """It counts in n and nowhere else, whatever stands in it."""
    rows = drawn(30, np.random.default_rng(3))
    values = []
    for odd in (rows[0][:-1], ("c1", 1, -1, 1, "true", -1), (None,) * 6):
        for weight in (0, None, -3, "x"):
            values.append(Data(instance_of([(*odd, weight), *rows[1:]])).values)
    for other in values[1:]:
        np.testing.assert_array_equal(values[0], other)


def as_text(table: Any, folder: Path) -> Path:
    table.to_pandas().to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def test_files_streams_sites_and_clusters_have_the_same_bits(tmp_path: Path) -> None:
    table = table_of(drawn(700, np.random.default_rng(4)))
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=64)
    sources: list[Any] = [
        table,
        tmp_path / "t.parquet",
        as_text(table, tmp_path),
        table.to_reader(max_chunksize=17),
        [table.slice(0, 100), table.slice(100)],
        dask.dataframe.from_pandas(table.to_pandas(), npartitions=5),
    ]
    first, *others = (Moments.of(source, WEIGHTED, target="y") for source in sources)
    for other in others:
        np.testing.assert_array_equal(first.matrix, other.matrix)
    parts = [
        Moments.of(part, WEIGHTED, target="y") for part in (table.slice(0, 333), table.slice(333))
    ]
    np.testing.assert_array_equal(first.matrix, (parts[0] + parts[1]).matrix)
    first.save(tmp_path / "m.npz")
    read = Moments.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(first.matrix, read.matrix)
    assert read.n == 700
    assert read.columns.names[-1] == "w"
    folds = Moments.of(table, WEIGHTED, target="y", folds=4)
    np.testing.assert_array_equal(folds.matrix, first.matrix)


def test_moments_are_sums_of_rows_on_the_grid_by_hand() -> None:
    rows = drawn(200, np.random.default_rng(5))
    moments = Moments.of(table_of(rows), WEIGHTED, target="y")
    mapped = map_table(table_of(rows), WEIGHTED, target="y")
    roots = np.sqrt([share_of(row[-1]) for row in rows])
    scaled = np.column_stack([mapped.X, np.ones(200), mapped.y]) * roots[:, None]
    Z = np.column_stack([np.full(200, 2.0**16), np.trunc(scaled * 2.0**16)])
    np.testing.assert_array_equal(moments.matrix, (Z.T @ Z).astype(np.int64))
    asked = {key: value for key, value in ASKED.items() if key != "target"}
    of_moments = Data(Instance.from_moments(moments, **asked))
    of_rows = Data(instance_of(rows))
    np.testing.assert_allclose(of_moments.values, of_rows.values, rtol=1e-3, atol=1e-5)


def test_weights_of_people_in_moments() -> None:
    """One row of each person counts, by the weight of this row."""
    fields = [{"name": "who", "type": "string"}, *WEIGHTED.content["fields"]]
    people = TableSchema.of(
        {"csvw-eo:privacyUnit": "who", "missingValues": ["", "NA"], "fields": fields}
    )
    rows = drawn(60, np.random.default_rng(6))
    single = table_of(rows)
    again = table_of([*rows, *drawn(40, np.random.default_rng(7))])
    who = [f"p{k}" for k in range(60)]
    again = again.add_column(0, "who", [[*who, *who[:40]]])
    expected = Moments.of(single, WEIGHTED, target="y").matrix
    found = Moments.of(again, people, target="y").matrix
    np.testing.assert_array_equal(found, expected)


def block_value(rows: np.ndarray, shares: np.ndarray, instance: Instance,
                support: tuple[int, ...]) -> float:  # fmt: skip
    """R(S) from its definition: (1/mT) Σ w_i w_j ... ½‖y - Zβ‖² over blocks, and the ridge.

    The target is the last column. Two rows centred are a difference and its negative.
    """
    blocks, p = instance.problem.blocks, rows.shape[1] - 1
    assert blocks is not None
    m, single = len(rows) // blocks.rows, ColumnsOfFeatures(
        tuple((j,) for j in range(p + 1)), np.zeros(p + 1, dtype=bool)
    )  # fmt: skip
    M = np.zeros((p + 1, p + 1))
    for part in blocks.of_window(0, len(rows)):
        for block in part:
            if blocks.rows == 2:
                Z = np.sign(rows[block[0]] - rows[block[1]])[None, :]
            else:
                Z = normalised(rows, block[None, :], single) * GRID
            M += np.prod(shares[block]) * Z.T @ Z / blocks.partitions
    kept = list(support)
    rest = least(M[np.ix_(kept, kept)], M[kept, -1], instance.ridge, instance.coef_bound)
    return (float(M[-1, -1]) + rest) / (2 * m)


@pytest.mark.parametrize("block_rows", [2, 3, 4])
def test_a_block_counts_by_all_its_weights(block_rows: int) -> None:
    rng = np.random.default_rng(9)
    n = 120
    X, w = rng.standard_normal((n, 4)), rng.uniform(-1, 6, n)
    y = X[:, 0] - X[:, 2] + rng.standard_normal(n)
    known = TableSchema.of(
        {
            "fields": [
                *({"name": name, "type": "number", "constraints": {"required": True}}
                  for name in "abcdy"),
                {"name": "w", "type": "number", "mipselect:role": "weight",
                 "constraints": {"maximum": 4}},
            ]
        }
    )  # fmt: skip
    frame = pd.DataFrame({**{"abcd"[j]: X[:, j] for j in range(4)}, "y": y, "w": w})
    instance = Instance.from_table(
        frame, known, target="y", support_size=2, partition_seed=0, partitions=3,
        block_rows=block_rows, score="blocks",
    )  # fmt: skip
    shares = np.clip(w, 0, 4) / 4
    for support in itertools.combinations(range(4), 2):
        expected = block_value(np.column_stack([X, y]), shares, instance, support)
        assert instance.objective(support) == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_the_default_score_of_blocks_is_least_squares() -> None:
    rows = drawn(400, np.random.default_rng(10))
    question = TableQuestion(WEIGHTED, "y")
    plain = ScoredTable(
        table_of(rows, PLAIN), TableQuestion(PLAIN, "y"), 1, {}, BlockOptions()
    ).made()
    assert isinstance(plain, BlockScores)
    weighted = ScoredTable(table_of(rows), question, 1, {}, BlockOptions()).made()
    assert isinstance(weighted, Instance)
    assert weighted.problem.score == "blocks"
    problem, n = ScoredTable(table_of(rows), question, 1, {}, BlockOptions()).problem()
    assert (problem.score, problem.weight_bound, n) == ("blocks", MOST, 400)
    for asked in (
        lambda o: ScoredTable(table_of(rows), question, 1, {}, o).made(),
        lambda o: ScoredTable(None, question, 1, {}, o).problem(),
    ):
        with pytest.raises(InvalidInput, match="'block-r2' counts every row the same"):
            asked(BlockOptions(score="block-r2"))
