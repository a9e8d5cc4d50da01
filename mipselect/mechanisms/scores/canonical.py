"""k items from scores at once: the canonical Lipschitz mechanism.

Utility classes count how many k-subsets share a head and a tail. Ranks are 1, 2, ..., d, best
first, as in the paper. A class is (h, t): its subsets contain the ranks 1..h, lack h + 1, contain t
and nothing after t, and k - h - 1 of the ranks h + 2..t - 1. The k best ranks are a class of their
own, with h = k - 1 and t = k (docs/mathematics/score-mechanisms.md, (6)).
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.noise.noise import noise_named
from mipselect.mechanisms.noise.quadrature import Competitors
from mipselect.mechanisms.scores import base
from mipselect.mechanisms.scores.top_k import TopKMechanism
from mipselect.parameters import completed_by
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.randomness import IntegerWeights, Rng, generator, uniform_subset
from mipselect.validation import checked_share, set_fields


@dataclass(frozen=True)
class HeadTailClasses:
    """The k-subsets of d ranks by head and tail: k (d - k) + 1 classes.

    Class 0 is the k best ranks, class 1 + h (d - k) + (t - k - 1) is (h, t).

    Parameters
    ----------
    d, k : int
        1 ≤ k ≤ d.
    """

    d: int
    k: int

    @cached_property
    def log_sizes(self) -> FloatArray:
        """log C(t - h - 2, k - h - 1), a sum of k - h - 1 positive terms."""
        later = np.arange(self.d - self.k, dtype=np.float64)
        sizes = np.zeros((self.k, later.size))
        coarse, fine = np.zeros_like(later), np.zeros_like(later)
        for h in range(self.k - 2, -1, -1):
            more_coarse, more_fine = base.split(np.log1p(later / (self.k - h - 1)))
            coarse += more_coarse
            fine += more_fine
            sizes[h] = coarse + fine
        return np.append(0.0, sizes)

    def head_and_tail(self, index: int) -> tuple[int, int]:
        """Return (h, t)."""
        if index == 0:
            return self.k - 1, self.k
        h, later = divmod(index - 1, self.d - self.k)
        return h, self.k + 1 + later

    def utilities(self, ranked: FloatArray, gamma: float) -> FloatArray:
        """Compute -(1 - γ) (x_[h+1] - x_[k]) - γ (x_[k] - x_[t]): minus the loss beyond the best.

        Parameters
        ----------
        ranked : float array, shape (d,)
            x = ε q/(2Δ) in descending order. Where that of rank k is 0, rounding takes nothing.
        gamma : float
            γ.
        """
        kth = ranked[self.k - 1]
        heads = (1.0 - gamma) * (kth - ranked[: self.k])
        tails = gamma * (ranked[self.k :] - kth)
        return np.append(0.0, heads[:, None] + tails)

    def index(self, ranks: Support) -> int:
        """Return the class of k sorted ranks."""
        if ranks[-1] == self.k:
            return 0
        head = next(h for h, rank in enumerate(ranks) if rank != h + 1)
        return 1 + head * (self.d - self.k) + ranks[-1] - self.k - 1

    def member(self, index: int, source: random.Random) -> Support:
        """Draw the ranks of a subset of a class, all equally likely; sorted."""
        h, t = self.head_and_tail(index)
        if index == 0:
            return tuple(range(1, self.k + 1))
        body = uniform_subset(source, t - h - 2, self.k - h - 1)
        return (*range(1, h + 1), *(h + 2 + j for j in body), t)

    def log_shares(self, prefix: int, last: int) -> FloatArray:
        """Return the log share of each class that has ranks 1..prefix and none after `last`.

        Zero where h ≥ prefix and t ≤ last, else ``-inf``; the k best ranks always count.
        """
        shares = np.full((self.k, self.d - self.k), -np.inf)
        shares[prefix:, : max(last - self.k, 0)] = 0.0
        return np.append(0.0, shares)


@dataclass(frozen=True)
class TailClasses:
    """The d - k + 1 classes by t alone, which are enough for γ = 1; class t - k is t."""

    d: int
    k: int

    @cached_property
    def log_sizes(self) -> FloatArray:
        """log C(t - 1, k - 1), from t to t + 1 by t / (t - k + 1)."""
        t = np.arange(self.k, self.d, dtype=np.float64)
        return np.append(0.0, base.accumulated(np.log1p((self.k - 1) / (t - self.k + 1))))

    def utilities(self, ranked: FloatArray, gamma: float) -> FloatArray:
        """Compute -(x_[k] - x_[t]); γ is 1."""
        utilities: FloatArray = ranked[self.k - 1 :] - ranked[self.k - 1]
        return utilities

    def index(self, ranks: Support) -> int:
        """Return the class of k sorted ranks."""
        return ranks[-1] - self.k

    def member(self, index: int, source: random.Random) -> Support:
        """Draw everything before the tail uniformly."""
        t = self.k + index
        return (*(1 + j for j in uniform_subset(source, t - 1, self.k - 1)), t)

    def log_shares(self, prefix: int, last: int) -> FloatArray:
        """Compute C(t - 1 - prefix, k - 1 - prefix) / C(t - 1, k - 1) where t ≤ last."""
        t = np.arange(self.k, self.d + 1, dtype=np.float64)
        shares = np.where(t <= last, 0.0, -np.inf)
        for j in range(min(prefix, self.k - 1)):
            shares += np.log((self.k - 1 - j) / (t - 1 - j))
        if prefix >= self.k:
            shares[:] = -np.inf
        shares[0] = 0.0
        return shares


CHUNK = 1 << 17
"""Classes that get their noise in one go."""


@completed_by(TopKMechanism)
@dataclass(frozen=True, eq=False)
class CanonicalLipschitz(TopKMechanism):
    """The k-subset with the largest -ε loss/2 + noise, of all C(d, k) subsets.

    With scores x = q/Δ in descending order, the loss of a subset is (1 - γ) x_[h+1] - γ x_[t]:
    h + 1 is the rank of the best item that it lacks, t of the worst item that it has. For the k
    best items both are x_[k].

    Parameters
    ----------
    noise : {"exponential", "gumbel", "laplace", "logistic", "half-logistic"}
    gamma : float
        γ in [0, 1]. ½ compares the best missing with the worst present item; 1 looks at the
        worst present item alone and takes O(d).

    Notes
    -----
    All subsets with the same (h, t) share their loss, so a draw needs the largest noise of each
    class, then a uniform member of the winning class; O(dk) time and memory.

    With Gumbel noise it is an exponential mechanism, ρ = ε²/8; draws are made in integers, and
    probabilities are in closed form. Other noise, one for each class, is drawn in double precision,
    see `NoisyMax`, and probabilities are quadratures. The member is always drawn exactly. What
    rounding may cost, of scores, of the logs of the class sizes and of noise, is taken off ε first.

    References
    ----------
    "Differentially Private Top-k Selection via Canonical Lipschitz Mechanism", theorem 3.5 and
    appendix A.1.

    Examples
    --------
    >>> from mipselect.mechanisms import CanonicalLipschitz
    >>> counts = [912, 885, 301, 288, 120, 47, 12, 3]
    >>> mechanism = CanonicalLipschitz(counts, 2, 0.1, sensitivity=0.5, relation="add-remove")
    >>> mechanism.release().private
    True
    >>> round(mechanism.event_probability("TOP"), 6)
    1.0
    """

    noise: str = field(default="exponential", kw_only=True)
    gamma: float = field(default=0.5, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, gamma=checked_share(self.gamma, "gamma", closed=True))

    @property
    def rho(self) -> float | None:
        """ε²/8 with Gumbel noise, an exponential mechanism; else no ρ is claimed."""
        return bounded_range_rho(self.epsilon) if self.noise == "gumbel" else None

    @property
    def name(self) -> str:
        """Name of the mechanism in a release."""
        return f"canonical-lipschitz-{self.noise}"

    @cached_property
    def classes(self) -> HeadTailClasses | TailClasses:
        """The utility classes, in the order of `class_log_probabilities`. Public."""
        d = np.size(self.scores)
        return TailClasses(d, self.k) if self.gamma == 1.0 else HeadTailClasses(d, self.k)

    def sample(self, rng: Rng = None) -> Support:
        """Draw k sorted indices. See `Mechanism.sample`."""
        source, _ = generator(rng)
        if self.noise == "gumbel":
            winner = self._weights.draw(source)
        else:
            winner, best = 0, -math.inf
            noise, log_sizes = noise_named(self.noise), self.classes.log_sizes
            for start in range(0, log_sizes.size, CHUNK):
                part = slice(start, start + CHUNK)
                noisy = self._utilities[part] + noise.largest(source, log_sizes[part])
                place = int(np.argmax(noisy))
                if noisy[place] > best:
                    winner, best = start + place, float(noisy[place])
        ranks = np.array(self.classes.member(winner, source))
        return tuple(sorted(self._order[ranks - 1].tolist()))

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log probability of a set of k indices. See `Distribution.log_probability`."""
        chosen = base.checked_items(outcome, self.k, np.size(self.scores))
        index = self.classes.index(tuple(sorted((self._ranks[list(chosen)]).tolist())))
        if self.noise == "gumbel":
            return self._weights.log_probability(index) - float(self.classes.log_sizes[index])
        return float(self._competitors.log_wins(self._utilities[[index]], np.zeros(1))[0])

    def class_log_probabilities(self) -> FloatArray:
        """Return the log of the probability of each utility class. Sensitive.

        Returns
        -------
        float array, shape (k (d - k) + 1,), or (d - k + 1,) for γ = 1
            In the order of `classes`: first the k best items, then (h, t) for h = 0..k-1 and
            t = k+1..d; for γ = 1, t = k..d.
        """
        if self.noise == "gumbel":
            return self._weights.log_probabilities()
        return self._competitors.log_wins(self._utilities, self.classes.log_sizes)

    def event_probability(self, event: str) -> float:
        """Return the probability that the outcome is as good as `event` says. Sensitive.

        Parameters
        ----------
        event : {"TOP", "GREAT", "GOOD"}
            "TOP" is the k best items. "GREAT" has the k/10 best items, rounded up, and nothing
            outside the 11k/10 best, rounded down; "GOOD" the same with k/100 and 3k/2. With
            ties, the earlier index counts as better.

        References
        ----------
        The canonical Lipschitz paper, appendix A.2.
        """
        k = self.k
        events = {
            "TOP": (k, k),
            "GREAT": (-(-k // 10), 11 * k // 10),
            "GOOD": (-(-k // 100), 3 * k // 2),
        }
        if event not in events:
            raise InvalidInput(f"event must be 'TOP', 'GREAT' or 'GOOD', got {event!r}")
        shares = self.classes.log_shares(*events[event])
        some = shares > -np.inf
        if self.noise == "gumbel":
            logs = self._weights.log_probabilities()[some]
        else:
            sizes = self.classes.log_sizes[some]
            logs = self._competitors.log_wins(self._utilities[some], sizes)
        return float(np.exp(logsumexp(logs + shares[some])))

    @cached_property
    def _ranks(self) -> IntArray:
        """The rank of each index, from 1."""
        ranks = np.empty_like(self._order)
        ranks[self._order] = np.arange(1, ranks.size + 1)
        return ranks

    @cached_property
    def _utilities(self) -> FloatArray:
        """Utility of each class, less that of the k best; includes the factor 1/2 of -ε loss/2."""
        scores = np.asarray(self.scores)
        ranked = base.ranked_gaps(scores, self._spendable, self.sensitivity, self.k)
        utilities = self.classes.utilities(ranked, self.gamma)
        return np.maximum(utilities, -base.reach(self.epsilon, self._log_outcomes))

    @cached_property
    def _competitors(self) -> Competitors:
        return Competitors(noise_named(self.noise), self._utilities, self.classes.log_sizes)

    @cached_property
    def _weights(self) -> IntegerWeights:
        sizes = self.classes.log_sizes
        return IntegerWeights.from_logs(
            self._utilities, log_sizes=sizes, log_outcomes=self._log_outcomes
        )

    @property
    def _spendable(self) -> float:
        return base.spendable(self.epsilon, self._log_outcomes + noise_named(self.noise).rounded)

    @property
    def _log_outcomes(self) -> float:
        """log C(d, k)."""
        return math.log(math.comb(np.size(self.scores), self.k))
