"""MIP paper, D.1.1: test error and utility loss of private selection, then regression."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from mipselect import Instance
from mipselect.mechanisms import Mechanism
from mipselect.regression import AdaSSPRegressor, ObjectivePerturbationRegressor

from ..claims import Ahead, AheadInTheEnd, Rises
from ..experiment import (
    MIP,
    DataSeed,
    Experiment,
    LineFigure,
    Metric,
    Reading,
    Recipe,
    Scale,
    Support,
)
from ..sources import DataSource, FloatArray
from .setting import (
    EXACT,
    MCMC,
    MISTAKES,
    PAID,
    PUBLISHED,
    TOP_R,
    VOTES,
    Problem,
    SupportRecovery,
    clipped,
)

MSE = Metric("mse", "mean squared error on test rows as they are")
CLIPPED_MSE = Metric("clipped mse", "mean squared error on clipped test rows")
LOSS = Metric("utility loss", "objective above that of the best support")
TRAIN_SHARE = 0.7
ADASSP = "exact draw + AdaSSP"
NON_PRIVATE = "least squares on the true columns"
DELTA = 1e-6


@dataclass(frozen=True)
class Preparation:
    """Preparation of rows before coefficients are fitted to them, and the bounds that it gives.

    Attributes
    ----------
    panel : str
    bound : float
        Entries of X.
    y_bound : float
    row_bound : float or None
        The length of a row of all columns.
    """

    panel: str
    bound: float
    y_bound: float
    row_bound: float | None = None

    def rows(self, X: FloatArray, s: int) -> FloatArray:
        """Clip rows; with a bound of rows shorten those whose s largest entries are longer."""
        if self.row_bound is None:
            return clipped(X, self.bound)
        sizes = -np.sort(-np.abs(X), axis=1)[:, :s]
        long = np.linalg.norm(sizes, axis=1) >= self.row_bound
        factors = np.where(long, self.row_bound / np.linalg.norm(X, axis=1), 1.0)
        return X * factors[:, None]

    def applied(self, problem: Problem) -> Prepared:
        """Prepare the rows of a problem."""
        X = self.rows(problem.X, problem.recipe.s)
        return Prepared(self, problem, X, clipped(problem.y, self.y_bound))


Pair = tuple[Sequence[int], FloatArray]
Errors = Iterator[tuple[Metric, float]]

CLIPPED = Preparation("rows clipped as for the selection", 0.5, 0.5)
AS_ITS_CODE = Preparation("rows as in its code", math.sqrt(5.0), 5.0, math.sqrt(5.0))


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows that coefficients are fitted to.

    Attributes
    ----------
    preparation : Preparation
    problem : Problem
    X, y : float array
    """

    preparation: Preparation
    problem: Problem
    X: FloatArray
    y: FloatArray

    def drawn(self, mechanism: Mechanism[Support], draws: int, rng: random.Random) -> list[Pair]:
        """Draw private columns, each with private coefficients."""
        supports = [mechanism.sample(rng) for _ in range(draws)]
        return [(support, self.perturbed(support, rng)) for support in supports]

    def perturbed(self, support: Sequence[int], rng: random.Random) -> FloatArray:
        """Draw coefficients of one objective perturbation at ε = 1."""
        recipe = self.problem.recipe
        more = {"row_bound": self.preparation.row_bound, "coef_bound": recipe.radius}
        return self._fitted(
            ObjectivePerturbationRegressor, support, rng, ridge=recipe.ridge, **more
        )

    def adassp(self, support: Sequence[int], rng: random.Random) -> FloatArray:
        """Draw coefficients of one AdaSSP at ε = 1, δ = 1e-6."""
        return self._fitted(AdaSSPRegressor, support, rng, delta=DELTA)

    def _fitted(
        self, law: type[Any], support: Sequence[int], rng: random.Random, **more: Any
    ) -> FloatArray:
        """Fit without an intercept to these columns."""
        bounds = {"x_bound": self.preparation.bound, "y_bound": self.preparation.y_bound}
        model = law(
            epsilon=self.problem.recipe.epsilon, fit_intercept=False,
            random_state=rng.getrandbits(32), **bounds, **more,
        )  # fmt: skip
        fitted: FloatArray = model.fit(self.X[:, list(support)], self.y).coef_
        return fitted

    def objective(self, support: Sequence[int], beta: FloatArray) -> float:
        """Compute (1/2n) ‖y - X_S β‖² + (λ/2n) ‖β‖² on these rows."""
        residual = self.y - self.X[:, list(support)] @ beta
        penalty = self.problem.recipe.ridge * float(beta @ beta)
        return (math.fsum(residual**2) + penalty) / (2.0 * self.y.size)

    @cached_property
    def least(self) -> float:
        """The least objective on the best support of the selection's problem."""
        recipe = self.problem.recipe
        instance = Instance(
            self.X,
            self.y,
            support_size=recipe.s,
            x_bound=max(float(np.abs(self.X).max()), self.preparation.bound),
            y_bound=self.preparation.y_bound,
            coef_bound=recipe.radius,
            ridge=recipe.ridge,
        )
        return float(instance.objective(self.problem.levels.supports[0]))


@dataclass(frozen=True)
class Prediction(Recipe):
    """Columns at ε = 1, then coefficients at ε = 1, replace-one.

    Attributes
    ----------
    n : int
        Rows; the error is that of fits to 70 % of them, the utility loss of fits to all.
    draws : int
        Pairs of columns and coefficients, of each method.
    vote_draws : int
    """

    n: int
    draws: int
    vote_draws: int

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        setting = SupportRecovery(
            float(self.n), self.n, 100, 5, (), self.draws, vote_draws=self.vote_draws
        )
        whole = Problem.generated(setting, data.number)
        order = np.random.default_rng([data.number, 1]).permutation(self.n)
        cut = int(TRAIN_SHARE * self.n)
        training, test = (
            Problem(setting, whole.X[rows], whole.y[rows]) for rows in (order[:cut], order[cut:])
        )
        read = partial(Reading, x=float(self.n))
        for preparation in (AS_ITS_CODE, CLIPPED):
            fitted, fitted_to_all = preparation.applied(training), preparation.applied(whole)
            panel = preparation.panel
            for method in (*PUBLISHED, EXACT):
                own = random.Random(f"{seed} {method}")
                drawn = training.mechanism(method)
                pairs = fitted.drawn(drawn, training.draws(method), own)
                for metric, value in errors(preparation, test, pairs):
                    yield read(panel, method, metric=metric.key, value=value)
                if preparation is CLIPPED and method == EXACT:
                    supports = [support for support, _ in pairs]
                    pairs = [(support, fitted.adassp(support, own)) for support in supports]
                    for metric, value in errors(preparation, test, pairs):
                        yield read(panel, ADASSP, metric=metric.key, value=value)
                drawn = whole.mechanism(method)
                pairs = fitted_to_all.drawn(drawn, whole.draws(method), own)
                losses = [fitted_to_all.objective(*pair) - fitted_to_all.least for pair in pairs]
                yield read(panel, method, metric=LOSS.key, value=float(np.mean(losses)))
            truth = sorted(training.true_support)
            X, y = CLIPPED.applied(training).X[:, truth], clipped(training.y, CLIPPED.y_bound)
            pairs = [(truth, np.linalg.lstsq(X, y, rcond=None)[0])]
            for metric, value in errors(preparation, test, pairs):
                yield read(panel, NON_PRIVATE, metric=metric.key, value=value)


def errors(preparation: Preparation, test: Problem, pairs: Sequence[Pair]) -> Errors:
    """Yield mean squared errors on the test rows as they are, and clipped if the others were."""
    yield MSE, _mean_error(test.X, test.y, pairs)
    if preparation is CLIPPED:
        X, y = clipped(test.X, CLIPPED.bound), clipped(test.y, CLIPPED.y_bound)
        yield CLIPPED_MSE, _mean_error(X, y, pairs)


def _mean_error(X: FloatArray, y: FloatArray, pairs: Sequence[Pair]) -> float:
    found = [np.mean((y - X[:, list(support)] @ beta) ** 2) for support, beta in pairs]
    return float(np.mean(found))


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
        *(
            AheadInTheEnd(
                f"{method} has a smaller {words} than MCMC and samp-agg for large enough n",
                metric.key, method, (MCMC, VOTES), higher=False,
            )
            for metric, words in ((MSE, "error"), (LOSS, "utility loss"))
            for method in (TOP_R, MISTAKES)
        ),
        Rises("ours: the error falls with n", MSE.key, (TOP_R, MISTAKES), falls=True),
        Ahead(
            "ours: the exact draw's error is never behind top-R's or mistakes'",
            MSE.key, EXACT, (TOP_R, MISTAKES), higher=False, never_behind=True,
        ),
    ),
    full=Scale(tuple(Prediction(n, 50, 10) for n in ROWS), 10, 6.0),
    quick=Scale((Prediction(3000, 10, 2), Prediction(6000, 10, 2)), 2, 0.3),
    also=(CLIPPED_MSE,),
    notes=(
        "SNR 5, ρ = 0.1, b = 0.5, r = 1.1, λ = 120. Columns are selected on clipped rows.",
        PAID,
        "Rows as in its code: before coefficients are fitted y is clipped to ± s, and a row whose "
        "s largest entries are longer than √s is shortened, all of it, to the length √s; the "
        "error is on test rows as they are, the utility loss is on all n rows so prepared. Ours: "
        "rows clipped to ± b as for the selection; the error on test rows as they are, and "
        "clipped as well. Least squares on the true columns is fitted to clipped rows.",
        "Objective perturbation has constants that hold for replace-one, where the paper's hold "
        "for add-remove; the exact draw and AdaSSP (δ = 1e-6) are ours. Its code has 100 draws.",
    ),
)  # fmt: skip
