"""Common parts of pools and levels: frozen arrays, and the formulas of their tolerance."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput, NotCertified
from mipselect.validation import set_fields


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


class Certificate(ABC):
    """Supports with their values, and a proof about the others. **Sensitive.**

    The base of `SupportPool` and `MistakeLevels`, which are dataclasses with these fields and
    their own bounds. Arrays are copied into memory that nobody can write to: what was certified
    stays what it was.

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
    tolerance: float
    sensitivity: float
    n_features: int
    feature_names: tuple[str, ...]
    effort: Effort
    relations: tuple[str, ...]

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
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

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
