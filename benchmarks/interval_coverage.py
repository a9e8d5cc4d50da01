"""Coverage of intervals from released numbers, over many data sets, beside their level.

python -m benchmarks.interval_coverage [--sets 1000] [--settings NAME,...] [--json]

Truth is least squares on the selected columns in the population, rows and targets mapped as for
the fit, from four million further rows. "Non-private" are the usual intervals of least squares on
the same rows and columns. Seeded, so nothing here is private.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from benchmarks.stored import Record, add_json_option, print_records
from mipselect.regression import AdaSSPRegressor, SelectThenRegress
from mipselect.regression.intervals import confidence_intervals
from mipselect.selectors import ExponentialSelector, KendallSelector

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
    true = (1, 3, 5, 7, 9)
    sizes = ((8000, 2.0), (5000, 2.0), (3000, 2.0), (8000, 1.0), (3000, 1.0), (20000, 4.0))
    for n, epsilon in sizes:
        found[f"paper n={n} ε={epsilon:g}"] = Setting(
            gaussian_rows, n, after_exact(epsilon), 0.5, 0.5, true
        )
    plain = linear(uniform, normal_errors)
    for relation in ("replace-one", "add-remove"):
        for n, epsilon in ((1000, 1.0), (5000, 0.3), (5000, 1.0), (5000, 5.0), (500, 100.0)):
            name = f"uniform n={n} ε={epsilon:g} {relation}"
            found[name] = Setting(plain, n, adassp(epsilon, relation))
    others = {
        "correlated .5": linear(correlated(0.5), normal_errors),
        "correlated .9": linear(correlated(0.9), normal_errors),
        "0/1 columns": linear(zero_one, normal_errors),
        "exponential errors": linear(uniform, exponential_errors),
        "t3 errors": linear(uniform, student_errors),
        "errors growing with x0": linear(uniform, growing_errors),
    }
    for name, source in others.items():
        for n, epsilon, relation in ((5000, 1.0, "replace-one"), (20000, 5.0, "add-remove")):
            found[f"{name} n={n} ε={epsilon:g} {relation}"] = Setting(
                source, n, adassp(epsilon, relation)
            )
    for n, epsilon in ((1000, 1.0), (2000, 2.0), (10000, 2.0)):
        found[f"weak of 30, Kendall n={n} ε={epsilon:g}"] = Setting(
            weak_among_many, n, after_kendall(epsilon), right=(0, 1, 2)
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


def of_setting(name: str, setting: Setting, sets: int) -> Iterator[Record]:
    gram, products = setting.population()
    found = [one_set(setting, gram, products, seed) for seed in range(sets)]
    groups = {name: found}
    if setting.right is not None:
        groups = {
            f"{name}, right columns": [one for one in found if one.right],
            f"{name}, wrong columns": [one for one in found if not one.right],
        }
    for label, group in groups.items():
        if group:
            yield {"setting": label, **summary(group)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--settings", default="", help="names or their beginnings; all if empty")
    add_json_option(parser)
    options = parser.parse_args()
    found = (
        record
        for name, setting in settings().items()
        if name.startswith(tuple(options.settings.split(",")))
        for record in of_setting(name, setting, options.sets)
    )
    print_records(found, as_json=options.json)


if __name__ == "__main__":
    main()
