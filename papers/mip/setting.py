"""The synthetic setting of the MIP paper, and its methods: how often is the support found?"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity

from mipselect import Instance, MistakeLevels, mistake_levels, top_supports
from mipselect.datasets import correlated_gaussian, logistic_gaussian
from mipselect.errors import NotCertified
from mipselect.mechanisms import (
    ExponentialMechanism,
    Mechanism,
    Mistakes,
    OneShotTopK,
    PermuteAndFlip,
    SampleAggregate,
    TopR,
)
from mipselect.mechanisms.supports.propose_test_release import exceeds_condition
from mipselect.selectors import MCMCSelector
from mipselect.selectors.sample_aggregate import lasso_ballot

from ..experiment import DataSeed, LineFigure, Metric, Reading, Recipe, Support
from ..sources import DataSource, FloatArray

HALVINGS = 8
ZERO = 1e-7


def hinge_coefficients(X: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Minimise Σ max(0, 1 - y_i x_i·β) + λ‖β‖₁, without an intercept.

    Parameters
    ----------
    X : float array, shape (m, p)
    y : float array, shape (m,)
        -1 and 1.
    penalty : float
        λ > 0.

    Returns
    -------
    float array, shape (p,)
        Zeros where the linear program could not be solved.
    """
    m, p = X.shape
    signed = csr_array(y[:, None] * X)
    # β = u - v and a slack ≥ 0 for each row: 1 - slack ≤ y x·β.
    rows = hstack([-signed, signed, -identity(m)], format="csr")
    cost = np.concatenate([np.full(2 * p, penalty), np.ones(m)])
    solution = linprog(cost, A_ub=rows, b_ub=-np.ones(m), bounds=(0.0, None), method="highs")
    if solution.x is None:
        return np.zeros(p)
    coefficients: FloatArray = solution.x[:p] - solution.x[p : 2 * p]
    return coefficients


def hinge_ballot(X: FloatArray, y: FloatArray, *, s: int) -> list[int]:
    """Vote for the non-zeros of the model with the smallest penalty that leaves at most s.

    The penalty is found by halving an interval below the one that leaves none.
    """
    if y.size < 2:
        return []
    high = float(np.abs(X.T @ y).max())
    low, chosen = 0.0, list[int]()
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle <= 0.0:
            break
        found = np.flatnonzero(np.abs(hinge_coefficients(X, y, middle)) > ZERO).tolist()
        if len(found) > s:
            low = middle
            continue
        high = middle
        if len(found) >= len(chosen):
            chosen = found
        if len(found) == s:
            break
    return chosen


def squared_ballot(X: FloatArray, y: FloatArray) -> list[int]:
    """Vote for the non-zeros of a Lasso with the paper's penalty, 20."""
    return lasso_ballot(X, y, k=X.shape[1], alpha=20.0 / y.size)


TOP_R, MISTAKES, MCMC, VOTES = "top-R", "mistakes", "MCMC", "samp-agg"
MCMC_CODE = "MCMC at 2ε, as its code"
MCMC_LONG = "MCMC, 10 p steps"
EXACT, WIDE, SIZES = "exact draw", "top-R, 100,000", "exact draw, sizes 1 to 10"
FLIP, BLOCKS, FLIP_BLOCKS = "permute-and-flip", "exact draw, blocks", "permute-and-flip, blocks"
PUBLISHED = (TOP_R, MISTAKES, MCMC, VOTES)
OURS = (EXACT, WIDE, FLIP, BLOCKS, FLIP_BLOCKS)

WIDE_POOL = 100_000
TRUTH = Metric("truth", "draws equal to the true support")
OPTIMUM = Metric("optimum", "draws equal to the certified optimum")
F1 = Metric("f1", "mean F1 against the true support")
F1_OPTIMUM = Metric("f1 optimum", "mean F1 against the certified optimum")
CHANCE = Metric("chance", "probability of the true support, from the exact law")
CERTIFIED = Metric("certified", "data sets on which the search is certified in time")
CONDITION = Metric("condition", "data sets on which the gap exceeds 2Δ, as mistakes needs")
TOLERANCE = Metric("tolerance", "τ of the certificate in units of Δ, which is paid in ε")
ALSO = (OPTIMUM, F1_OPTIMUM, CHANCE, CERTIFIED, TOLERANCE, CONDITION)

PAID = (
    "Every method spends the same ε under replace-one. The certificate of a search has a tolerance "
    "τ, tabled below in units of Δ, and it is paid in ε: top-R and mistakes run at ε/(1 + τ), the "
    "others at ε."
)
ON_BLOCKS = (
    "Blocks are least squares on pairs of rows, of which only the order of two values counts: no "
    "bound and no range is used, and r and λ have nothing to do with those above."
)


def figures(x_label: str, *, log_x: bool = False) -> tuple[LineFigure, ...]:
    """Draw the fraction of true supports, and F1, against what varies."""
    return (
        LineFigure(TRUTH, x_label, log_x=log_x),
        LineFigure(F1, x_label, log_x=log_x, suffix="-f1"),
    )


@dataclass(frozen=True)
class SupportRecovery(Recipe):
    """One generated data set, and draws of every method.

    Attributes
    ----------
    x : float
        What varies.
    n, p, s : int
    methods : tuple of str
    draws : int
        Draws of each method; sample-and-aggregate, which divides rows each time, has `vote_draws`.
    panel : str
    snr, rho : float
        Signal-to-noise ratio and correlation of the data.
    ridge, bound, radius : float
        λ, the bound of X and y (of X for the hinge loss), and r.
    epsilon : float
    loss : {"squared", "hinge"}
    pool : int
        R; 0 is the paper's 2 + s(p - s).
    steps : int
        Steps of a chain, in the ℓ1 ball of `chain_radius`.
    seconds : float
        For a search, or a draw.
    """

    x: float
    n: int
    p: int
    s: int
    methods: tuple[str, ...]
    draws: int
    vote_draws: int = 10
    panel: str = ""
    snr: float = 5.0
    rho: float = 0.1
    ridge: float = 120.0
    bound: float = 0.5
    radius: float = 1.1
    epsilon: float = 1.0
    loss: str = "squared"
    pool: int = 0
    steps: int = 1000
    chain_radius: float = 3.5
    seconds: float = 600.0

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return f"{self.panel + ', ' if self.panel else ''}x = {self.x:g}, n = {self.n:,}"

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        problem = Problem.generated(self, data.number)
        read = partial(Reading, self.panel, x=self.x)
        for method in self.methods:
            # Each with randomness of its own: another list of methods changes no draw.
            own = random.Random(f"{seed} {method}")
            try:
                mechanism = problem.mechanism(method)
                supports = [mechanism.sample(own) for _ in range(problem.draws(method))]
            except NotCertified:
                yield read(method=method, metric=CERTIFIED.key, value=0.0)
                continue
            if isinstance(mechanism, TopR | Mistakes):
                yield read(method=method, metric=CERTIFIED.key, value=1.0)
                yield read(method=method, metric=TOLERANCE.key, value=problem.tolerance(mechanism))
                chance = math.exp(mechanism.log_probability(sorted(problem.true_support)))
                yield read(method=method, metric=CHANCE.key, value=chance)
            if method == MISTAKES:
                yield read(method=method, metric=CONDITION.key, value=problem.condition)
            for key, value in problem.scored(supports).items():
                yield read(method=method, metric=key, value=value)


class Problem:
    """The data of a recipe, and what the methods share: computed once, when asked for."""

    def __init__(
        self, recipe: SupportRecovery, X: FloatArray, y: FloatArray, data_seed: int = 0
    ) -> None:
        self.recipe, self.X, self.y, self.data_seed = recipe, X, y, data_seed

    @classmethod
    def generated(cls, recipe: SupportRecovery, data_seed: int) -> Problem:
        """Generate new data."""
        make = logistic_gaussian if recipe.loss == "hinge" else correlated_gaussian
        X, y = make(
            recipe.n,
            recipe.p,
            rho=recipe.rho,
            snr=recipe.snr,
            support_size=recipe.s,
            seed=data_seed,
        )
        return cls(recipe, X, y, data_seed)

    @cached_property
    def instance(self) -> Instance:
        """The restricted problem, clipped."""
        recipe = self.recipe
        return Instance(
            self.X,
            self.y,
            support_size=recipe.s,
            x_bound=recipe.bound,
            y_bound=1.0 if recipe.loss == "hinge" else recipe.bound,
            coef_bound=recipe.radius,
            ridge=recipe.ridge,
            loss=recipe.loss,
        )

    @cached_property
    def blocks(self) -> Instance:
        """Least squares on pairs of rows."""
        return Instance.from_blocks(
            self.X, self.y, support_size=self.recipe.s, partition_seed=self.data_seed
        )

    @cached_property
    def levels(self) -> MistakeLevels:
        """Mistake levels with the certified optimum."""
        return mistake_levels(self.instance, time_limit=self.recipe.seconds)

    @property
    def condition(self) -> float:
        """Indicator that the condition of mistakes is proven: 1 or 0."""
        return float(exceeds_condition(self.levels.gap, self.levels.sensitivity))

    def tolerance(self, mechanism: TopR | Mistakes) -> float:
        """Return that of the certificate that it is drawn from."""
        return (mechanism.pool if isinstance(mechanism, TopR) else self.levels).tolerance

    @property
    def true_support(self) -> frozenset[int]:
        """The columns of the model."""
        return frozenset(range(1, 2 * self.recipe.s, 2))

    def draws(self, method: str) -> int:
        """Return how often a method is drawn from."""
        return self.recipe.vote_draws if method == VOTES else self.recipe.draws

    def mechanism(self, method: str) -> Mechanism[Support]:
        """Return what a method draws from, at ε under replace-one."""
        builders: dict[str, Callable[[], Mechanism[Support]]] = {
            TOP_R: lambda: self._top_r(self.recipe.pool),
            WIDE: lambda: self._top_r(WIDE_POOL),
            MISTAKES: lambda: Mistakes(self.levels, self.recipe.epsilon),
            EXACT: lambda: self._exact(ExponentialMechanism, self.instance),
            SIZES: lambda: self._exact(ExponentialMechanism, self.instance, range(1, 11)),
            FLIP: lambda: self._exact(PermuteAndFlip, self.instance),
            BLOCKS: lambda: self._exact(ExponentialMechanism, self.blocks),
            FLIP_BLOCKS: lambda: self._exact(PermuteAndFlip, self.blocks),
            MCMC: lambda: self._chain(1.0),
            MCMC_CODE: lambda: self._chain(2.0),
            MCMC_LONG: lambda: self._chain(1.0),
            VOTES: self._votes,
        }
        return builders[method]()

    def scored(self, supports: list[Support]) -> dict[str, float]:
        """Compare draws with the truth, and with the certified optimum where it is known."""
        found = _compared(supports, self.true_support, TRUTH.key, F1.key)
        try:
            optimum = frozenset(self.levels.supports[0].tolist())
        except NotCertified:
            return found
        return {**found, **_compared(supports, optimum, OPTIMUM.key, F1_OPTIMUM.key)}

    def _top_r(self, pool: int) -> TopR:
        size: int | Literal["one-swap"] = "one-swap"
        if pool:
            size = min(pool, self.instance.number_of_supports)
        found = top_supports(self.instance, size, time_limit=self.recipe.seconds)
        return TopR(found, self.recipe.epsilon)

    def _exact(
        self,
        law: type[ExponentialMechanism | PermuteAndFlip],
        instance: Instance,
        sizes: range | None = None,
    ) -> ExponentialMechanism | PermuteAndFlip:
        return law(instance, self.recipe.epsilon, sizes=sizes, time_limit=self.recipe.seconds)

    def _chain(self, factor: float) -> Mechanism[Support]:
        selector = MCMCSelector(
            self.recipe.s,
            epsilon=factor * self.recipe.epsilon,
            x_bound=self.recipe.bound,
            y_bound=self.recipe.bound,
            coef_bound=self.recipe.chain_radius,
            n_steps=self.recipe.steps,
            random_state=0,
        )
        return selector.mechanism(self.X, self.y)

    def _votes(self) -> Mechanism[Support]:
        """Let blocks vote for all non-zeros, with Laplace noise of scale 2s/ε on the counts.

        Ballots need no bounds, so the rows are not clipped: in clipped blocks the penalty of the
        paper would leave no coefficient at all.
        """
        recipe = self.recipe
        of_classes = recipe.loss == "hinge"
        return SampleAggregate(
            self.X,
            self.y,
            recipe.s,
            recipe.epsilon,
            ballot=partial(hinge_ballot, s=recipe.s) if of_classes else squared_ballot,
            top_k=partial(OneShotTopK, noise="laplace"),
            relation="replace-one",
        )


def clipped(values: FloatArray, bound: float) -> FloatArray:
    """Clip entries to between -bound and bound."""
    return np.clip(values, -bound, bound)


def _compared(
    supports: list[Support], reference: frozenset[int], exact: str, f1: str
) -> dict[str, float]:
    chosen = [frozenset(support) for support in supports]
    sizes = len(reference)
    overlaps = [2.0 * len(reference & one) / (sizes + len(one)) for one in chosen]
    return {
        exact: sum(one == reference for one in chosen) / len(chosen),
        f1: sum(overlaps) / len(overlaps),
    }
