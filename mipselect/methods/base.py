"""Base of all methods: their options, which are public, and the way from data to a mechanism."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.layout import Column, Columns, Layout, laid_out
from mipselect.mechanisms.base import Mechanism, Support, SupportMechanism
from mipselect.methods.summed import SummedRows, summed_rows
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.guarantee import Guarantee, checked_relation
from mipselect.privacy.randomness import Rng, generator
from mipselect.search.progress import ProgressCallback
from mipselect.validation import (
    checked_epsilon,
    checked_integer,
    checked_positive,
)

BOTH_RELATIONS = ("add-remove", "replace-one")


@dataclass(frozen=True, kw_only=True)
class PrivateMethod(ABC):
    """A way to draw columns, with all its options: what is public, and no data.

    Parameters
    ----------
    epsilon : float
        ε > 0, finite.

    Raises
    ------
    InvalidInput
        If an option is out of its range.
    """

    epsilon: float
    looks_at_always: ClassVar[bool] = True
    """True if columns that are always in change what is drawn from."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))

    @property
    def guarantee(self) -> Guarantee:
        """Privacy promised for one draw, whatever the data are: that of the mechanism."""
        return Guarantee(self.epsilon)

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """The same by neighbouring relation, for all relations that it is stated for."""
        return {self.guarantee.relation: self.guarantee}

    @property
    @abstractmethod
    def bounds(self) -> tuple[str, ...]:
        """The public bounds it needs, by the names of `Instance`."""


class SupportMethod(PrivateMethod):
    """A method that draws from the values R(S) of an `Instance`; ε is under replace-one."""

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) and, of an exponential mechanism, ρ = ε²/8."""
        return Guarantee(self.epsilon, rho=bounded_range_rho(self.epsilon))

    @property
    def bounds(self) -> tuple[str, ...]:
        """Those of `Instance`."""
        return ("x_bound", "y_bound", "coef_bound", "ridge")

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


@dataclass(frozen=True, eq=False)
class Rows:
    """A table as it is, how many of its features are chosen, and the bounds that are public.

    Parameters
    ----------
    X : float array or CSR matrix, shape (n, p)
        Finite, one row per person. Sensitive.
    y : float array, shape (n,)
        Finite. Sensitive.
    support_size : int
        s, between 1 and the number of features.
    feature_names : sequence of str, optional
        As for `Instance`; as an attribute one name for every feature.
    x_bound, y_bound, coef_bound : float, optional
        As for `Instance`; only what a method needs must be there. Nothing is clipped yet.
    groups, always, intercept, always_bound : optional
        As for `Instance`. What a method makes of columns that are always in, its docstring says.

    Attributes
    ----------
    layout : Layout
        Which columns make a feature, without their bounds; see `bounded`.

    Raises
    ------
    InvalidInput
    """

    X: Any = field(repr=False)
    y: FloatArray = field(repr=False)
    support_size: int
    feature_names: Sequence[str] = field(default=(), repr=False)
    x_bound: float | Sequence[float] | None = None
    y_bound: float | None = None
    coef_bound: float | None = None
    groups: Iterable[Columns] | Mapping[str, Columns] | None = field(default=None, repr=False)
    always: Iterable[Columns] | Column | None = field(default=None, repr=False)
    intercept: bool = False
    always_bound: float | None = None
    layout: Layout = field(init=False, repr=False)

    def __post_init__(self) -> None:
        layout = self._laid_out(1.0, self.feature_names)
        size = checked_integer(self.support_size, "support_size", 1, len(layout.groups))
        object.__setattr__(self, "layout", layout)
        object.__setattr__(self, "feature_names", layout.feature_names)
        object.__setattr__(self, "support_size", size)

    def _laid_out(self, x_bound: float | Sequence[float], names: Sequence[str]) -> Layout:
        return laid_out(
            self.n_columns,
            None,
            names or None,
            groups=self.groups,
            always=self.always,
            intercept=self.intercept,
            x_bound=x_bound,
            always_bound=self.always_bound,
        )

    @property
    def bounded(self) -> Layout:
        """The layout with the bounds of all features; `InvalidInput` if they are not right."""
        return self._laid_out(self._given("x_bound"), self.layout.column_names)

    @property
    def n(self) -> int:
        """Number of rows; private under add-remove."""
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        """p, the number of columns of X."""
        return int(self.X.shape[1])

    @property
    def n_features(self) -> int:
        """Number of features that a support is chosen from."""
        return len(self.layout.groups)

    @property
    def columns(self) -> Any:
        """The columns of the features, one after another, then those always in; not clipped."""
        return self.X if self.layout.in_order else self.X[:, self.layout.order]

    def bound(self, name: str) -> float:
        """A bound by its name; `InvalidInput` if it is missing or not a finite number > 0."""
        return checked_positive(self._given(name), name)

    def _given(self, name: str) -> Any:
        value = getattr(self, name)
        if value is None:
            raise InvalidInput(f"{name} must be given; choose it without looking at the data")
        return value


def rows_of(instance: Instance, bounds: Iterable[str]) -> Rows | SummedRows:
    """The rows of an instance, which are clipped, or their sums, with these of its bounds."""
    if instance.moments is not None:
        return summed_rows(instance, instance.moments, bounds)
    return Rows(
        instance.X,
        instance.y,
        instance.support_size,
        instance.feature_names,
        groups=instance.groups,
        always=instance.always,
        intercept=instance.intercept,
        always_bound=instance.always_bound,
        **{name: getattr(instance, name) for name in bounds},
    )


class RowsMethod(PrivateMethod):
    """A method that draws from scores or values of its own, computed from `Rows`."""

    def mechanism(self, rows: Rows | SummedRows, rng: Rng = None) -> Mechanism[Support]:
        """Compute what is needed from the rows, and return the distribution. Nothing is drawn.

        Parameters
        ----------
        rows : Rows or SummedRows
            Sums of rows are enough for some methods.
        rng : None, int, random.Random or numpy.random.Generator
            For choices that do not depend on the data and are not part of the law, such as how
            ties are broken. None is the operating system's generator.

        Raises
        ------
        InvalidInput
            From the mechanism, or if a bound is missing or out of its range.

        Notes
        -----
        NumPy does not warn meanwhile; see `SupportMethod.mechanism`.
        """
        source, _ = generator(rng)
        with np.errstate(all="ignore"):
            if isinstance(rows, SummedRows):
                return self._from_sums(rows)
            return self._mechanism(rows, source)

    @abstractmethod
    def _mechanism(self, rows: Rows, source: random.Random) -> Mechanism[Support]:
        """See `mechanism`; `source` is its `rng`."""

    def _from_sums(self, rows: SummedRows) -> Mechanism[Support]:
        """See `mechanism`; `InvalidInput` unless sums are enough."""
        raise InvalidInput(
            f"{type(self).__name__.removesuffix('Method')} needs rows: moments are sums and no rows"
        )


@dataclass(frozen=True, kw_only=True)
class ScoreMethod(RowsMethod):
    """A `RowsMethod` whose ε can be stated under either relation.

    Parameters
    ----------
    epsilon : float
        ε of one draw, under `relation`.
    relation : {"replace-one", "add-remove"}
        Under the second n is private.
    """

    relation: str = "replace-one"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_relation(self.relation, BOTH_RELATIONS)

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under the relation, without conditions."""
        return Guarantee(self.epsilon, relation=self.relation)

    @property
    def bounds(self) -> tuple[str, ...]:
        """None: the scores do not depend on the units of the data."""
        return ()
