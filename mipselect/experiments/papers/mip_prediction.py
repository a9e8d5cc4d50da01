"""MIP paper, D.1.1: test error and utility loss of private selection, then regression."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.experiments.papers.claims import Ahead, Rises
from mipselect.experiments.papers.declared import (
    MIP,
    Experiment,
    LineFigure,
    Metric,
    Reading,
    Scale,
)
from mipselect.experiments.papers.mip_setting import (
    EXACT,
    MCMC,
    MISTAKES,
    PUBLISHED,
    TOP_R,
    VOTES,
    Problem,
    SupportRecovery,
    clipped,
)
from mipselect.experiments.papers.sources import DataSource
from mipselect.regression import AdaSSPRegressor, ObjectivePerturbationRegressor

MSE = Metric("mse", "mean squared error on test rows")
LOSS = Metric("utility loss", "objective above that of the best support")
TRAIN_SHARE = 0.7
ADASSP = "exact draw + AdaSSP"
NON_PRIVATE = "least squares on the true columns"
DELTA = 1e-6


@dataclass(frozen=True)
class Prediction:
    """Columns at ε = 1, then coefficients at ε = 1, replace-one.

    Attributes
    ----------
    n : int
        Rows, of which 70 % are for training.
    draws : int
        Pairs of columns and coefficients, of each method.
    vote_draws : int
    """

    n: int
    draws: int
    vote_draws: int

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return f"n = {self.n:,}"

    def measure(self, repeat: int, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        setting = SupportRecovery(
            float(self.n), self.n, 100, 5, (), self.draws, vote_draws=self.vote_draws
        )
        problem = Problem(setting, repeat)
        order = np.random.default_rng(seed).permutation(self.n)
        cut = int(TRAIN_SHARE * self.n)
        test_X = clipped(problem.X[order[cut:]], setting.bound)
        test_y = clipped(problem.y[order[cut:]], setting.bound)
        problem.X, problem.y = problem.X[order[:cut]], problem.y[order[:cut]]
        read = partial(Reading, "", x=float(self.n))
        best = problem.instance.objective(problem.levels.supports[0])
        for method in (*PUBLISHED, EXACT):
            own = random.Random(f"{seed} {method}")
            mechanism = problem.mechanism(method)
            errors, losses, others = [], [], []
            for _ in range(problem.draws(method)):
                support = mechanism.sample(own)
                beta = perturbed(problem, support, own)
                errors.append(squared_error(test_X, test_y, support, beta))
                losses.append(objective(problem, support, beta) - best)
                if method == EXACT:
                    model = adassp(problem, support, own)
                    others.append(squared_error(test_X, test_y, support, model))
            yield read(method=method, metric=MSE.key, value=float(np.mean(errors)))
            yield read(method=method, metric=LOSS.key, value=float(np.mean(losses)))
            if others:
                yield read(method=ADASSP, metric=MSE.key, value=float(np.mean(others)))
        truth = sorted(problem.true_support)
        X, y = problem.instance.X[:, truth], problem.instance.y
        fitted = np.linalg.lstsq(X, y, rcond=None)[0]
        value = squared_error(test_X, test_y, truth, fitted)
        yield read(method=NON_PRIVATE, metric=MSE.key, value=value)


def perturbed(problem: Problem, support: Sequence[int], rng: random.Random) -> FloatArray:
    """Coefficients of one objective perturbation at ε = 1."""
    recipe = problem.recipe
    model = ObjectivePerturbationRegressor(
        epsilon=recipe.epsilon,
        ridge=recipe.ridge,
        x_bound=recipe.bound,
        y_bound=recipe.bound,
        coef_bound=recipe.radius,
        fit_intercept=False,
        random_state=rng.getrandbits(32),
    )
    fitted: FloatArray = model.fit(problem.X[:, list(support)], problem.y).coef_
    return fitted


def adassp(problem: Problem, support: Sequence[int], rng: random.Random) -> FloatArray:
    """Coefficients of one AdaSSP at ε = 1, δ = 1e-6, without an intercept."""
    model = AdaSSPRegressor(
        epsilon=problem.recipe.epsilon,
        delta=DELTA,
        x_bound=problem.recipe.bound,
        y_bound=problem.recipe.bound,
        fit_intercept=False,
        random_state=rng.getrandbits(32),
    )
    fitted: FloatArray = model.fit(problem.X[:, list(support)], problem.y).coef_
    return fitted


def squared_error(X: FloatArray, y: FloatArray, support: Sequence[int], beta: FloatArray) -> float:
    """Mean of (y - Xβ)²."""
    return float(np.mean((y - X[:, list(support)] @ beta) ** 2))


def objective(problem: Problem, support: Sequence[int], beta: FloatArray) -> float:
    """(1/2n) ‖y - X_S β‖² + (λ/2n) ‖β‖² on the clipped training rows."""
    instance = problem.instance
    residual = instance.y - instance.X[:, list(support)] @ beta
    penalty = problem.recipe.ridge * float(beta @ beta)
    return (math.fsum(residual**2) + penalty) / (2.0 * instance.n)


ROWS = (3000, 4000, 5000, 6000, 7000, 8000)

PREDICTION = Experiment(
    name="mip-prediction",
    paper=MIP,
    row="D.1.1 prediction error and utility loss",
    title="Test error and utility loss by rows: p = 100, s = 5, ε = 1 + 1",
    figures=(
        LineFigure(MSE, "n, rows", fraction=False),
        LineFigure(LOSS, "n, rows", fraction=False, suffix="-loss"),
    ),
    claims=(
        Ahead(
            "top-R has a smaller error than MCMC and samp-agg for large n (6,000 and more)",
            MSE.key, TOP_R, (MCMC, VOTES), (6000, 8000), higher=False,
        ),
        Ahead(
            "mistakes has a smaller error than MCMC and samp-agg for large n (5,000 and more)",
            MSE.key, MISTAKES, (MCMC, VOTES), (5000, 8000), higher=False,
        ),
        Ahead(
            "top-R has a smaller utility loss than MCMC and samp-agg for large n (6,000 and more)",
            LOSS.key, TOP_R, (MCMC, VOTES), (6000, 8000), higher=False,
        ),
        Ahead(
            "mistakes has a smaller utility loss than MCMC and samp-agg (5,000 and more)",
            LOSS.key, MISTAKES, (MCMC, VOTES), (5000, 8000), higher=False,
        ),
        Rises("the error falls with n", MSE.key, (TOP_R, MISTAKES), falls=True),
        Ahead(
            "ours: the exact draw's error is never behind top-R's or mistakes'",
            MSE.key, EXACT, (TOP_R, MISTAKES), higher=False, never_behind=True,
        ),
    ),
    full=Scale(tuple(Prediction(n, 50, 10) for n in ROWS), 10, 2.0),
    quick=Scale((Prediction(3000, 10, 2), Prediction(6000, 10, 2)), 2, 0.3),
    notes=(
        "SNR 5, ρ = 0.1, b = 0.5, r = 1.1, λ = 120; 70 % of n rows for training; the error is on "
        "clipped test rows.",
        "Objective perturbation with corrected constants for replace-one, which need no ridge "
        "beyond λ here; the exact draw and AdaSSP (δ = 1e-6) are ours.",
    ),
)  # fmt: skip
