"""Instances of blocks: their laws by enumeration and by cells, what they pay, what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mipselect import (
    ExponentialMechanism,
    Instance,
    top_supports,
)
from mipselect.errors import InvalidInput
from tests.support.block_pairs import SCHEMA, hostile_cells, table_of
from tests.support.designs import random_block_instance
from tests.support.exact_audit import Data
from tests.support.soft_draws import Judged


def numbers(n: int = 400, p: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Money: two of the columns say something, and all are skewed."""
    rng = np.random.default_rng(0)
    X = np.exp(2.0 * rng.standard_normal((n, p)))
    return X, X[:, 1] * X[:, 4] * np.exp(rng.standard_normal(n))


def small(seed: int = 0, **options: Any) -> Instance:
    X, y = numbers(60, 6)
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
        X, y = numbers(n, 6)
        instance = Instance.from_blocks(X, y, support_size=3, block_rows=rows)
        m = n // rows
        assert instance.problem.prediction_bound == pytest.approx(0.75)
        assert instance.ridge == 1.0
        assert instance.oscillation == pytest.approx(1.5 / m)
        assert instance.sensitivity == pytest.approx(1.75**2 / (2 * m))
    always = small(always=[5], support_size=2)
    assert always.coef_bound == pytest.approx(0.75 / math.sqrt(3.0))
    assert always.problem.prediction_bound == pytest.approx(0.75)
    X, y = numbers(60, 14)
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


def test_a_table_with_a_schema_needs_no_range() -> None:
    cells = hostile_cells(np.random.default_rng(3), 200)
    instance = Instance.from_table(
        table_of(cells),
        SCHEMA,
        target="y",
        support_size=2,
        always=["sex"],
        block_rows=3,
        score="blocks",
    )
    assert instance.feature_names == ("ward", "dose", "stage")
    assert not instance.layout.intercept
    pool = top_supports(instance, instance.number_of_supports)
    data = Data(instance)
    assert pool.values == pytest.approx(np.sort(data.values), rel=1e-9)
    public = instance.problem.public()
    assert (public["score"], public["block_rows"], public["partitions"]) == ("blocks", 3, 16)
    assert (public["x_bound"], public["y_bound"]) == (None, None)


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
        ({"block_rows": 1}, "block_rows"),
        ({"block_rows": 61}, "60 rows are no block of 61"),
        ({"partitions": 0}, "partitions"),
        ({"partition_seed": -1}, "partition_seed"),
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
    X, y = numbers(20, 5)
    X[4, 1] = np.nan
    with pytest.raises(InvalidInput, match="row 4"):
        Instance.from_blocks(X, y, support_size=1)
    with pytest.raises(InvalidInput, match="one value per row"):
        Instance.from_blocks(X[:3], y, support_size=1)
