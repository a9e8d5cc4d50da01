"""Exact draws over all supports, of one public size or of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from numpy.typing import ArrayLike

from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.mechanisms.supports.law import checked_sizes
from mipselect.mechanisms.supports.relations import both_relations, one_direction
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.problem import ProblemSelector
from mipselect.validation import checked_epsilon, checked_number, checked_time_limit

MOST_COMPLEX = 100.0
"""A prior that is steeper has sizes of probability zero in double precision."""


def checked_complexity(value: float, name: str) -> float:
    """Return a number in 0..`MOST_COMPLEX`."""
    wanted = f"a number in 0..{MOST_COMPLEX:g}"
    return checked_number(value, name, wanted, lambda a: 0.0 <= a <= MOST_COMPLEX)


@estimator
class ExactDrawSelector(ProblemSelector):
    """A selector that draws exactly from all supports; the law is a subclass's."""

    law: ClassVar[type[ExactDraws]]
    """The mechanism that is drawn from."""

    sizes: Sequence[int] | None = parameter(
        "sequence of int, optional",
        "Public numbers of features, such as range(1, 9), in place of `n_features_to_select`: one "
        "is drawn together with the features. The sensitivity is that of the largest.",
        default=None,
        flag="--sizes",
    )
    complexity: float = parameter(
        "float",
        "a between 0 and 100: with several sizes, how strongly smaller ones are preferred. See "
        "`ExponentialMechanism`.",
        default=1.0,
        flag="--complexity",
        check=checked_complexity,
    )
    prior_weights: ArrayLike | None = parameter(
        "array_like of shape (n_features,), optional",
        "ω_j > 0, public: feature j is preferred by so much before the data are seen. Default: "
        "equal.",
        default=None,
    )
    time_limit: float | None = parameter(
        "float, optional",
        "Seconds for the preparation, and for every draw; `NotCertified` is raised beyond.",
        default=None,
        flag="--time-limit",
        check=checked_time_limit,
    )

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under replace-one, and the ρ of the law."""
        epsilon = checked_epsilon(self.epsilon)
        return Guarantee(epsilon, rho=self.law.rho_of(epsilon))

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """See `PermuteAndFlip.guarantees`."""
        guarantee = self.guarantee
        cost = one_direction(guarantee.epsilon)
        return both_relations(guarantee, cost, self.relations, rho_of=self.law.rho_of)

    @property
    def lists(self) -> bool:
        """True for one size."""
        sizes = self.sizes
        return sizes is None or (isinstance(sizes, Iterable) and len(set(sizes)) == 1)

    @property
    def longest(self) -> float | None:
        """See `ProblemSelector`."""
        return self.time_limit

    def problem(self, problem: Problem) -> Problem:
        """Return the same with the largest size that may be drawn."""
        return problem.with_support_size(checked_sizes(self.sizes, problem)[-1])

    def _law(
        self, instance: Instance | BlockScores, progress: ProgressCallback | None
    ) -> ExactDraws:
        mechanism = self.law(
            instance.with_support_size(self.problem(instance.problem).support_size),
            self.epsilon,
            sizes=self.sizes,
            complexity=self.complexity,
            prior_weights=self.prior_weights,
            time_limit=self.time_limit,
            progress=progress,
        )
        mechanism.prepare()
        return mechanism

    def _check_number(self, p: int) -> None:
        # Sizes are checked by the mechanism.
        if self.sizes is None:
            super()._check_number(p)

    def _support_size(self) -> int:
        if self.sizes is None:
            return super()._support_size()
        return checked_sizes(self.sizes, Problem(layout=self._layout(), support_size=1))[-1]


def asked_sizes(method: PrivateSelector) -> Sequence[int] | None:
    """Return the sizes one of which a method draws; None where the size is not drawn."""
    return method.sizes if isinstance(method, ExactDrawSelector) else None
