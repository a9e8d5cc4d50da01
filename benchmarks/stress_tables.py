"""Generated tables on which a score of blocks might fail: 6,000 rows and 12 fields each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.tables_at_hand import Table, table_of

ROWS = 6_000
FIELDS = 12
Made = tuple[dict[str, np.ndarray], np.ndarray]


def _numbers(X: np.ndarray) -> dict[str, np.ndarray]:
    return {f"x{j}": X[:, j] for j in range(X.shape[1])}


def _texts(**codes: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.char.add("c", values.astype(str)) for name, values in codes.items()}


def constant_in_most_blocks(rng: np.random.Generator) -> Made:
    """Eight columns are not 0 in 0.5 % of the rows and large there; half of these matter."""
    X = rng.standard_normal((ROWS, FIELDS))
    rare = rng.random((ROWS, 8)) < 0.005
    X[:, :8] = np.where(rare, 10.0 * X[:, :8], 0.0)
    y = X[:, :4] @ np.full(4, 1.0) + 0.3 * X[:, 8] + rng.standard_normal(ROWS)
    return _numbers(X), y


def heavy_tails(rng: np.random.Generator) -> Made:
    """Columns and errors with infinite variance, some skewed."""
    X = rng.standard_t(1.8, (ROWS, FIELDS))
    X[:, ::2] = np.exp(1.5 * rng.standard_normal((ROWS, FIELDS // 2)))
    y = X[:, 0] + X[:, 1] - X[:, 2] + 0.5 * X[:, 3] + 3.0 * rng.standard_t(1.8, ROWS)
    return _numbers(X), y


def few_rows_carry_it(rng: np.random.Generator) -> Made:
    """One row in 100 has nearly all of R²; in the others the same columns explain little."""
    X = rng.standard_normal((ROWS, FIELDS))
    X[rng.random(ROWS) < 0.01, :3] *= 20.0
    y = X[:, :3] @ np.array([0.3, 0.3, 0.2]) + 2.0 * rng.standard_normal(ROWS)
    return _numbers(X), y


def few_rows_disagree(rng: np.random.Generator) -> Made:
    """One row in 200 has nearly all of R², by other columns than in all other rows.

    No score to which every row adds as much as any other can find them.
    """
    X = rng.standard_normal((ROWS, FIELDS))
    extreme = rng.random(ROWS) < 0.005
    X[extreme, :3] *= 30.0
    y = 0.5 * X[:, 3:6].sum(axis=1) + rng.standard_normal(ROWS)
    y[extreme] += X[extreme, :3].sum(axis=1)
    return _numbers(X), y


def copies(rng: np.random.Generator) -> Made:
    """Four columns with two near copies each."""
    base = rng.standard_normal((ROWS, 4))
    X = np.repeat(base, 3, axis=1) + 0.05 * rng.standard_normal((ROWS, FIELDS))
    return _numbers(X), base @ np.array([1.0, 0.7, 0.5, 0.0]) + rng.standard_normal(ROWS)


def wide_categories(rng: np.random.Generator) -> Made:
    """A field of 70 codes that matters, one of 40 that does not, rare ones, and numbers."""
    X = rng.standard_normal((ROWS, FIELDS - 3))
    codes = rng.integers(0, 70, ROWS)
    others = rng.integers(0, 40, ROWS)
    rare = rng.choice(6, ROWS, p=[0.9, 0.06, 0.02, 0.01, 0.005, 0.005])
    effect, of_rare = rng.standard_normal(70), np.array([0.0, 1.0, -1.0, 3.0, -3.0, 3.0])
    y = effect[codes] + of_rare[rare] + 0.5 * X[:, 0] + 0.3 * X[:, 1]
    y = y + rng.standard_normal(ROWS)
    return {**_texts(codes=codes, others=others, rare=rare), **_numbers(X)}, y


def moderate_category(rng: np.random.Generator) -> Made:
    """A region with one value that matters beside a number that explains two thirds as much."""
    region, month = rng.integers(0, 5, ROWS), rng.integers(0, 12, ROWS)
    school = rng.choice(3, ROWS, p=[0.3, 0.5, 0.2])
    age, hours = rng.uniform(18.0, 85.0, ROWS), rng.normal(36.0, 10.0, ROWS)
    log = np.array([0.0, 0.1, 0.35])[school] + 0.25 * (region == 0)
    log = log + 0.012 * hours + 0.004 * age + 0.35 * rng.standard_normal(ROWS)
    texts = _texts(region=region, school=school, month=month)
    numbers = {"age": age, "hours": hours, **_numbers(rng.standard_normal((ROWS, 7)))}
    return {**texts, **numbers}, np.exp(log)


def random_categories(rng: np.random.Generator) -> Made:
    """A month and a field of 40 codes that are noise beside numbers that matter little."""
    X = rng.standard_normal((ROWS, FIELDS - 2))
    month, code = rng.integers(0, 12, ROWS), rng.integers(0, 40, ROWS)
    y = X[:, :5] @ np.array([0.5, 0.4, 0.3, 0.2, 0.1]) + rng.standard_normal(ROWS)
    return {**_texts(month=month, code=code), **_numbers(X)}, y


def weak_signals(rng: np.random.Generator) -> Made:
    """R² of 0.02 for the best support, spread over many columns."""
    X = rng.standard_normal((ROWS, FIELDS))
    weights = 0.09 * 0.75 ** np.arange(FIELDS)
    return _numbers(X), X @ weights + rng.standard_normal(ROWS)


def skewed_money(rng: np.random.Generator) -> Made:
    """Counts with many zeros, skewed columns, and a target that grows exponentially."""
    X = rng.exponential(1.0, (ROWS, FIELDS))
    counts = rng.poisson(0.3 * X[:, :4])
    X[:, :4] = counts
    y = np.exp(0.5 * X[:, 0] + 0.3 * X[:, 4] + 0.5 * rng.standard_normal(ROWS)) + X[:, 5]
    return _numbers(X), y


def missing_values(rng: np.random.Generator) -> Made:
    """A third of four columns is missing, more often where the target is large."""
    X = rng.standard_normal((ROWS, FIELDS))
    y = X[:, 0] + 0.6 * X[:, 4] + 0.4 * X[:, 5] + rng.standard_normal(ROWS)
    for j in range(4):
        X[rng.random(ROWS) < 1.0 / (1.0 + np.exp(1.0 - 0.7 * y)), j] = np.nan
    return _numbers(X), y


MAKERS: tuple[Callable[[np.random.Generator], Made], ...] = (
    constant_in_most_blocks,
    heavy_tails,
    few_rows_carry_it,
    few_rows_disagree,
    copies,
    wide_categories,
    random_categories,
    moderate_category,
    weak_signals,
    skewed_money,
    missing_values,
)


def stress_tables(seed: int = 0) -> list[Table]:
    tables = []
    for maker in MAKERS:
        columns, y = maker(np.random.default_rng(seed))
        frame = pd.DataFrame({**columns, "y": y})
        tables.append(table_of(maker.__name__, frame, {"target": "y", "size": 3}))
    return tables
