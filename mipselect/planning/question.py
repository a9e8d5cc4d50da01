"""`Question`: what a plan is about, before a row of the table is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mipselect.problem.instance import Instance
from mipselect.tables import PublicMap, TableSchema
from mipselect.tables.defaults import DEFAULT_RIDGE, default_coef_bound
from mipselect.tables.public_map import Ranges
from mipselect.validation import checked_integer, checked_nonnegative, checked_scale, set_fields


@dataclass(frozen=True)
class Question:
    """A selection from a table, as its schema alone describes it.

    Parameters
    ----------
    schema : TableSchema
    target : str
    support_size : int
        s.
    always, never, ranges, intercept, coef_bound, ridge
        As for `Instance.from_table`.

    Raises
    ------
    InvalidInput
        For what is wrong with the schema or the question.
    """

    schema: TableSchema
    target: str
    support_size: int
    always: Sequence[str] = ()
    never: Sequence[str] = ()
    ranges: Ranges | None = None
    intercept: bool = True
    coef_bound: float | None = None
    ridge: float | None = None

    def __post_init__(self) -> None:
        checked_integer(self.support_size, "support_size", 1, len(self.public.features))
        checked_scale(self.bound, "coef_bound")
        if self.ridge is not None:
            set_fields(self, ridge=checked_nonnegative(self.ridge, "ridge"))

    @cached_property
    def public(self) -> PublicMap:
        """Map of a row of the table into columns."""
        return PublicMap.of(self.schema, **self._fields)

    @cached_property
    def bound(self) -> float:
        """r: what was given, or the default."""
        if self.coef_bound is not None:
            return self.coef_bound
        return default_coef_bound(self.support_size, len(self.public.always), self.intercept)

    @property
    def penalty(self) -> float:
        """λ: what was given, or the default."""
        return DEFAULT_RIDGE if self.ridge is None else self.ridge

    def instance(self, table: Any, coef_bound: float, ridge: float) -> Instance:
        """Ask the question of a table, with these in place of its own r and λ."""
        return Instance.from_table(
            table,
            self.schema,
            support_size=self.support_size,
            intercept=self.intercept,
            coef_bound=coef_bound,
            ridge=ridge,
            **self._fields,
        )

    @property
    def _fields(self) -> dict[str, Any]:
        names = ("target", "always", "never", "ranges")
        return {name: getattr(self, name) for name in names}
