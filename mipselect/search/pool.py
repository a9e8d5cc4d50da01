"""Results of a search: supports, exact values and proven bounds. All of them are sensitive."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.parameters import completed_by
from mipselect.search.certificate import Certificate, Effort
from mipselect.validation import checked_integer, set_fields


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

    supports: IntArray
    values: FloatArray
    rest_bound: float
    tolerance: float
    sensitivity: float
    n_features: int
    feature_names: tuple[str, ...]
    effort: Effort = field(default_factory=Effort)
    relations: tuple[str, ...] = ("replace-one",)

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

    supports: IntArray
    values: FloatArray
    bounds: FloatArray
    tolerance: float
    sensitivity: float
    n_features: int
    feature_names: tuple[str, ...]
    effort: Effort = field(default_factory=Effort)
    relations: tuple[str, ...] = ("replace-one",)

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
