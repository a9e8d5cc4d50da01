"""k items, one by one, from scores that depend on what was chosen before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import IntArray, ScoreArray
from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.scores import base
from mipselect.mechanisms.scores.noisy_max import NoisyMax
from mipselect.mechanisms.scores.top_k import log_in_any_order
from mipselect.parameters import completed_by
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.guarantee import checked_relation
from mipselect.privacy.randomness import IntegerWeights, Rng, generator
from mipselect.validation import checked_epsilon, set_fields

KEPT_SETS = 64
"""The scores of so many chosen sets are kept."""


@completed_by(NoisyMax)
@dataclass(frozen=True, eq=False)
class AdaptivePeeling(base.ScoreMechanism[Support]):
    """k draws without replacement, scored anew after each; the outcome is a set.

    Round t draws one of the items that are left with probability proportional to
    exp((ε/k) q / 2Δ_t), which is the largest of q plus Gumbel noise. By composition the k draws
    are ε-differentially private together.

    Parameters
    ----------
    scores : callable
        From the items chosen so far, a sorted tuple, to q, shape (d,); larger is better. Finite;
        those of chosen items are not looked at. It must depend on the set alone. Sensitive.
    k : int
        1 ≤ k ≤ d.
    epsilon : float
        ε > 0, finite; for all k draws together.
    sensitivities : array_like of float, shape (k,)
        Δ_t > 0: how far a score of round t can move between neighbours, whatever was chosen.
    relation : {"replace-one", "add-remove"}
        The relation under which the Δ_t are meant.

    Notes
    -----
    Draws are made in integers. Probabilities are in closed form up to k = `MAX_FOLLOWED`, in
    2^k k steps; above that they are refused.

    References
    ----------
    "Better Private Linear Regression Through Better Private Feature Selection", algorithm 1;
    McSherry and Talwar, "Mechanism design via differential privacy", 2007, theorem 6.

    Examples
    --------
    >>> from mipselect.mechanisms import AdaptivePeeling
    >>> def scores(chosen):
    ...     return [4.0, 3.9, 1.0] if 0 not in chosen else [0.0, 0.0, 1.0]
    ...
    >>> mechanism = AdaptivePeeling(scores, 2, 50.0, sensitivities=[1.0, 1.0])
    >>> mechanism.sample(rng=1)
    (0, 2)
    """

    scores: Callable[[Support], ArrayLike] = field(repr=False)
    k: int
    epsilon: float
    sensitivities: ArrayLike = field(kw_only=True)
    relation: str = field(default="replace-one", kw_only=True)
    name = "adaptive-peeling"

    def __post_init__(self) -> None:
        set_fields(
            self, k=base.checked_count(self.k, self._size), epsilon=checked_epsilon(self.epsilon)
        )
        sensitivities = base.checked_sensitivity_of_draws(self.sensitivities, self.k)
        set_fields(self, sensitivities=sensitivities)
        checked_relation(self.relation)
        base.spendable(self._share)

    @property
    def rho(self) -> float | None:
        """ε²/8k, which holds for k exponential mechanisms at ε/k."""
        return bounded_range_rho(self.epsilon, self.k)

    def sample(self, rng: Rng = None) -> Support:
        """Draw k sorted indices. See `Mechanism.sample`."""
        source, _ = generator(rng)
        chosen: Support = ()
        for _ in range(self.k):
            left, weights = self._round(chosen)
            chosen = tuple(sorted((*chosen, int(left[weights.draw(source)]))))
        return chosen

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log probability of a set of k indices. See `Distribution.log_probability`.

        The order within a set that was drawn does not matter to later scores.

        Raises
        ------
        InvalidInput
            If `outcome` is not k distinct indices, or k is above `MAX_FOLLOWED`.
        """
        items = sorted(base.checked_items(outcome, self.k, self._size))

        def following(chosen: Support) -> Iterator[tuple[int, float]]:
            left, weights = self._round(chosen)
            for item in set(items).difference(chosen):
                yield item, weights.log_probability(int(np.searchsorted(left, item)))

        return log_in_any_order(items, following)

    @cached_property
    def _size(self) -> int:
        return self._kept_scores(()).size

    @cached_property
    def _kept_scores(self) -> Callable[[Support], ScoreArray]:
        return lru_cache(KEPT_SETS)(lambda chosen: base.checked_scores(self.scores(chosen)))

    @property
    def _share(self) -> float:
        """ε/k, rounded so that k of them are no more than ε."""
        return round_down(exact(self.epsilon) / self.k)

    def _round(self, chosen: Support) -> tuple[IntArray, IntegerWeights]:
        """Return the items that are left, sorted, and the law of the next draw."""
        scores = self._kept_scores(chosen)
        if scores.size != self._size:
            raise InvalidInput(
                f"scores must be {self._size} numbers in every round, got {scores.size} after "
                f"{len(chosen)} draws"
            )
        left = np.delete(np.arange(self._size), chosen)
        sensitivity = np.asarray(self.sensitivities)[len(chosen)]
        logs = base.utilities(scores[left], self._share, float(sensitivity))
        return left, IntegerWeights.from_logs(logs)
