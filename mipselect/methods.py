"""From (instance, method, options) to a mechanism: the one way, for selectors and command line.

A new method is a dataclass with its options here; whoever takes methods by name names it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.mechanisms.base import SupportMechanism
from mipselect.mechanisms.supports.exponential import ExponentialMechanism
from mipselect.mechanisms.supports.gibbs import checked_sizes
from mipselect.mechanisms.supports.mistakes import GAP_CONDITION, Mistakes
from mipselect.mechanisms.supports.top_r import TopR
from mipselect.privacy.guarantee import Guarantee
from mipselect.search import mistake_levels, top_supports
from mipselect.search.progress import ProgressCallback
from mipselect.validation import checked_epsilon, checked_number, checked_time_limit

MOST_COMPLEX = 100.0
"""A prior that is steeper has sizes of probability zero in double precision."""


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How to search; the fields are those of `top_supports`, which checks them."""

    pool_size: int | Literal["one-swap", "all"] = "one-swap"
    solver: str = "auto"
    tolerance: float | None = None
    time_limit: float | None = None

    def keywords(self) -> dict[str, Any]:
        """What every search takes, as keyword arguments."""
        return {"solver": self.solver, "tolerance": self.tolerance, "time_limit": self.time_limit}


@dataclass(frozen=True, kw_only=True)
class SupportMethod(ABC):
    """A way to draw a support, with all its options: what is public, and no data.

    Parameters
    ----------
    epsilon : float
        ε > 0, finite; under replace-one.

    Raises
    ------
    InvalidInput
        If an option is out of its range.
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises, whatever the data are: that of the mechanism."""
        return Guarantee(self.epsilon)

    def sized(self, instance: Instance) -> Instance:
        """The problem that is drawn from: that of the instance, unless sizes are an option."""
        return instance

    def mechanism(
        self, instance: Instance, progress: ProgressCallback | None = None
    ) -> SupportMechanism:
        """Search as far as is needed, and return the distribution. Nothing is drawn.

        Parameters
        ----------
        instance : Instance
        progress : callable, optional
            See `top_supports`.

        Raises
        ------
        InvalidInput, NotCertified, SolverFailure
            From the search and the mechanism.

        Notes
        -----
        NumPy does not warn meanwhile, since a warning would tell about the data. Its state is that
        of the thread: others are not silenced.
        """
        with np.errstate(all="ignore"):
            return self._mechanism(instance, progress)

    @abstractmethod
    def _mechanism(self, instance: Instance, progress: ProgressCallback | None) -> SupportMechanism:
        """See `mechanism`."""


@dataclass(frozen=True, kw_only=True)
class ExponentialMethod(SupportMethod):
    """See `ExponentialMechanism`, which checks what needs the number of features.

    Parameters
    ----------
    epsilon : float
        ε of one draw.
    sizes : sequence of int, optional
        Public sizes; default: the instance's.
    complexity : float
        a of the prior over sizes, between 0 and 100.
    prior_weights : array_like of shape (p,), optional
        Public; default: equal.
    time_limit : float, optional
        Seconds for the preparation, and for every draw.
    """

    sizes: Sequence[int] | None = None
    complexity: float = 1.0
    prior_weights: ArrayLike | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_number(
            self.complexity,
            "complexity",
            f"a number in 0..{MOST_COMPLEX:g}",
            lambda a: 0.0 <= a <= MOST_COMPLEX,
        )
        if self.time_limit is not None:
            checked_time_limit(self.time_limit)

    def sized(self, instance: Instance) -> Instance:
        """The instance with the largest size that may be drawn."""
        return instance.with_support_size(checked_sizes(self.sizes, instance)[-1])

    def _mechanism(
        self, instance: Instance, progress: ProgressCallback | None
    ) -> ExponentialMechanism:
        mechanism = ExponentialMechanism(
            self.sized(instance),
            self.epsilon,
            sizes=self.sizes,
            complexity=self.complexity,
            prior_weights=self.prior_weights,
            time_limit=self.time_limit,
            progress=progress,
        )
        mechanism.prepare()
        return mechanism


@dataclass(frozen=True, kw_only=True)
class TopRMethod(SupportMethod):
    """See `TopR`."""

    search: SearchOptions = field(default_factory=SearchOptions)

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
    search : SearchOptions
        Of both searches: for the levels, and, where there is a test, for the pool of top-R.
    """

    test_epsilon: float | None = None
    delta: float | None = None
    search: SearchOptions = field(default_factory=SearchOptions)

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
            return Guarantee(self.epsilon, conditions=(GAP_CONDITION,))
        return Guarantee(self.test_epsilon, self.delta) + Guarantee(self.epsilon)

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
