"""Selection from scores: what its mechanisms have in common, and what they state."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import ArrayLike

from mipselect.mechanisms.base import Distribution, Mechanism, Outcome
from mipselect.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Estimate:
    """A log probability and how it was found.

    Attributes
    ----------
    log_probability : float
    error : float
        An error bar of `log_probability`: zero for a closed form, which is right up to rounding;
        the difference between two rules for a quadrature; two standard errors for Monte Carlo.
    method : {"closed form", "quadrature", "Monte Carlo"}
    """

    log_probability: float
    error: float
    method: Literal["closed form", "quadrature", "Monte Carlo"]


class ScoreDistribution(Distribution[Outcome]):
    """A law over items, sets of items or rankings of them, given scores."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether probabilities are in closed form; otherwise `estimate` has an error bar."""

    @abstractmethod
    def estimate(self, outcome: ArrayLike) -> Estimate:
        """Log of the probability of `outcome`, with an error bar. Sensitive.

        Raises
        ------
        InvalidInput
            If `sample` never returns anything like `outcome`.
        """

    def log_probability(self, outcome: ArrayLike) -> float:
        """Log of the probability that `sample` returns `outcome`. Sensitive.

        Raises
        ------
        InvalidInput
            If `sample` never returns anything like `outcome`.
        """
        return self.estimate(outcome).log_probability


class ScoreMechanism(ScoreDistribution[Outcome], Mechanism[Outcome]):
    """A law given scores that is private, by what `scores.utilities` says about rounding.

    Subclasses have an `epsilon` and a `relation`.
    """

    epsilon: float
    relation: str

    @property
    def rho(self) -> float | None:
        """ρ of zero-concentrated privacy, where less than ε²/2 is proven; else None."""
        return None

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under `relation`, without conditions, with `rho`."""
        return Guarantee(self.epsilon, relation=self.relation, rho=self.rho)


def set_checked(instance: Any, **fields: Any) -> None:
    """Put checked values in place of what a frozen dataclass was given."""
    for name, value in fields.items():
        object.__setattr__(instance, name, value)
