"""k items from scores: what selections state from public numbers alone; one-shot and peeling."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.noise.noise import noise_named
from mipselect.mechanisms.noise.quadrature import Competitors
from mipselect.mechanisms.scores import base
from mipselect.mechanisms.scores.noisy_max import NoisyMax, permute_and_flip
from mipselect.parameters import completed_by
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.guarantee import checked_relation
from mipselect.privacy.randomness import IntegerWeights, Rng, generator
from mipselect.validation import checked_epsilon, set_fields

MAX_FOLLOWED = 12
"""Up to this k the 2^k sets that draws one by one can pass through are all followed."""


def log_in_any_order(
    items: Sequence[int], following: Callable[[Support], Iterable[tuple[int, float]]]
) -> float:
    """Compute the log probability that the draws are these items, in whatever order.

    P(T) = Σ_{j ∈ T} P(T \\ {j}) P(j is drawn next after T \\ {j}) for every subset T of the items.

    Parameters
    ----------
    items : sequence of int
    following : callable
        From a subset, in the order of `items`, to the other items, each with the log of the
        probability that it is drawn next.

    Raises
    ------
    InvalidInput
        For more than `MAX_FOLLOWED` items.
    """
    if len(items) > MAX_FOLLOWED:
        raise InvalidInput(
            f"probabilities of draws one by one need all 2^k sets on the way; k must be at most "
            f"{MAX_FOLLOWED} for that, got {len(items)}"
        )
    reached = {frozenset[int](): 0.0}
    for size in range(len(items)):
        for gone in combinations(items, size):
            before = reached[frozenset(gone)]
            for item, log in following(gone):
                grown = frozenset((*gone, item))
                so_far = reached.get(grown, -np.inf)
                reached[grown] = float(np.logaddexp(so_far, before + log))
    return reached[frozenset(items)]


@completed_by(NoisyMax)
@dataclass(frozen=True, eq=False)
class TopKMechanism(base.ScoreMechanism[Support]):
    """k of d items, selected by fixed scores.

    Parameters
    ----------
    k : int
        1 ≤ k ≤ d.
    epsilon : float
        ε > 0, finite; for all k items together.
    """

    scores: ArrayLike = field(repr=False)
    k: int
    epsilon: float
    sensitivity: float = field(default=1.0, kw_only=True)
    relation: str = field(default="replace-one", kw_only=True)

    def __post_init__(self) -> None:
        scores = base.checked_scores(self.scores)
        set_fields(
            self,
            scores=scores,
            k=base.checked_count(self.k, scores.size),
            epsilon=checked_epsilon(self.epsilon),
            sensitivity=base.checked_sensitivity(self.sensitivity),
        )
        checked_relation(self.relation)
        _ = self._spendable

    @property
    @abstractmethod
    def _spendable(self) -> float:
        """What rounding leaves of the ε of a draw; `InvalidInput` if that is too little."""

    @cached_property
    def _order(self) -> IntArray:
        """Indices, best first; of equal scores the earlier."""
        return np.argsort(-np.asarray(self.scores), kind="stable")


class TopK(Protocol):
    """Builds a mechanism that selects k items from scores of the given sensitivity."""

    def __call__(
        self, scores: ArrayLike, k: int, epsilon: float, *, sensitivity: float, relation: str
    ) -> base.ScoreMechanism[Any]:
        """Return the mechanism."""


@completed_by(TopKMechanism)
@dataclass(frozen=True, eq=False)
class _NoisyTopK(TopKMechanism):
    """Common part of one-shot and peeling; with Gumbel noise they are the same law.

    Parameters
    ----------
    noise : {"exponential", "gumbel", "laplace", "logistic", "half-logistic"}
        As for `NoisyMax`.
    """

    noise: str = field(default="gumbel", kw_only=True)
    _kind: ClassVar[str]

    @property
    def name(self) -> str:
        """Name of the mechanism in a release."""
        return f"{self._kind}-{self.noise}"

    def sample(self, rng: Rng = None) -> Support:
        """Draw k sorted indices. See `Mechanism.sample`."""
        source, _ = generator(rng)
        if self.noise == "gumbel":
            # Without replacement, each time with probability proportional to exp(utility).
            return self._drawn(
                lambda left: IntegerWeights.from_logs(self._utilities[left]).draw(source)
            )
        return self._sample(source)

    @abstractmethod
    def _sample(self, source: random.Random) -> Support:
        """Draw with another noise than Gumbel."""

    @property
    def rho(self) -> float | None:
        """ε²/8k with Gumbel noise, k exponential mechanisms at ε/k; else no ρ is claimed."""
        return bounded_range_rho(self.epsilon, self.k) if self.noise == "gumbel" else None

    @property
    def _spendable(self) -> float:
        return base.spendable(self.epsilon / self.k, noise_named(self.noise).rounded)

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log probability of a set of k indices. See `Distribution.log_probability`."""
        chosen = np.array(base.checked_items(outcome, self.k, self._utilities.size))
        return 0.0 if self.k == self._utilities.size else self._log_probability(chosen)

    def _log_probability(self, chosen: IntArray) -> float:
        """Compute the log probability that noisy utilities of k < d items are the k largest."""
        competitors, best = self._without(chosen)
        return competitors.log_all_above(self._utilities[chosen] - best)

    @cached_property
    def _utilities(self) -> FloatArray:
        """ε (q - q_[k]) / 2kΔ."""
        share, rounded = self.epsilon / self.k, noise_named(self.noise).rounded
        scores = np.asarray(self.scores)
        return base.utilities(scores, share, self.sensitivity, place=self.k, noise=rounded)

    def _without(self, gone: Sequence[int] | IntArray) -> tuple[Competitors, float]:
        """Leave those items out; utilities of the rest are relative to the best of them."""
        rest = np.delete(self._utilities, gone)
        best = float(rest.max())
        return Competitors(noise_named(self.noise), rest - best, np.zeros(rest.size)), best

    def _drawn(self, place: Callable[[IntArray], int]) -> Support:
        """Draw k sorted indices, by the place of each among those that are left, sorted."""
        every = left = np.arange(self._utilities.size)
        for _ in range(self.k):
            left = np.delete(left, place(left))
        return tuple(np.delete(every, left).tolist())


@completed_by(_NoisyTopK)
@dataclass(frozen=True, eq=False)
class OneShotTopK(_NoisyTopK):
    """The k largest of ε q/(2kΔ) + noise, as a set.

    Notes
    -----
    With Gumbel noise this is the same law as `Peeling`, and drawn in integers; all others are
    drawn in double precision, see `NoisyMax`. Probabilities are quadratures.

    References
    ----------
    "Differentially Private Top-k Selection via Canonical Lipschitz Mechanism", definition 2.1
    and theorem 4.1; Qiao, Su and Zhang, "Oneshot differentially private top-k selection", 2021.

    Examples
    --------
    >>> from mipselect.mechanisms import OneShotTopK
    >>> OneShotTopK([50, 40, 9, 1], 2, 10.0, noise="exponential").sample(rng=0)
    (0, 1)
    """

    _kind = "one-shot"

    def _sample(self, source: random.Random) -> Support:
        size = self._utilities.size
        noisy = self._utilities + noise_named(self.noise).largest(source, np.zeros(size))
        best = np.argpartition(-noisy, self.k - 1)[: self.k]
        return tuple(sorted(best.tolist()))


@completed_by(_NoisyTopK)
@dataclass(frozen=True, eq=False)
class Peeling(_NoisyTopK):
    """Draw `NoisyMax` k times without replacement, with ε/k each; the outcome is a set.

    Notes
    -----
    Draws with Gumbel noise are made in integers, and with exponential noise in fractions. The
    other noises are drawn in double precision; see `NoisyMax`.

    Probabilities are quadratures; with another noise than Gumbel up to k = `MAX_FOLLOWED`.

    References
    ----------
    Durfee and Rogers, "Practical differentially private top-k selection with pay-what-you-get
    composition", 2019; the Lipschitz mechanism as in `NoisyMax`.

    Examples
    --------
    >>> from mipselect.mechanisms import Peeling
    >>> mechanism = Peeling([50, 40, 9, 1], 2, 10.0)
    >>> mechanism.sample(rng=0)
    (0, 1)
    >>> mechanism.guarantee.rho
    6.25
    """

    _kind = "peeling"

    def _sample(self, source: random.Random) -> Support:
        if self.noise == "exponential":
            fractions = [Fraction(u) for u in self._utilities.tolist()]
            return self._drawn(lambda left: permute_and_flip([fractions[j] for j in left], source))

        def largest(left: IntArray) -> int:
            noise = noise_named(self.noise).largest(source, np.zeros(left.size))
            return int(np.argmax(self._utilities[left] + noise))

        return self._drawn(largest)

    def _log_probability(self, chosen: IntArray) -> float:
        if self.noise == "gumbel":
            return super()._log_probability(chosen)

        def following(gone: Support) -> Iterator[tuple[int, float]]:
            wanted = [j for j in chosen.tolist() if j not in gone]
            competitors, best = self._without(gone)
            logs = competitors.log_wins(self._utilities[wanted] - best, np.zeros(len(wanted)))
            return zip(wanted, logs.tolist(), strict=True)

        return log_in_any_order(chosen.tolist(), following)
