"""A row can turn a table from float32 to float64: nothing of the other rows moves by that.

All that is computed from rows is looked at where the public map of a row ends: bits of every row
but the one that was replaced are the same, in arrays and frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mipselect import Instance
from mipselect.frames import numeric_matrix
from mipselect.mechanisms.scores.sample_aggregate import SampleAggregate
from mipselect.problem.layout import Layout
from mipselect.regression import rows as regression_rows
from mipselect.selectors import (
    ExponentialSelector,
    MCMCSelector,
    SISSelector,
    TopRSelector,
    sis,
)
from mipselect.tables import TableSchema
from mipselect.tables.moments import ArrayColumns, Moments

ROW = 3
"""The one that is replaced."""

BOUND = 0.1
GROUPS = [[0, 1, 2], [3], [4, 5]]
LIMITS: dict[str, Any] = {"y_bound": 0.3, "coef_bound": 1.5, "ridge": 1.0}


def table(seed: int, n: int = 12) -> np.ndarray:
    """Numbers of float32 inside of the bound, far beyond, just on either side, and tiny ones."""
    rng = np.random.default_rng(seed)
    near = np.float32(BOUND) * (1 + rng.integers(-3, 4, (n, 6)) * 2.0**-23)
    kinds = [rng.uniform(-0.1, 0.1, (n, 6)), rng.normal(size=(n, 6)), near, 1e-30 * near]
    chosen = np.choose(rng.integers(0, 4, (n, 6)), kinds) * rng.choice([-1.0, 1.0], (n, 6))
    return chosen.astype(np.float32)


def target(seed: int, n: int = 12) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=n).astype(np.float32)


def as_list(X: np.ndarray) -> list[Any]:
    """Rows as arrays of their own, of which one of float64 turns all."""
    return list(X)


def mixed(X: np.ndarray, place: int) -> np.ndarray:
    """The neighbour: one row that float32 cannot hold."""
    other = X.astype(np.float64)
    other[place] = np.linspace(-1.0, 1.0, X.shape[1]) / 3.0
    return other


def named(X: np.ndarray) -> dict[str, np.ndarray]:
    return {f"x{j}": X[:, j] for j in range(X.shape[1])}


def frame_pair(X: np.ndarray) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of float32, and with one column of float64, in which one number is another one."""
    last = X[:, 5].astype(np.float64)
    last[ROW] = 1.0 / 3.0
    return named(X), {**named(X), "x5": last}


def pairs(seed: int) -> Iterator[tuple[str, Any, Any]]:
    X = table(seed)
    yield "array", X, mixed(X, ROW)
    yield "columns together", np.asfortranarray(X), mixed(X, ROW)
    yield "list", as_list(X), [row if i != ROW else mixed(X, ROW)[ROW] for i, row in enumerate(X)]
    for name, make in (("pandas", pd.DataFrame), ("arrow", pa.table), ("polars", pl.DataFrame)):
        one, two = map(make, frame_pair(X))
        yield name, one, two


def others(rows: np.ndarray) -> bytes:
    """The bits of all rows but one, as doubles."""
    return np.delete(np.asarray(rows, dtype=np.float64), ROW, axis=0).tobytes()


LAYOUTS: dict[str, dict[str, Any]] = {
    "one bound": {"x_bound": BOUND},
    "bounds": {"x_bound": [0.1, 0.7, 1.0 / 3.0, 3.0, 1e-7, 0.2]},
    "groups": {"x_bound": [0.1, 0.7, 0.3], "groups": GROUPS},
    "always": {"x_bound": 0.1, "always": [[0, 5], 2], "intercept": True},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_an_instance_do_not_depend_on_the_type_of_others(layout: str) -> None:
    for seed in range(8):
        y = target(seed)
        for _, one, two in pairs(seed):
            held = [Instance(X, y, support_size=2, **LAYOUTS[layout], **LIMITS) for X in (one, two)]
            assert held[0].X.dtype == np.float32
            assert held[1].X.dtype == np.float64
            assert others(held[0].X) == others(held[1].X)


@pytest.mark.parametrize(
    "frame", [pa.table, pl.DataFrame, lambda columns: duckdb.from_arrow(pa.table(columns))]
)
def test_a_decimal_of_many_places_leaves_the_other_rows(frame: Callable[[Any], Any]) -> None:
    """It gives all rows of its column as many places, and so another type."""
    cells = [Decimal(k).scaleb(-7) for k in range(1, 10**8, 10**5 + 7)]
    odd = [*cells[:ROW], Decimal(1).scaleb(-20), *cells[ROW + 1 :]]
    found = [numeric_matrix(frame({"x": column}))[0] for column in (cells, odd)]
    assert others(found[0]) == others(found[1])
    assert found[1][:, 0].tolist() == [float(cell) for cell in odd]


def test_the_target_does_not_depend_on_its_type() -> None:
    y = target(1)
    other = y.astype(np.float64)
    other[ROW] = 1.0 / 3.0
    given: Any = {"support_size": 2, "x_bound": BOUND, **LIMITS}
    one, two = (Instance(table(1), values, **given).y for values in (y, other))
    assert others(one[:, None]) == others(two[:, None])


class Seen:
    """What came out of maps of rows, in the order of the calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.maps: list[bytes] = []
        for owner, name in (
            (Layout, "clipped"),
            (sis, "on_grid"),
            (regression_rows.RowMap, "__call__"),
            (ArrayColumns, "rows"),
        ):
            self._watch(monkeypatch, owner, name)

    def _watch(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def watched(*args: Any, **options: Any) -> Any:
            found = original(*args, **options)
            rows = np.asarray(found)
            if rows.ndim == 2:
                self.maps.append(others(rows))
            return found

        monkeypatch.setattr(owner, name, watched)


SELECTORS: dict[str, Callable[[], Any]] = {
    "top-r": lambda: TopRSelector(2, x_bound=BOUND, **LIMITS),
    "exponential": lambda: ExponentialSelector(2, **LAYOUTS["groups"], **LIMITS),
    "mcmc": lambda: MCMCSelector(2, x_bound=BOUND, y_bound=0.3, coef_bound=1.0, n_steps=9),
    "mcmc, groups": lambda: MCMCSelector(
        1, **LAYOUTS["groups"], y_bound=0.3, coef_bound=1.0, n_steps=9
    ),
    "sis": lambda: SISSelector(2, x_bound=BOUND, y_bound=0.3),
    "sis, groups": lambda: SISSelector(2, **LAYOUTS["groups"], y_bound=0.3),
    "sis, centred": lambda: SISSelector(2, x_bound=BOUND, y_bound=0.3, intercept=True),
}


@pytest.mark.parametrize("name", SELECTORS)
def test_selectors_see_the_same_of_all_other_rows(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        for kind, one, two in pairs(seed):
            seen = []
            for X in (one, two):
                with monkeypatch.context() as patch:
                    watch = Seen(patch)
                    SELECTORS[name]().mechanism(X, target(seed))
                    seen.append(watch.maps)
            assert seen[0], kind
            assert seen[0] == seen[1], kind


def test_blocks_of_other_rows_come_in_one_type_and_order() -> None:
    for seed in range(3):
        for _, one, two in pairs(seed):
            ballots = []
            for X in (one, two):
                blocks: list[Any] = []

                def ballot(
                    rows: np.ndarray, y: np.ndarray, blocks: list[Any] = blocks
                ) -> list[int]:
                    assert rows.flags.c_contiguous
                    blocks.append((rows.dtype, rows.tobytes(), y.dtype, y.tobytes()))
                    return [0]

                numbers = np.asarray(X)
                SampleAggregate(numbers, target(seed), 1, 1.0, ballot=ballot).votes(
                    [[0, 1, 2], [ROW], [11, 9]]
                )
                ballots.append([blocks[0], blocks[2]])
            assert ballots[0] == ballots[1]


@pytest.mark.parametrize("row_bound", [None, 0.4])
def test_rows_of_a_regression_and_moments_are_the_same(
    row_bound: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mipselect.regression import AdaSSPRegressor, ObjectivePerturbationRegressor

    def all_of(X: Any, y: Any) -> None:
        AdaSSPRegressor(x_bound=BOUND, y_bound=0.3, row_bound=row_bound).fit(X, y)
        ObjectivePerturbationRegressor(x_bound=BOUND, y_bound=0.3, coef_bound=1.0).fit(X, y)
        Moments.of((X, y), x_bound=BOUND, y_bound=0.3)

    for kind, one, two in pairs(4):
        seen = []
        for X in (one, two):
            with monkeypatch.context() as patch:
                watch = Seen(patch)
                all_of(X, target(4))
                seen.append(watch.maps)
        assert len(seen[0]) >= 3
        assert seen[0] == seen[1], kind


SCHEMA = TableSchema.of(
    {
        "fields": [
            {"name": name, "type": "number", "constraints": {"minimum": -0.1, "maximum": 0.7}}
            for name in (*(f"x{j}" for j in range(6)), "y")
        ]
    }
)


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table, pl.DataFrame])
def test_rows_of_a_table_with_a_schema_are_the_same(make: Any) -> None:
    for seed in range(5):
        one, two = (
            Instance.from_table(make({**numbers, "y": target(seed)}), SCHEMA, target="y",
                                support_size=2)
            for numbers in frame_pair(table(seed))
        )  # fmt: skip
        assert others(one.X) == others(two.X)
        assert others(one.y[:, None]) == others(two.y[:, None])
