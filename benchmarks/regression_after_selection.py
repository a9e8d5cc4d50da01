"""Test error of private selection and regression in the setting of the MIP paper, appendix D.1.1.

python -m benchmarks.regression_after_selection [--trials 10]

p = 100, s = 5, SNR 5, ρ = 0.1, b = 0.5, r = 1.1, λ = 120; 70 % of n rows for training; ε = 1 for
the columns and 1 for the coefficients, replace-one; mean squared error on the clipped test rows.
Seeded, so nothing here is private.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.regression_pipelines import non_private
from mipselect.data.datasets import correlated_gaussian
from mipselect.regression import (
    AdaSSPRegressor,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
)
from mipselect.selectors import (
    ExponentialSelector,
    MCMCSelector,
    MistakesSelector,
    SampleAggregateSelector,
    TopRSelector,
)

ROWS = (3000, 5000, 8000)
TRUE = [1, 3, 5, 7, 9]
BOUNDS: dict[str, float] = {"x_bound": 0.5, "y_bound": 0.5, "coef_bound": 1.1}
SIZE = len(TRUE)


def perturbed(seed: int) -> Any:
    return ObjectivePerturbationRegressor(
        ridge=120.0, fit_intercept=False, random_state=seed, **BOUNDS
    )


def adassp(seed: int) -> Any:
    return AdaSSPRegressor(x_bound=0.5, y_bound=0.5, delta=1e-6, random_state=seed)


def chain(seed: int) -> Any:
    return MCMCSelector(
        SIZE, x_bound=0.5, y_bound=0.5, coef_bound=3.5, n_steps=1000, random_state=seed
    )


def voting(seed: int) -> Any:
    return SampleAggregateSelector(
        SIZE, penalty=20.0, votes="nonzero", top_k="laplace", relation="replace-one",
        random_state=seed,
    )  # fmt: skip


SELECTORS: dict[str, Callable[[int], Any]] = {
    "exact": lambda seed: ExponentialSelector(SIZE, ridge=120.0, random_state=seed, **BOUNDS),
    "mistakes": lambda seed: MistakesSelector(SIZE, ridge=120.0, random_state=seed, **BOUNDS),
    "top-R": lambda seed: TopRSelector(SIZE, ridge=120.0, random_state=seed, **BOUNDS),
    "MCMC": chain,
    "samp-agg": voting,
}


def pipelines(seed: int) -> dict[str, Any]:
    found = {
        f"{name} + objective": SelectThenRegress(selector(seed), perturbed(seed))
        for name, selector in SELECTORS.items()
    }
    exact = SELECTORS["exact"](seed)
    return {**found, "exact + AdaSSP": SelectThenRegress(exact, adassp(seed))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10)
    trials = parser.parse_args().trials
    errors: dict[str, dict[int, list[float]]] = {}
    for n in ROWS:
        for seed in range(trials):
            X, y = correlated_gaussian(n, 100, rho=0.1, snr=5.0, support_size=SIZE, seed=seed)
            clipped, target = np.clip(X, -0.5, 0.5), np.clip(y, -0.5, 0.5)
            order = np.random.default_rng(seed).permutation(n)
            train, test = order[: int(0.7 * n)], order[int(0.7 * n) :]

            rows = clipped[train][:, TRUE], target[train], clipped[test][:, TRUE]
            predicted = {"least squares, true columns": non_private(*rows)}
            # All but the votes of the Lasso clip of themselves.
            for name, model in pipelines(seed).items():
                predicted[name] = model.fit(X[train], y[train]).predict(X[test])
            for name, values in predicted.items():
                error = float(np.mean((target[test] - values) ** 2))
                errors.setdefault(name, {}).setdefault(n, []).append(error)
    print("| columns + coefficients |", " | ".join(f"n = {n:,}" for n in ROWS), "|")
    print("| --- " * (len(ROWS) + 1) + "|")
    for name, by_rows in errors.items():
        means = [f"{np.mean(by_rows[n]):.4f}" for n in ROWS]
        print(f"| {name} |", " | ".join(means), "|")


if __name__ == "__main__":
    main()
