"""The exact draw from all supports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from mipselect.instance import Instance
from mipselect.mechanisms.supports.exponential import ExponentialMechanism
from mipselect.mechanisms.supports.law import checked_sizes
from mipselect.mechanisms.supports.relations import both_relations, one_direction
from mipselect.methods.base import SupportMethod
from mipselect.privacy.guarantee import Guarantee
from mipselect.search.progress import ProgressCallback
from mipselect.validation import checked_number, checked_time_limit

MOST_COMPLEX = 100.0
"""A prior that is steeper has sizes of probability zero in double precision."""


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

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """See `ExponentialMechanism.guarantees`."""
        return both_relations(self.guarantee, one_direction(self.epsilon))

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
