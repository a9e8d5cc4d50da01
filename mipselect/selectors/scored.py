"""Selectors that draw from scores of their own, and need fewer public bounds than an instance."""

from __future__ import annotations

import random
from abc import abstractmethod
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput, advised
from mipselect.frames import numeric_vector
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.parameters import estimator, parameter, parameters_of
from mipselect.privacy.guarantee import Guarantee, checked_relation
from mipselect.privacy.randomness import Rng, generator
from mipselect.problem.data import ExactSums, Rows
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.base import PrivateSelector
from mipselect.validation import checked_epsilon

OF_GUARANTEE = ("--relation", "--delta")
"""Options that the guarantee records."""


@estimator
class RowsSelector(PrivateSelector):
    """A selector that draws from scores or values of its own, computed from rows or their sums."""

    def problem(self, problem: Problem) -> Problem:
        """Return its features and the bounds that are needed, without a loss."""
        self._refuse_weights(problem)
        return problem.needing(self.bounds)

    def recorded(self, problem: Problem) -> dict[str, Any]:
        """Return its options, named as on the command line, but what the guarantee records."""
        known = parameters_of(self).items()
        flags = {name: own.flag for name, own in known if own.flag and own.flag not in OF_GUARANTEE}
        return {
            flag.removeprefix("--").replace("-", "_"): getattr(self, name)
            for name, flag in flags.items()
        }

    def on(
        self, instance: Instance, rng: Rng = None, progress: ProgressCallback | None = None
    ) -> Mechanism[Support]:
        """See `PrivateSelector.on`."""
        if not isinstance(instance, Instance):
            raise self._needs_rows(f"a {type(instance).__name__} has scores of supports")
        return self.law(self.problem(instance.problem), instance.data, rng)

    def law(self, problem: Problem, data: Rows | ExactSums, rng: Rng = None) -> Mechanism[Support]:
        """Compute what is needed from the data, and return the distribution. Nothing is drawn.

        Parameters
        ----------
        problem : Problem
            Without a loss, and with the bounds that are needed.
        data : Rows or ExactSums
            Finite. Rows need not be clipped; sums are enough for some methods.
        rng : None, int, random.Random or numpy.random.Generator
            See `PrivateSelector.on`.

        Raises
        ------
        InvalidInput
            From the mechanism, or if a bound is missing or out of its range.
        """
        self.check()
        self._refuse_weights(problem)
        if isinstance(data, ExactSums) and data.of_blocks:
            raise self._needs_rows("these data are sums over blocks of rows")
        source, _ = generator(rng)
        with np.errstate(all="ignore"):
            if isinstance(data, Rows):
                return self._of_rows(problem, data, source)
            return self._of_sums(problem, data)

    def _needs_rows(self, given: str) -> InvalidInput:
        name = type(self).__name__.removesuffix("Selector")
        return InvalidInput(f"{name} draws from scores of rows, and {given}: give it the rows")

    def _refuse_weights(self, problem: Problem) -> None:
        if problem.weight_bound is not None:
            raise InvalidInput(
                f"{type(self).__name__.removesuffix('Selector')} draws from scores of rows that "
                "all count the same, and the schema has a survey weight: permute-and-flip, "
                "exponential, top-r and mistakes take weights"
            )

    @abstractmethod
    def _of_rows(self, problem: Problem, rows: Rows, source: random.Random) -> Mechanism[Support]:
        """See `law`; `source` is its `rng`."""

    def _of_sums(self, problem: Problem, sums: ExactSums) -> Mechanism[Support]:
        """See `law`; `InvalidInput` unless sums are enough."""
        raise InvalidInput(
            f"{type(self).__name__.removesuffix('Selector')} needs rows: moments are sums and no "
            "rows"
        )

    def _mechanism(self, X: Any, y: Any, source: random.Random) -> Mechanism[Any]:
        problem = self._problem()
        return self.law(problem, Rows(problem.layout.ordered(X), real_target(y)), source)

    def _problem(self) -> Problem:
        """Return what is public of X."""
        return Problem.of_columns(
            self.n_features_in_,
            self._names(),
            support_size=int(self.n_features_to_select),
            groups=self.groups,
            always=self.always,
            loss=None,
            **self._asked(),
        )

    def _asked(self) -> dict[str, Any]:
        """Return the public bounds and other arguments; `InvalidInput` if one is missing."""
        return {}


@estimator
class ScoreSelector(RowsSelector):
    """A `RowsSelector` whose ε can be stated under either relation."""

    relation: str = parameter(
        '{"add-remove", "replace-one"}',
        "What ε is stated under; under the first n is private.",
        default="add-remove",
        flag="--relation",
        check=checked_relation,
    )

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under the relation, without conditions."""
        return Guarantee(checked_epsilon(self.epsilon), relation=self.relation)

    @property
    def bounds(self) -> tuple[str, ...]:
        """None: the scores do not depend on the units of the data."""
        return ()

    def stated(self, problem: Problem) -> dict[str, Guarantee]:
        """Return the guarantee with ρ, which follows from the number of features."""
        self.check()
        return {self.relation: self._stated(problem.n_features, problem.support_size)}

    @abstractmethod
    def _stated(self, p: int, k: int) -> Guarantee:
        """Return the guarantee of the mechanism on p scores."""


def real_target(y: Any) -> FloatArray:
    """Return y as finite floats, or raise `InvalidInput`."""
    with advised("give classes as numbers, such as -1 and 1, or use a selector with loss='hinge'"):
        return numeric_vector(y).astype(np.float64)
