"""`OfProblem`: numbers and names of a problem, as of an instance and of scores of its supports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numpy.typing import ArrayLike

from mipselect.arrays import IntArray
from mipselect.problem.problem import Problem

Value = TypeVar("Value")


def of_problem(read: Callable[[Problem], Value], doc: str) -> Value:
    """Make a property with this docstring: what is read of the `problem` of an object."""
    return property(lambda self: read(self.problem), doc=doc)  # type: ignore[return-value]


class OfProblem:
    """Data of one problem, which says what its supports are.

    Attributes
    ----------
    problem : Problem
        Public.
    """

    problem: Problem

    support_size = of_problem(lambda p: p.support_size, "Number of features that a support has, s.")
    n_features = of_problem(
        lambda p: p.n_features,
        "Number of features that a support is chosen from; p without groups and always.",
    )
    feature_names = of_problem(lambda p: p.feature_names, "One name for every feature.")
    number_of_supports = of_problem(lambda p: p.number_of_supports, "C(n_features, s).")

    def check_support(self, support: ArrayLike) -> IntArray:
        """Return `support` as an index array, or raise `InvalidInput`."""
        return self.problem.check_support(support)
