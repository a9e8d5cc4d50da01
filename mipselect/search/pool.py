"""Results of a search: supports, exact values and proven bounds. All of them are sensitive."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput, NotCertified
from mipselect.parameters import completed_by
from mipselect.validation import checked_integer, set_fields


def finite_or_none(value: float) -> float | None:
    """Return None, which JSON has, for what is infinite."""
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class StrategyEffort:
    """Tries of one strategy of a search.

    Attributes
    ----------
    name : str
        That of a strategy in the table of docs/benchmarks.md, or of a step of every search.
    calls : int
    successes : int
        Calls that made a subproblem smaller, settled it, or found a better support.
    seconds : float
        Without those of strategies that were tried meanwhile.

    Examples
    --------
    >>> from mipselect import load_instance, top_supports
    >>> pool = top_supports(load_instance("tiny-plain"), 3)
    >>> [(own.name, own.calls) for own in pool.effort.strategies]
    [('enumeration', 1)]
    """

    name: str
    calls: int
    successes: int
    seconds: float


@dataclass(frozen=True)
class Effort:
    """Work that a search has done; sensitive too, for it depends on the data.

    Attributes
    ----------
    solver : str
        The back end that settled the subproblems.
    seconds : float
    subproblems : int
        Sets of additions to a base that were bounded, screened or divided.
    masters, iterations, cuts, solver_nodes : int
        Counts of the outer approximation; zero where a closed form settled everything.
    strategies : tuple of StrategyEffort
        The longest first.

    Examples
    --------
    >>> from mipselect import load_instance, top_supports
    >>> top_supports(load_instance("tiny-plain"), 3).effort.solver
    'native'
    """

    solver: str = ""
    seconds: float = 0.0
    subproblems: int = 0
    masters: int = 0
    iterations: int = 0
    cuts: int = 0
    solver_nodes: int = 0
    strategies: tuple[StrategyEffort, ...] = ()


@dataclass(frozen=True, eq=False)
class Certificate(ABC):
    """Supports with their values, and a proof about the others. **Sensitive.**

    The base of `SupportPool` and `MistakeLevels`, which have their own bounds. Arrays are copied
    into memory that nobody can write to: what was certified stays what it was.

    Attributes
    ----------
    supports : ndarray of int, shape (m, s)
        Rows of distinct features in 0..p-1, sorted.
    values : ndarray of float, shape (m,)
        R(S) of every row.
    tolerance : float
        τ in units of the sensitivity.
    sensitivity : float
        Δ of the instance.
    n_features : int
        p.
    feature_names : tuple of str
    effort : Effort
    relations : tuple of str
        Neighbouring relations that a draw may state a guarantee for.

    Raises
    ------
    InvalidInput
        If an array has another shape or type, or a number is out of its range.
    """

    supports: IntArray
    values: FloatArray
    _: KW_ONLY
    tolerance: float
    sensitivity: float
    n_features: int
    feature_names: tuple[str, ...]
    effort: Effort = field(default_factory=Effort)
    relations: tuple[str, ...] = ("replace-one",)

    def __post_init__(self) -> None:
        supports, p = _frozen("supports", self.supports, np.intp, 2), self.n_features
        if len(supports) and not (supports.shape[1] and _are_supports(supports, p)):
            raise InvalidInput(
                f"every row of supports must be distinct features of 0..{p - 1}, sorted"
            )
        set_fields(self, supports=supports, feature_names=tuple(self.feature_names))
        set_fields(self, values=self._one_for_each_row("values"))
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0.0):
            raise InvalidInput(f"tolerance must be a finite number ≥ 0, got {self.tolerance!r}")
        if not (math.isfinite(self.sensitivity) and self.sensitivity > 0.0):
            raise InvalidInput(f"sensitivity must be a finite number > 0, got {self.sensitivity!r}")
        if len(self.feature_names) != p:
            raise InvalidInput(
                f"feature_names must have {p} entries, got {len(self.feature_names)}"
            )
        self._check_bounds()

    def __len__(self) -> int:
        return len(self.supports)

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies and pickles by the constructor, so that they are frozen and checked."""
        return partial(
            type(self), **{each.name: getattr(self, each.name) for each in fields(self)}
        ), ()

    @property
    def support_size(self) -> int:
        """s."""
        return int(self.supports.shape[1])

    @property
    def allowance(self) -> float:
        """τΔ, in units of the objective: by so much a proven bound may stay below a value."""
        return self.tolerance * self.sensitivity

    @property
    def widened_sensitivity(self) -> float:
        """Δ + τΔ: the sensitivity of values that are known up to `allowance`.

        See docs/mathematics/certified-search.md, (2).
        """
        return self.sensitivity * (1.0 + self.tolerance)

    @property
    @abstractmethod
    def certified(self) -> bool:
        """True if the bounds prove what `tolerance` says."""

    @property
    @abstractmethod
    def proves_optimum(self) -> bool:
        """True if bounds prove that no support is better than the first row, but for rounding."""

    def require_certified(self) -> None:
        """Raise `NotCertified` unless it is certified: no draw may depend on what is not."""
        if not self.certified:
            raise NotCertified(
                f"nothing may be released from a {type(self).__name__} that is not certified: its "
                f"bounds do not prove its values the best within {self.tolerance:g} "
                "sensitivities; search again with more time or another solver",
                bound=self._lowest_bound,
                incumbent=float(np.min(self.values[:1], initial=np.inf)),
            )

    @property
    @abstractmethod
    def _lowest_bound(self) -> float:
        """The least of the proven bounds."""

    @abstractmethod
    def _check_bounds(self) -> None:
        """Check and freeze the bounds."""

    def _one_for_each_row(self, name: str) -> FloatArray:
        """Return the array of that name, frozen; of shape (m,) and without NaN."""
        numbers: FloatArray = _frozen(name, getattr(self, name), np.float64, 1)
        if len(numbers) != len(self.supports) or np.isnan(numbers).any():
            raise InvalidInput(f"{name} must be {len(self.supports)} numbers, one for each support")
        return numbers


def _frozen(name: str, values: ArrayLike, dtype: type[Any], ndim: int) -> Any:
    """Copy an array to bytes, which unlike an array's own memory cannot be made writeable again."""
    array = np.asarray(values)
    kinds, wanted = ("iu", "integers") if dtype is np.intp else ("fiu", "real numbers")
    if array.ndim != ndim or array.dtype.kind not in kinds:
        raise InvalidInput(
            f"{name} must be an array of {wanted} in {ndim} dimension{'s'[: ndim - 1]}, got shape "
            f"{array.shape} of {array.dtype}"
        )
    return np.ndarray(array.shape, dtype, array.astype(dtype, copy=False).tobytes())


def _are_supports(rows: IntArray, n_features: int) -> bool:
    inside = rows[:, 0].min() >= 0 and rows[:, -1].max() < n_features
    return bool(inside and np.all(rows[:, 1:] > rows[:, :-1]))


@completed_by(Certificate)
@dataclass(frozen=True, eq=False)
class SupportPool(Certificate):
    """The R best supports with a proof about all the others. **Sensitive.**

    Attributes
    ----------
    supports : ndarray of int, shape (R, s)
        Rows sorted, best first; ties in lexicographic order.
    values : ndarray of float, shape (R,)
        R(S) of every row.
    rest_bound : float
        Proven lower bound on R(S) of every unlisted support; ``inf`` if all are listed. A
        certified pool has rest_bound ≥ values[-1] - tolerance · sensitivity.

    Examples
    --------
    >>> from mipselect import load_instance, top_supports
    >>> pool = top_supports(load_instance("tiny-plain"), 3)
    >>> pool
    <SupportPool: 3 supports of 3 of 8 features; sensitive>
    >>> pool.supports.tolist()
    [[1, 4, 6], [1, 2, 6], [1, 5, 6]]
    >>> pool.certified, pool.number_unlisted, pool.position([1, 2, 6])
    (True, 53, 1)
    """

    rest_bound: float

    def __repr__(self) -> str:
        R, s = self.supports.shape
        return f"<SupportPool: {R} supports of {s} of {self.n_features} features; sensitive>"

    @property
    def number_of_supports(self) -> int:
        """C(p, s)."""
        return math.comb(self.n_features, self.support_size)

    @property
    def number_unlisted(self) -> int:
        """C(p, s) - R."""
        return self.number_of_supports - len(self)

    @cached_property
    def certified(self) -> bool:
        """True if the rows are distinct, in order, and rest_bound proves what `tolerance` says."""
        if not len(self):
            return False
        _, rows = self._in_order
        distinct = np.any(rows[1:] != rows[:-1], axis=1).all()
        in_order = np.all(self.values[1:] >= self.values[:-1])
        proven = self.rest_bound >= self.values[-1] - self.allowance
        return bool(distinct and in_order and proven)

    @property
    def proves_optimum(self) -> bool:
        """True if no support is better than the first row, but for rounding: τ is not used."""
        return len(self) > 0 and bool(self.rest_bound >= self.values[0])

    @property
    def certified_rows(self) -> int:
        """Number of first rows that are proven to be the best ones, up to the tolerance."""
        return int(np.searchsorted(self.values, self.rest_bound + self.allowance, side="right"))

    def first(self, rows: int) -> SupportPool:
        """Return the first `rows` as a smaller pool, with what is proven of all others.

        If a search was stopped, the first `certified_rows` are certified. How many those are
        depends on the data: a mechanism promises what it says only for a number of rows that was
        fixed without looking at them.

        Raises
        ------
        InvalidInput
            If `rows` is not in 1..R.
        """
        checked_integer(rows, "rows", 1, len(self))
        rest = float(np.min(self.values[rows:], initial=self.rest_bound))
        return replace(
            self, supports=self.supports[:rows], values=self.values[:rows], rest_bound=rest
        )

    def to_dict(self) -> dict[str, Any]:
        """Return supports, values and bound, ready for JSON and sensitive; an infinite one is None.

        It is no release: nothing in it is private.
        """
        return {
            "pool_size": len(self),
            "worst_listed_value": float(self.values[-1]),
            "rest_bound": finite_or_none(self.rest_bound),
            "supports": self.supports.tolist(),
            "values": self.values.tolist(),
        }

    def position(self, support: ArrayLike) -> int | None:
        """Return the row of `support`, sorted, shape (s,), in `supports`, or None if unlisted."""
        order, rows = self._in_order
        low, high = 0, len(rows)
        for column, feature in enumerate(np.asarray(support)):
            members = rows[low:high, column]
            low, high = (
                low + int(np.searchsorted(members, feature, side="left")),
                low + int(np.searchsorted(members, feature, side="right")),
            )
        return int(order[low]) if low < high else None

    @property
    def _lowest_bound(self) -> float:
        return self.rest_bound

    def _check_bounds(self) -> None:
        if math.isnan(self.rest_bound):
            raise InvalidInput("rest_bound must be a number, got nan")

    @cached_property
    def _in_order(self) -> tuple[IntArray, IntArray]:
        """The rows in lexicographic order, so that one is found by bisection in each column."""
        order = np.lexsort(self.supports.T[::-1])
        return order, self.supports[order]


@completed_by(Certificate)
@dataclass(frozen=True, eq=False)
class MistakeLevels(Certificate):
    """The optimum and the best support of every mistake level. **Sensitive.**

    Level i is the set P_i of supports with exactly i features outside the optimum; there are
    L = min(s, p-s) + 1 of them.

    Attributes
    ----------
    supports : ndarray of int, shape (L, s)
        Row i is the best support of level i, sorted; row 0 is the optimum.
    values : ndarray of float, shape (L,)
    bounds : ndarray of float, shape (L,)
        Proven lower bound of every level; values - bounds ≤ tolerance · sensitivity.

    Examples
    --------
    >>> from mipselect import load_instance, mistake_levels
    >>> levels = mistake_levels(load_instance("tiny-plain"))
    >>> levels.supports[0].tolist(), levels.sizes
    ([1, 4, 6], (1, 15, 30, 10))
    >>> levels.certified, levels.level_of([1, 2, 6])
    (True, 1)
    """

    bounds: FloatArray

    def __repr__(self) -> str:
        L, s = self.supports.shape
        return f"<MistakeLevels: {L} levels of {s} of {self.n_features} features; sensitive>"

    @property
    def gap(self) -> float:
        """Proven lower bound of (second best value - best value); ``inf`` if there is no second."""
        return float(np.min(self.bounds[1:], initial=np.inf) - self.values[0])

    @cached_property
    def certified(self) -> bool:
        """True if all levels are there, row i in level i, and the bounds prove the values.

        That row 0 is an optimum is part of it: no other level's bound is below its value.
        """
        s = self.support_size
        if len(self) != min(s, self.n_features - s) + 1:
            return False
        distances = np.sum(~np.isin(self.supports, self.supports[0]), axis=1)
        in_place = np.array_equal(distances, np.arange(len(self)))
        proven = np.all(self.bounds >= self.values - self.allowance)
        return bool(in_place and proven and self.gap >= 0.0)

    @property
    def proves_optimum(self) -> bool:
        """True if no support can be better than the first row, which is part of the certificate."""
        return self.certified

    @property
    def certified_rows(self) -> int:
        """Number of first rows that are proven to be the best of their level, if row 0 is."""
        proven = self.bounds >= self.values - self.allowance
        return len(self) if proven.all() else int(np.argmin(proven))

    @property
    def sizes(self) -> tuple[int, ...]:
        """|P_i| = C(s, i) C(p-s, i) of every level; they sum to C(p, s)."""
        s, p = self.support_size, self.n_features
        return tuple(math.comb(s, i) * math.comb(p - s, i) for i in range(len(self)))

    def to_dict(self) -> dict[str, Any]:
        """Return levels and gap, ready for JSON and sensitive; what is infinite is None.

        It is no release: nothing in it is private.
        """
        columns = {
            "level": range(len(self)),
            "support": self.supports.tolist(),
            "value": self.values.tolist(),
            "bound": map(finite_or_none, self.bounds.tolist()),
            "size": self.sizes,
        }
        rows = zip(*columns.values(), strict=True)
        return {
            "levels": [dict(zip(columns, row, strict=True)) for row in rows],
            "gap": finite_or_none(self.gap),
            "gap_over_twice_sensitivity": finite_or_none(self.gap / (2.0 * self.sensitivity)),
        }

    def level_of(self, support: ArrayLike) -> int:
        """Return how many features of `support`, shape (s,), lie outside the optimum."""
        indices = np.asarray(support)
        if indices.shape != (self.support_size,):
            raise InvalidInput(f"a support has {self.support_size} features, got {support!r}")
        return int(np.sum(~np.isin(indices, self.supports[0])))

    @property
    def _lowest_bound(self) -> float:
        return float(np.min(self.bounds))

    def _check_bounds(self) -> None:
        set_fields(self, bounds=self._one_for_each_row("bounds"))
