"""`OfProblem`: numbers and names of a problem, as of an instance and of scores of its supports."""

from __future__ import annotations

from numpy.typing import ArrayLike

from mipselect.arrays import IntArray
from mipselect.problem.problem import Problem


class OfProblem:
    """Data of one problem, which says what its supports are.

    Attributes
    ----------
    problem : Problem
        Public.
    """

    problem: Problem

    @property
    def support_size(self) -> int:
        """Number of features that a support has, s."""
        return self.problem.support_size

    @property
    def n_features(self) -> int:
        """Number of features that a support is chosen from; p without groups and always."""
        return self.problem.n_features

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name for every feature."""
        return self.problem.feature_names

    @property
    def number_of_supports(self) -> int:
        """C(n_features, s)."""
        return self.problem.number_of_supports

    def check_support(self, support: ArrayLike) -> IntArray:
        """Return `support` as an index array, or raise `InvalidInput`."""
        return self.problem.check_support(support)
