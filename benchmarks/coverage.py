"""Coverage of intervals from released numbers, over many data sets, beside their level.

Seeded, so nothing here is private.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.declared import Record, benchmark
from benchmarks.tables import NUMBERS, Table, table_named
from mipselect.privacy.guarantee import Guarantee
from mipselect.quality import Measure, Quality
from mipselect.quality.draw import Predictions, quality_of
from mipselect.regression import AdaSSPRegressor, SelectThenRegress
from mipselect.regression.intervals import confidence_intervals
from mipselect.selectors import ExponentialSelector, KendallSelector
from mipselect.tables.mapping import open_table, read_rows
from mipselect.tables.public_map import PublicMap

LEVEL = 0.95
DELTA = 1e-6
POPULATION_ROWS = 4_000_000
CHUNK = 50_000
BETA = np.array([0.3, -0.2, 0.15, 0.1, 0.0])

Data = tuple[np.ndarray, np.ndarray]
Source = Callable[[int, np.random.Generator], Data]


@dataclass(frozen=True)
class Setting:
    """Where rows come from, how many, and what is fitted to them."""

    source: Source
    n: int
    model: Callable[[int], Any]
    x_bound: float = 1.0
    y_bound: float = 1.0
    right: tuple[int, ...] | None = None

    def map(self, X: np.ndarray, y: np.ndarray) -> Data:
        ones = np.ones(len(X))
        clipped = np.clip(X, -self.x_bound, self.x_bound)
        return np.column_stack([clipped, ones]), np.clip(y, -self.y_bound, self.y_bound)

    def population(self) -> Data:
        """XᵀX and Xᵀy of many mapped rows, with the intercept last."""
        rng = np.random.default_rng(10**6)
        gram, products = 0.0, 0.0
        for _ in range(POPULATION_ROWS // CHUNK):
            X, y = self.map(*self.source(CHUNK, rng))
            gram, products = gram + X.T @ X, products + X.T @ y
        return gram, products


def gaussian_rows(n: int, rng: np.random.Generator) -> Data:
    """The papers' p = 100, s = 5, ρ = 0.1, SNR 5; population noise."""
    X = rng.standard_normal((n, 100))
    for j in range(1, 100):
        X[:, j] = 0.1 * X[:, j - 1] + np.sqrt(0.99) * X[:, j]
    signal = X[:, 1:10:2].sum(axis=1) / np.sqrt(5.0)
    # Var(signal) is 1 + 2 Σ_{i<j} 0.1^(2(j-i)) / 5.
    lags = np.arange(1, 5)
    variance = 1.0 + 0.4 * float(((5 - lags) * 0.1 ** (2 * lags)).sum())
    return X, signal + np.sqrt(variance / 5.0) * rng.standard_normal(n)


def uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-1.0, 1.0, (n, 5))


def correlated(rho: float) -> Callable[[int, np.random.Generator], np.ndarray]:
    root = np.linalg.cholesky((1.0 - rho) * np.eye(5) + rho)

    def rows(n: int, rng: np.random.Generator) -> np.ndarray:
        return np.clip(0.4 * rng.standard_normal((n, 5)) @ root.T, -1.0, 1.0)

    return rows


def zero_one(n: int, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((n, 5)) < [0.5, 0.4, 0.3, 0.2, 0.1]).astype(float)


def normal_errors(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 0.2 * rng.standard_normal(len(X))


def exponential_errors(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 0.15 * (rng.standard_exponential(len(X)) - 1.0)


def student_errors(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 0.1 * rng.standard_t(3, len(X))


def growing_errors(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 0.4 * np.abs(X[:, 0]) * rng.standard_normal(len(X))


def linear(rows: Any, errors: Any) -> Source:
    def source(n: int, rng: np.random.Generator) -> Data:
        X = rows(n, rng)
        return X, X @ BETA + 0.1 + errors(X, rng)

    return source


def weak_among_many(n: int, rng: np.random.Generator) -> Data:
    """Thirty columns, of which three are weak: which are drawn depends on the sample."""
    X = rng.uniform(-1.0, 1.0, (n, 30))
    return X, X[:, :3] @ [0.12, -0.1, 0.08] + 0.2 * rng.standard_normal(n)


def adassp(epsilon: float, relation: str, bound: float = 1.0) -> Callable[[int], Any]:
    def model(seed: int) -> Any:
        return AdaSSPRegressor(
            epsilon=epsilon, delta=DELTA, x_bound=bound, y_bound=bound, relation=relation,
            random_state=seed,
        )  # fmt: skip

    return model


def after_exact(epsilon: float) -> Callable[[int], Any]:
    def model(seed: int) -> Any:
        columns = ExponentialSelector(
            5, x_bound=0.5, y_bound=0.5, coef_bound=1.1, ridge=120.0, random_state=seed
        )
        coefficients = adassp(1.0, "replace-one", 0.5)(seed + 10**6)
        return SelectThenRegress(columns, coefficients, epsilon=epsilon)

    return model


def after_kendall(epsilon: float) -> Callable[[int], Any]:
    def model(seed: int) -> Any:
        coefficients = adassp(1.0, "add-remove")(seed + 10**6)
        return SelectThenRegress(KendallSelector(3, random_state=seed), coefficients,
                                 epsilon=epsilon)  # fmt: skip

    return model


def settings() -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for n, epsilon in ((8000, 2.0), (3000, 2.0), (3000, 1.0)):
        found[f"paper n={n} ε={epsilon:g}"] = Setting(
            gaussian_rows, n, after_exact(epsilon), 0.5, 0.5, (1, 3, 5, 7, 9)
        )
    plain, replace_one, add_remove = linear(uniform, normal_errors), "replace-one", "add-remove"
    linears = (
        ("uniform", plain, 1000, 1.0, replace_one),
        ("uniform", plain, 5000, 1.0, replace_one),
        ("uniform", plain, 5000, 1.0, add_remove),
        ("correlated .9", linear(correlated(0.9), normal_errors), 5000, 1.0, replace_one),
        ("correlated .9", linear(correlated(0.9), normal_errors), 20000, 5.0, add_remove),
        ("0/1 columns", linear(zero_one, normal_errors), 5000, 1.0, replace_one),
        ("exponential errors", linear(uniform, exponential_errors), 5000, 1.0, replace_one),
        ("t3 errors", linear(uniform, student_errors), 5000, 1.0, replace_one),
        ("errors growing with x0", linear(uniform, growing_errors), 20000, 5.0, add_remove),
    )
    for name, source, n, epsilon, relation in linears:
        model = adassp(epsilon, relation)
        found[f"{name} n={n} ε={epsilon:g} {relation}"] = Setting(source, n, model)
    found["weak of 30, Kendall n=2000 ε=2"] = Setting(
        weak_among_many, 2000, after_kendall(2.0), right=(0, 1, 2)
    )
    return found


def usual_widths(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Widths of the intervals of least squares for normal errors."""
    inverse = np.linalg.inv(X.T @ X)
    residuals = y - X @ (inverse @ (X.T @ y))
    degrees = len(y) - X.shape[1]
    variance = residuals @ residuals / degrees
    quantile = student.ppf(0.5 + 0.5 * LEVEL, degrees)
    return 2.0 * quantile * np.sqrt(variance * np.diag(inverse))


@dataclass(frozen=True)
class Seen:
    """What came of one data set."""

    right: bool
    covered: np.ndarray
    widths: np.ndarray
    ratios: np.ndarray


def one_set(setting: Setting, gram: np.ndarray, products: np.ndarray, seed: int) -> Seen:
    X, y = setting.source(setting.n, np.random.default_rng(seed))
    release = setting.model(seed).fit(X, y).release_
    intervals = confidence_intervals(release, LEVEL)
    columns = [*release.support, X.shape[1]]
    truth = np.linalg.solve(gram[np.ix_(columns, columns)], products[columns])
    low, high = np.array(intervals.lower), np.array(intervals.upper)
    rows, target = setting.map(X, y)
    return Seen(
        release.support == setting.right,
        (low <= truth) & (truth <= high),
        high - low,
        (high - low) / usual_widths(rows[:, columns], target),
    )


def summary(found: list[Seen]) -> Record:
    covered = np.array([one.covered for one in found])
    widths = np.array([one.widths for one in found])
    ratios = np.array([one.ratios for one in found])
    each = 100.0 * covered.mean(axis=0)
    return {
        "data_sets": len(found),
        "covered": float(each.mean()),
        "covered_by_coefficient": f"{each.min():.1f} .. {each.max():.1f}",
        "whole_line": float(100.0 * np.isinf(widths).mean()),
        "width": finite(np.median(widths)),
        "width_ratio": finite(np.median(ratios)),
    }


def finite(number: float) -> float | str:
    return float(number) if np.isfinite(number) else "∞"


@benchmark(
    {"setting": tuple(settings())},
    quick={"setting": ("uniform n=1000 ε=1 replace-one",), "sets": 5},
    seeds="0 to 999",
)
def interval_coverage(setting: str, sets: int = 1000) -> Iterator[Record]:
    """Coverage of confidence intervals of coefficients, of least squares in the population.

    Rows and targets are mapped as for the fit, from four million further rows.
    """
    chosen = settings()[setting]
    gram, products = chosen.population()
    found = [one_set(chosen, gram, products, seed) for seed in range(sets)]
    groups = {setting: found}
    if chosen.right is not None:
        groups = {
            f"{setting}, right columns": [one for one in found if one.right],
            f"{setting}, wrong columns": [one for one in found if not one.right],
        }
    for label, group in groups.items():
        if group:
            yield {"setting": label, **summary(group)}


def r_squared(y: np.ndarray, fitted: np.ndarray, clip: float = np.inf) -> float:
    errors, distances = np.abs(y - fitted), np.abs(y - y.mean())
    inside = [(np.minimum(each, clip) ** 2).sum() for each in (errors, distances)]
    return 1.0 - float(inside[0] / inside[1])


class Half:
    """The half of a table that is measured, and what a fixed model says of it."""

    def __init__(self, table: Table, *, of_classes: bool) -> None:
        public = PublicMap.of(table.schema, **table.question)
        X, y, _ = read_rows(open_table(table.frame, public), public)
        there = np.isfinite(y)
        X, y = X[there].astype(float), y[there]
        if of_classes:
            y = np.where(y > np.quantile(y, 0.75), 1.0, -1.0)
        half = np.random.default_rng(0).random(len(y)) < 0.5
        ones = np.column_stack([X, np.ones(len(X))])
        if of_classes:
            model = LogisticRegression(C=1.0, max_iter=1000).fit(X[half], y[half])
            fitted = model.decision_function(X)
        else:
            fitted = ones @ np.linalg.lstsq(ones[half], y[half], rcond=None)[0]
        self.name, self.rows, self.of_classes = table.name, len(y), of_classes
        self.y, self.fitted = y[~half], fitted[~half]
        if of_classes:
            self.auc = float(roc_auc_score(self.y, self.fitted))
            self.accuracy = float(((self.fitted > 0.0) == (self.y > 0.0)).mean())
        else:
            self.plain = r_squared(self.y, self.fitted)

    def measured(self, size: int, epsilon: float, relation: str, seed: int) -> Quality:
        rows = np.random.default_rng(seed).integers(0, len(self.y), size)
        bound = None if self.of_classes else 1.0
        predictions = Predictions(
            self.y[rows], self.fitted[rows], self.of_classes, bound, complete=True
        )
        guarantee = Guarantee(epsilon, relation=relation)
        return quality_of(predictions, guarantee, random.Random(seed))

    def checks(self, quality: Quality) -> Iterator[tuple[str, Measure, float]]:
        if self.of_classes:
            yield "AUC", quality.measure("AUC"), self.auc
            yield "accuracy", quality.measure("accuracy"), self.accuracy
        else:
            clipped = r_squared(self.y, self.fitted, quality.clip or np.inf)
            yield "R², clipped", quality.first, clipped
            yield "R² as it is", quality.first, self.plain


@benchmark(
    {
        "table": NUMBERS,
        "of_classes": (False, True),
        "epsilon": (1.0,),
        "relation": ("replace-one",),
    },
    quick={"table": ("winequality_white",), "of_classes": (False,), "runs": 5},
    seeds="0 of halves; 0 to 999 of samples and draws",
)
def quality_coverage(
    table: str,
    of_classes: bool,
    epsilon: float,
    relation: str,
    data: str | None = None,
    runs: int = 1000,
    share: float = 0.1,
) -> Iterator[Record]:
    """Coverage of the intervals of a private quality, over samples of real tables.

    A model is fitted without privacy to half of the rows and stays fixed; of two classes the target
    is whether a number is above its upper quartile. Every run draws `share` of the rows, with
    replacement, from the other half, and measures the model on them. Truth is the measure on the
    whole of that half: R² with the clip of the run, and beside it R² as it is.
    """
    half = Half(table_named(data, table), of_classes=of_classes)
    size = round(share * half.rows)
    held: dict[str, list[bool]] = {}
    truth: dict[str, float] = {}
    widths: dict[str, list[float]] = {}
    for seed in range(runs):
        quality = half.measured(size, epsilon, relation, seed)
        for name, measure, true in half.checks(quality):
            held.setdefault(name, []).append(measure.low <= true <= measure.high)
            widths.setdefault(name, []).append(measure.high - measure.low)
            truth[name] = true
    for name, found in held.items():
        named = {"table": table, "rows": size, "epsilon": epsilon, "relation": relation}
        yield {
            **named,
            "measure": name,
            "truth": float(truth[name]),
            "width": finite(np.median(widths[name])),
            "covered": float(100.0 * np.mean(found)),
        }
