"""A Markov chain over supports whose stationary law is the exponential mechanism's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from mipselect import validation
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.mechanisms.scores.base import checked_count
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.randomness import Rng, coin, generator, uniform_subset

MIXING_CONDITION = (
    "the law of the chain after {steps} steps is within total variation δ/(1 + e^ε) ≥ {distance} "
    "of its stationary law, on these data and on every neighbouring data set"
)


@dataclass(frozen=True, eq=False)
class MetropolisHastings(Mechanism[Support]):
    """Metropolis-Hastings with single swaps and stationary law ∝ exp(-ε R(S) / 2Δ).

    From a uniformly random support, each of the `n_steps` steps proposes to exchange one feature
    of the support for one outside, both uniform, and accepts with probability
    min(1, exp(-ε (R(S') - R(S)) / 2Δ)).

    Parameters
    ----------
    values : callable
        From a support, s sorted column indices, to R(S), finite. Called at most once for each
        support. Sensitive.
    names : sequence of str
        Names of the p features.
    support_size : int
        s, between 1 and p.
    epsilon : float
        ε > 0, finite.
    delta : float
        0 < δ < 1.
    sensitivity : float
        Δ > 0: how far R can move when a row is replaced.
    n_steps : int
        ≥ 1.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    (ε, δ) needs laws of the chain within total variation δ/(1 + e^ε) of the stationary ones
    (docs/mathematics/top-r-and-mistakes.md, (9)). Nothing here checks that so many steps are
    enough: it is a condition of the guarantee.

    The law of `sample` is that of the chain after `n_steps`, which nobody knows, so there is no
    `log_probability`, and no audit can have one.

    References
    ----------
    Roy and Tewari, "On the computational complexity of private high-dimensional model selection
    via the exponential mechanism", 2023.

    Examples
    --------
    >>> from mipselect.mechanisms import MetropolisHastings
    >>> chain = MetropolisHastings(
    ...     lambda support: float(sum(support)), ["a", "b", "c", "d"], 2, 2.0,
    ...     delta=1e-6, sensitivity=1.0, n_steps=200,
    ... )
    >>> len(chain.sample(rng=0)), len(chain.guarantee.conditions)
    (2, 1)
    """

    values: Callable[[Support], float] = field(repr=False)
    names: Sequence[str] = field(repr=False)
    support_size: int
    epsilon: float
    delta: float = field(kw_only=True)
    sensitivity: float = field(kw_only=True)
    n_steps: int = field(kw_only=True)
    name = "metropolis-hastings"

    def __post_init__(self) -> None:
        size = len(self.names)
        validation.set_fields(
            self,
            names=validation.checked_feature_names(self.names, size),
            support_size=checked_count(self.support_size, size),
            epsilon=validation.checked_epsilon(self.epsilon),
            delta=validation.checked_share(self.delta, "delta", closed=False),
            sensitivity=validation.checked_positive(self.sensitivity, "sensitivity"),
            n_steps=validation.checked_integer(self.n_steps, "n_steps", 1),
        )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The p names."""
        return tuple(self.names)

    @property
    def guarantee(self) -> Guarantee:
        """(ε, δ) under replace-one, on the condition `MIXING_CONDITION`."""
        return mixing_guarantee(self.epsilon, self.delta, self.n_steps)

    def sample(self, rng: Rng = None) -> Support:
        """Run the chain and return where it is after `n_steps`. See `Mechanism.sample`."""
        source, _ = generator(rng)
        p, s = len(self.names), self.support_size
        start = uniform_subset(source, p, s)
        if s == p:
            return start
        inside, outside = list(start), sorted(set(range(p)).difference(start))
        value = self._value(start)
        for _ in range(self.n_steps):
            i, j = source.randrange(s), source.randrange(p - s)
            inside[i], outside[j] = outside[j], inside[i]
            proposed = self._value(tuple(sorted(inside)))
            if coin(self.log_acceptance(value, proposed), source):
                value = proposed
            else:
                inside[i], outside[j] = outside[j], inside[i]
        return tuple(sorted(inside))

    def log_acceptance(self, value: float, proposed: float) -> float:
        """Compute min(0, -ε (R(S') - R(S)) / 2Δ), the log of the probability to accept a swap."""
        return min(0.0, -self.epsilon * ((proposed - value) / 2.0 / self.sensitivity))

    @cached_property
    def _value(self) -> Callable[[Support], float]:
        return cache(self.values)


def mixing_guarantee(epsilon: float, delta: float, n_steps: int) -> Guarantee:
    """Return the guarantee of a chain of `n_steps` steps, on the condition that it has mixed."""
    distance = delta * math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
    # Three digits round up by half a percent at most; a condition may only be too strict.
    condition = MIXING_CONDITION.format(steps=n_steps, distance=f"{0.995 * distance:.3g}")
    return Guarantee(epsilon, delta, conditions=(condition,))
