"""Exact draws over all supports; where they are few these are listed, the yardstick.

Laws are subclasses.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import combinations, islice
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from mipselect import validation
from mipselect.arrays import FloatArray, IntArray, checked_support
from mipselect.errors import InvalidInput, NotCertified
from mipselect.mechanisms.base import Support, SupportMechanism
from mipselect.mechanisms.supports.base import Interval, both_relations, one_direction, rank, unrank
from mipselect.mechanisms.supports.law import (
    Prior,
    Rate,
    checked_sizes,
    complexity_prior,
    exact_rate,
)
from mipselect.mechanisms.supports.rejection_sampler import SoftDraws
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.randomness import IntegerWeights, Rng, generator
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.restricted.prepared import PreparedLoss
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.progress import Deadline, ProgressCallback, Run, TimeUp

CHUNK = 4096
"""Supports that are evaluated between two looks at the clock."""


class ListedLaw(Protocol):
    """A law on 0..N-1, such as `IntegerWeights`."""

    def draw(self, source: random.Random) -> int:
        """Draw a number."""

    def log_probability(self, index: int) -> float:
        """Return the log of the probability that `draw` returns `index`."""

    def log_probabilities(self) -> FloatArray:
        """Return the log probability of every number, shape (N,)."""


class ListedDraws:
    """Every support with its weight, by size and then in lexicographic order.

    Parameters
    ----------
    problem : PreparedLoss or BlockScores
    p : int
    prior : Prior
    rate : Rate
    run : Run
        Its deadline is that of the evaluation.
    law : callable
        Makes the law of the supports, by number, from their weights.

    Raises
    ------
    NotCertified
        If the deadline passes first.
    """

    acceptance = 1.0

    def __init__(
        self,
        problem: PreparedLoss | BlockScores,
        p: int,
        prior: Prior,
        rate: Rate,
        run: Run,
        law: Callable[[IntegerWeights], ListedLaw],
    ) -> None:
        self._p, self._sizes = p, prior.sizes
        counts = [math.comb(p, size) for size in prior.sizes]
        self._starts = dict(zip(prior.sizes, np.cumsum([0, *counts]).tolist(), strict=False))
        values, priors = [], []
        run.stage, run.done, run.total = "listing", 0, sum(counts)
        try:
            for supports in self._chunks():
                run.tick()
                values.append(problem.values(supports))
                run.done += len(supports)
                priors.append(
                    prior.log_sizes[supports.shape[1]] + prior.log_features[supports].sum(axis=1)
                )
        except TimeUp as stop:
            raise NotCertified(
                f"time limit of {run.deadline.limit:g} s reached: {run.done:,} of "
                f"{run.total:,} supports were evaluated, and nothing is released",
            ) from stop
        R = np.concatenate(values)
        # Relative to the first, for R itself may be large against Δ.
        logs = np.concatenate(priors) - rate.rate * (R - R[0])
        self._law = law(IntegerWeights.from_logs(logs))

    def draw(self, source: random.Random) -> tuple[int, ...]:
        """Draw a support with exactly the law of the integer weights."""
        number = self._law.draw(source)
        size = max(size for size, start in self._starts.items() if start <= number)
        return unrank(number - self._starts[size], self._p, size)

    def log_probability(self, support: tuple[int, ...]) -> float:
        """Return the log of the probability of a support of one of the sizes."""
        return self._law.log_probability(self._starts[len(support)] + rank(support, self._p))

    def estimate(self, support: IntArray) -> Interval:
        """Return the log probability of a support, an interval of no width at all."""
        log = self.log_probability(tuple(support.tolist()))
        return Interval(log, log)

    def inclusion_probabilities(self) -> FloatArray:
        """Return the probability of every feature, shape (p,)."""
        chances, found, start = np.exp(self._law.log_probabilities()), np.zeros(self._p), 0
        for supports in self._chunks():
            share = chances[start : start + len(supports)]
            np.add.at(found, supports, share[:, None])
            start += len(supports)
        return found

    def _chunks(self) -> Iterator[IntArray]:
        for size in self._sizes:
            supports = combinations(range(self._p), size)
            while chunk := list(islice(supports, CHUNK)):
                yield np.array(chunk, dtype=np.intp)


MAX_LISTED = 1_000_000
"""More supports are not listed; their values and weights would fill the memory."""

MAX_LISTED_SOLVED = 5_000
"""More are not listed where every value is an optimisation problem to be solved."""

LARGEST_ALLOWANCE = 20.0
"""An exact draw is refused where every try is rejected with probability 1 - e^-20 or more."""


class ExactDraws(SupportMechanism):
    """A law over all supports that comes from the weights μ(S) exp(-c R(S)), drawn exactly.

    A subclass states the law: of listed supports, of cells, and what it pays for rounding.

    Parameters
    ----------
    instance : Instance or BlockScores
        For `BlockScores` R is -F, and all supports are listed.
    epsilon : float
        ε > 0, finite.
    sizes : iterable of int, optional
        Public sizes, such as range(1, 9): one draw gives the size and the support, at no
        further ε. w is that of the largest. Default: the instance's support size.
    complexity : float
        a ≥ 0 of the prior μ(S) = p^(-a|S|) / C(p, |S|): larger prefers smaller supports. It
        matters only where there are several sizes.
    prior_weights : array_like of shape (p,), optional
        ω_j > 0, public: μ(S) is multiplied by Π_{j∈S} ω_j (and divided by the sum of these
        products over the supports of that size). Default: equal.
    time_limit : float, optional
        Seconds for the preparation, and for every draw.
    progress : callable, optional
        Receives a `Progress` now and then. Sensitive.

    Raises
    ------
    InvalidInput
        If a number is out of its range, the loss has no bounds, or ε is too small or too large
        for draws that are exact up to what rounding is allowed.
    """

    _roundings: ClassVar[float]
    """Cost of rounding, in multiples of that of the exponential mechanism."""

    _listed_law: ClassVar[staticmethod[[IntegerWeights], ListedLaw]]
    """Makes the law where all supports are listed with these weights."""

    _soft_draws: ClassVar[type[SoftDraws]]
    """Draws by cells, where supports are too many to be listed."""

    rho_of: ClassVar[staticmethod[[float], float | None]]
    """The ρ that follows from an ε; None where no float can hold it."""

    def __init__(
        self,
        instance: Instance | BlockScores,
        epsilon: float,
        *,
        sizes: Iterable[int] | None = None,
        complexity: float = 1.0,
        prior_weights: ArrayLike | None = None,
        time_limit: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        self._instance = instance
        self._epsilon = validation.checked_epsilon(epsilon)
        self._sizes = checked_sizes(sizes, instance)
        complexity = validation.checked_nonnegative(complexity, "complexity")
        self._prior: Prior = complexity_prior(
            instance.n_features, self._sizes, complexity, prior_weights
        )
        self._time_limit = None if time_limit is None else validation.checked_time_limit(time_limit)
        self._progress = progress
        self._largest = instance.with_support_size(self._sizes[-1])
        self._rate: Rate = exact_rate(self._epsilon, self._largest, self._prior, self._roundings)
        if not self.listed and self._rate.allowance > LARGEST_ALLOWANCE:
            raise InvalidInput(
                f"epsilon = {self._epsilon:g} is too large for exact draws in double precision "
                "with so many rows: the error of values would reject nearly every try"
            )

    @property
    def epsilon(self) -> float:
        """ε."""
        return self._epsilon

    @property
    def rate(self) -> float:
        """c of the weights, less what rounding costs; public."""
        return self._rate.rate

    @property
    def instance(self) -> Instance | BlockScores:
        """The problem. Sensitive."""
        return self._instance

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that may be drawn, rising."""
        return self._sizes

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The p names."""
        return self._instance.feature_names

    @property
    def number_of_supports(self) -> int:
        """Number of supports of all sizes that may be drawn."""
        return sum(math.comb(self._instance.n_features, size) for size in self._sizes)

    @cached_property
    def listed(self) -> bool:
        """True if all supports are listed, so that `log_probability` is known."""
        if isinstance(self._instance, BlockScores):
            return True
        problem = self._largest.prepared
        if not isinstance(problem, PreparedSquared):
            return self.number_of_supports <= MAX_LISTED_SOLVED
        cost = problem.features.cost(self._largest.support_size)
        return self.number_of_supports <= MAX_LISTED / cost

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under replace-one, without conditions, and a ρ."""
        return Guarantee(self._epsilon, rho=self.rho_of(self._epsilon))

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """ε/2 under add-remove, since a further row can only raise n R(S); see `exact_rate`."""
        relations = self._instance.problem.relations
        cost = one_direction(self._epsilon)
        return both_relations(self.guarantee, cost, relations, rho_of=self.rho_of)

    @np.errstate(all="ignore")
    def prepare(self) -> None:
        """Do what every draw needs, before anything is paid for or drawn.

        Raises
        ------
        NotCertified
            If the time limit passes first.
        """
        _ = self._draws

    @np.errstate(all="ignore")
    def sample(self, rng: Rng = None) -> Support:
        """Draw a support: sorted column indices. See `Mechanism.sample`.

        Raises
        ------
        NotCertified
            If the time limit passes first; nothing was drawn.
        """
        source, _ = generator(rng)
        return self._draws.draw(source)

    @np.errstate(all="ignore")
    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log of the probability of any support, where all are listed. Sensitive.

        Raises
        ------
        NotCertified
            Where they are not: `estimate` of the exponential mechanism has a proven interval.
        """
        return self._listed.log_probability(tuple(self._checked(outcome).tolist()))

    @np.errstate(all="ignore")
    def estimate(self, outcome: ArrayLike) -> Interval:
        """Prove an interval for the log probability of any support. Sensitive.

        Parameters
        ----------
        outcome : array_like of int
            Distinct column indices, of one of the sizes.

        Raises
        ------
        NotCertified
            If the time limit passes first; by permute-and-flip where the supports are not listed.
        """
        return self._draws.estimate(self._checked(outcome))

    @np.errstate(all="ignore")
    def inclusion_probabilities(self) -> FloatArray:
        """Compute the probability that each feature is drawn, shape (p,). Sensitive.

        Raises
        ------
        NotCertified
            Where the supports are not all listed.
        """
        return self._listed.inclusion_probabilities()

    @property
    def acceptance(self) -> float:
        """Share of the tries that are accepted; a guess until something was drawn. Sensitive.

        1 where all supports are listed.
        """
        return self._draws.acceptance

    @property
    def _listed(self) -> ListedDraws:
        if isinstance(self._draws, ListedDraws):
            return self._draws
        raise NotCertified(
            f"the {self.number_of_supports:,} supports are not listed, so no probability is "
            "known to all digits; estimate(support) of the exponential mechanism is an interval",
            incumbent=0.0,
        )

    @cached_property
    def _draws(self) -> ListedDraws | SoftDraws:
        problem = self._largest.prepared
        if isinstance(problem, BlockScores) or self.listed:
            run, p = Run(Deadline(self._time_limit), self._progress), self._instance.n_features
            if isinstance(problem, BlockScores):
                score_within(problem, run)
            return ListedDraws(problem, p, self._prior, self._rate, run, self._listed_law)
        return self._soft_draws(problem, self._prior, self._rate, self._time_limit, self._progress)

    def _checked(self, outcome: ArrayLike) -> IntArray:
        size = np.size(outcome)
        if size not in self._sizes:
            sizes = ", ".join(map(str, self._sizes))
            raise InvalidInput(
                f"a support has one of the sizes {sizes}, got {validation.shown(outcome)}"
            )
        return np.array(checked_support(outcome, size, self._instance.n_features), dtype=np.intp)


def score_within(scores: BlockScores, run: Run) -> None:
    """Score all supports before the deadline of a run, and report how many blocks are done.

    Raises
    ------
    NotCertified
        If the deadline passes first.
    """
    run.stage = "scoring"

    def tick(done: int, total: int) -> None:
        run.done, run.total = done, total
        run.tick()

    try:
        scores.score(tick)
    except TimeUp as stop:
        raise NotCertified(
            f"time limit of {run.deadline.limit:g} s reached: {run.done:,} of "
            f"{run.total:,} blocks were scored, and nothing is released",
        ) from stop
