"""Draws from what a certified search found: top-R and mistakes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.mechanisms.supports.mistakes import GAP_CONDITION, Mistakes
from mipselect.mechanisms.supports.relations import (
    both_relations,
    gap_in_one_direction,
    one_direction,
)
from mipselect.mechanisms.supports.top_r import TopR
from mipselect.methods.base import SupportMethod
from mipselect.privacy.decimals import exact, round_up
from mipselect.privacy.guarantee import Guarantee
from mipselect.search import mistake_levels, top_supports
from mipselect.search.options import DEFAULT_TOLERANCE
from mipselect.search.progress import ProgressCallback
from mipselect.validation import checked_epsilon


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Settings of a search; the fields are those of `top_supports`, which checks them."""

    pool_size: int | Literal["one-swap", "all"] = "one-swap"
    solver: str = "auto"
    tolerance: float | None = None
    time_limit: float | None = None

    def keywords(self) -> dict[str, Any]:
        """Return the settings that every search takes, as keyword arguments."""
        return {"solver": self.solver, "tolerance": self.tolerance, "time_limit": self.time_limit}

    @property
    def proven_tolerance(self) -> float:
        """τ of the search in units of the sensitivity."""
        return DEFAULT_TOLERANCE if self.tolerance is None else self.tolerance


@dataclass(frozen=True, kw_only=True)
class TopRMethod(SupportMethod):
    """See `TopR`."""

    search: SearchSettings = field(default_factory=SearchSettings)

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """See `TopR.guarantees`."""
        cost = one_direction(self.epsilon, self.search.proven_tolerance)
        return both_relations(self.guarantee, cost)

    def _mechanism(self, instance: Instance, progress: ProgressCallback | None) -> TopR:
        options = self.search
        pool = top_supports(instance, options.pool_size, **options.keywords(), progress=progress)
        return TopR(pool, self.epsilon)


@dataclass(frozen=True, kw_only=True)
class MistakesMethod(SupportMethod):
    """See `Mistakes`: on a condition, or, with a test and its δ, tested and without conditions.

    Parameters
    ----------
    epsilon : float
        ε of the draw.
    test_epsilon : float, optional
        ε₀ > 0 of the test; comes on top of `epsilon`.
    delta : float, optional
        0 < δ < 1/2; given with `test_epsilon` or not at all.
    search : SearchSettings
        Of both searches: for the levels, and, where there is a test, for the pool of top-R.
    """

    test_epsilon: float | None = None
    delta: float | None = None
    search: SearchSettings = field(default_factory=SearchSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.test_epsilon is None) != (self.delta is None):
            raise InvalidInput("test_epsilon and delta belong together: give both or neither")
        if self.test_epsilon is not None:
            checked_epsilon(self.test_epsilon, "test_epsilon")

    @property
    def guarantee(self) -> Guarantee:
        """See `Mistakes.guarantee`."""
        if self.test_epsilon is None or self.delta is None:
            return replace(super().guarantee, conditions=(GAP_CONDITION,))
        return Guarantee(self.test_epsilon, self.delta) + Guarantee(self.epsilon)

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """See `Mistakes.guarantees`."""
        tolerance = self.search.proven_tolerance
        cost = one_direction(self.epsilon, tolerance)
        if self.test_epsilon is not None:
            test = gap_in_one_direction(self.test_epsilon, tolerance)
            cost = round_up(exact(test) + exact(cost))
        return both_relations(self.guarantee, cost)

    def _mechanism(self, instance: Instance, progress: ProgressCallback | None) -> Mistakes:
        levels = mistake_levels(instance, **self.search.keywords(), progress=progress)
        if self.test_epsilon is None:
            return Mistakes(levels, self.epsilon)
        fallback = TopRMethod(epsilon=self.epsilon, search=self.search)
        return Mistakes(
            levels,
            self.epsilon,
            test_epsilon=self.test_epsilon,
            delta=self.delta,
            fallback=fallback._mechanism(instance, progress),
        )
