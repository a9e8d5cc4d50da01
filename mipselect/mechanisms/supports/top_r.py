"""Top-R: the exponential mechanism with all but the R best supports tied."""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import checked_support
from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Support, SupportMechanism
from mipselect.mechanisms.supports import base
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.randomness import IntegerWeights, Rng, generator, uniform_subset
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.validation import checked_epsilon, set_fields


@dataclass(frozen=True, eq=False)
class TopR(SupportMechanism):
    """P(S) ∝ exp(-ε R(S) / 2(Δ + τ)) for a listed S, and with the R-th value for all others.

    Parameters
    ----------
    pool : SupportPool
        Certified: every unlisted support has R(S) ≥ the R-th value - τ, with
        τ = pool.tolerance · pool.sensitivity.
    epsilon : float
        ε > 0, finite.

    Raises
    ------
    NotCertified
        If the pool does not prove what its tolerance says.
    InvalidInput
        If `pool` is not a pool, or `epsilon` is out of its range.

    Notes
    -----
    What the pool gives has sensitivity Δ + τ (docs/mathematics/top-r-and-mistakes.md, (2)). τ must
    have been chosen without looking at the data.

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    section 2.1.1 and theorem 1, where τ = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect import TopR, load_instance, top_supports
    >>> draw = TopR(top_supports(load_instance("tiny-plain"), 10), epsilon=2.0)
    >>> len(draw.sample())
    3
    >>> float(np.exp(draw.log_probability([1, 4, 6]))) > 1 / 56
    True
    """

    pool: SupportPool
    epsilon: float
    name = "top-r"

    def __post_init__(self) -> None:
        if not isinstance(self.pool, SupportPool):
            levels = isinstance(self.pool, MistakeLevels)
            raise InvalidInput(
                "TopR draws from the SupportPool that top_supports returns, got "
                f"{type(self.pool).__name__}{'; use Mistakes(levels, epsilon)' if levels else ''}"
            )
        set_fields(self, epsilon=checked_epsilon(self.epsilon))
        self.pool.require_certified()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The p names."""
        return self.pool.feature_names

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under replace-one, without conditions, and ρ = ε²/8."""
        return Guarantee(self.epsilon, rho=bounded_range_rho(self.epsilon))

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """Guarantees; add-remove has (ε/2)(1 + τ/(Δ+τ)), for a further row only raises n R(S)."""
        cost = base.one_direction(self.epsilon, self.pool.tolerance)
        return base.both_relations(self.guarantee, cost, self.pool.relations)

    def sample(self, rng: Rng = None) -> Support:
        """Draw a support: s sorted column indices. See `Mechanism.sample`."""
        source, _ = generator(rng)
        pool = self.pool
        drawn = self._weights.draw(source)
        if drawn < len(pool):
            return tuple(sorted(pool.supports[drawn].tolist()))
        return self._uniform_unlisted(source)

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log of the probability of any support, unlisted ones too. Sensitive."""
        pool = self.pool
        support = checked_support(outcome, pool.supports.shape[1], pool.n_features)
        listed = pool.position(support)
        if listed is not None:
            return self._weights.log_probability(listed)
        return self._weights.log_probability(len(pool), pool.number_unlisted)

    @cached_property
    def _weights(self) -> IntegerWeights:
        """One for every listed support, then one for the class of all the others, if any."""
        pool = self.pool
        values, multiplicities = pool.values, {}
        if pool.number_unlisted:
            values = np.append(values, values[-1])
            multiplicities = {len(pool): pool.number_unlisted}
        logs = base.score_log_weights(values, self.epsilon, pool.widened_sensitivity)
        return IntegerWeights.from_logs(logs, multiplicities)

    def _uniform_unlisted(self, source: random.Random) -> Support:
        """Draw an unlisted support, all equally likely.

        As long as at least every other support is unlisted, by drawing again until one is;
        else by its number among the unlisted, which takes the ranks of all the listed ones.
        """
        pool = self.pool
        p, s = pool.n_features, pool.supports.shape[1]
        if pool.number_unlisted >= len(pool):
            while pool.position(support := uniform_subset(source, p, s)) is not None:
                pass
            return support
        number = source.randrange(pool.number_unlisted)
        return base.unrank(number + bisect_right(self._unlisted_before, number), p, s)

    @cached_property
    def _unlisted_before(self) -> list[int]:
        """Number of unlisted supports before each listed one, in lexicographic order."""
        p = self.pool.n_features
        ranks = sorted(base.rank(support, p) for support in self.pool.supports.tolist())
        return [number - before for before, number in enumerate(ranks)]
