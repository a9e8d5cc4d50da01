"""Selection of k items by scores: what its mechanisms state, from public numbers alone."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from mipselect.array_checks import checked_scores
from mipselect.arrays import IntArray
from mipselect.docstrings import completed_by
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.scores.base import ScoreMechanism
from mipselect.mechanisms.scores.noisy_max import NoisyMax
from mipselect.privacy.guarantee import Guarantee
from mipselect.validation import (
    checked_count,
    checked_epsilon,
    checked_integer,
    checked_sensitivity,
    set_fields,
)


class SelectionMechanism(ScoreMechanism[Support]):
    """k of d items, selected by scores; its guarantee depends on public numbers alone."""

    @classmethod
    def stated(
        cls,
        p: int,
        k: int,
        epsilon: float,
        *,
        sensitivity: float = 1.0,
        relation: str = "replace-one",
        **options: Any,
    ) -> Guarantee:
        """Return the guarantee of one draw from public numbers, without scores.

        Parameters
        ----------
        p : int
            Number of items, d.
        k, epsilon, sensitivity, relation, **options
            As for the class; one sensitivity may stand for those of several rounds.

        Raises
        ------
        InvalidInput
            If the class refuses one of them for p scores.
        """
        k, epsilon = checked_count(k, checked_integer(p, "p", 1)), checked_epsilon(epsilon)
        checked_sensitivity(sensitivity)
        return Guarantee(epsilon, relation=relation, rho=cls._rho(p, k, epsilon, **options))

    @classmethod
    @abstractmethod
    def _rho(cls, p: int, k: int, epsilon: float, *args: Any, **options: Any) -> float | None:
        """Return ρ, or None; refuse an ε that rounding would use up, and unknown options."""

    @property
    def rho(self) -> float | None:
        """ρ of zero-concentrated privacy, where less than ε²/2 is proven; else None."""
        return self.guarantee.rho


@completed_by(NoisyMax)
@dataclass(frozen=True, eq=False)
class TopKMechanism(SelectionMechanism):
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
        set_fields(self, scores=checked_scores(self.scores))
        epsilon = self.guarantee.epsilon
        set_fields(self, k=int(self.k), epsilon=epsilon, sensitivity=float(self.sensitivity))

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that `stated` returns for these public numbers."""
        public = {each.name: getattr(self, each.name) for each in fields(self) if each.kw_only}
        return self.stated(np.size(self.scores), self.k, self.epsilon, **public)

    @cached_property
    def _order(self) -> IntArray:
        """Indices, best first; of equal scores the earlier."""
        return np.argsort(-np.asarray(self.scores), kind="stable")


class TopK(Protocol):
    """Builds a mechanism that selects k items from scores of the given sensitivity."""

    def __call__(
        self, scores: ArrayLike, k: int, epsilon: float, *, sensitivity: float, relation: str
    ) -> ScoreMechanism[Any]:
        """Return the mechanism."""


def stated_by(
    top_k: TopK, p: int, k: int, epsilon: float, *, sensitivity: float, relation: str
) -> Guarantee:
    """Return the guarantee of what `top_k` builds, from public numbers, as `stated` does.

    That is what `SelectionMechanism.stated` returns for a class and for `functools.partial` of
    one with other options. Any other callable guarantees ε, as a `TopK` does, and no ρ.
    """
    called = top_k if isinstance(top_k, partial) else partial(top_k)
    if isinstance(called.func, type) and issubclass(called.func, SelectionMechanism):
        public = {**called.keywords, "sensitivity": sensitivity, "relation": relation}
        return called.func.stated(p, k, epsilon, **public)
    checked_count(k, checked_integer(p, "p", 1))
    return Guarantee(checked_epsilon(epsilon), relation=relation)
