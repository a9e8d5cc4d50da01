"""Results in the units of the table: per unit of a field, per category, per unit of the target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mipselect.docstrings import completed_by
from mipselect.tables.encoders import Column


@dataclass(frozen=True)
class Units:
    """Map from columns in [-1, 1] back to the units of the table; all of it is public.

    Attributes
    ----------
    columns : tuple of Column
        With name, scale and offset of every column of X.
    target_name : str
    target_scale, target_offset : float
        y stands for target_offset + target_scale · y.
    classes : (str, str) or None
        What -1 and +1 stand for.
    unit : str
        What one row of X is about: "row", or the field of the privacy unit.
    always_names : tuple of str
        The fields that are always in.
    weight_name : str or None
        The field that says how much a row counts.
    unit_rule : {"first", "last", "mean"}
        What became of several rows of one unit.

    Examples
    --------
    >>> from mipselect.tables import Column, Units
    >>> units = Units((Column("age", 40.0, 60.0),), "days", 15.0, 15.0, None, "row", ())
    >>> units.coefficients([0], [0.4], 0.0).by_column
    {'age': 0.15}
    """

    columns: tuple[Column, ...]
    target_name: str
    target_scale: float
    target_offset: float
    classes: tuple[str, str] | None
    unit: str
    always_names: tuple[str, ...]
    weight_name: str | None = None
    unit_rule: str = "first"

    def coefficients(
        self, indices: Sequence[int], coef: Sequence[float], intercept: float
    ) -> TableCoefficients:
        """Convert coefficients of some columns of X to the units of the table; equally sensitive.

        Parameters
        ----------
        indices : sequence of int
            Columns of X.
        coef : sequence of float
            Their coefficients.
        intercept : float
            That of X, 0 where there is none.
        """
        by_column: dict[str, float] = {}
        constants = [intercept]
        for j, beta in zip(indices, coef, strict=True):
            column = self.columns[j]
            by_column[column.name] = self.target_scale * float(beta) / column.scale
            constants.append(-float(beta) * column.offset / column.scale)
        return TableCoefficients(
            target=self.target_name,
            classes=self.classes,
            intercept=self.target_offset + self.target_scale * math.fsum(constants),
            by_column=by_column,
        )


@dataclass(frozen=True)
class LinearRule:
    """A constant plus a sum, for the target or, for classes, the score whose sign decides.

    Attributes
    ----------
    target : str
    classes : (str, str) or None
        That a negative and a positive score stand for.
    intercept : float
    """

    target: str
    classes: tuple[str, str] | None
    intercept: float

    @property
    def aim(self) -> str:
        """The target, or the score of the second class."""
        return self.target if self.classes is None else f"score of {self.target}={self.classes[1]}"


@completed_by(LinearRule)
@dataclass(frozen=True)
class TableCoefficients(LinearRule):
    """A linear rule in the units of the table; SENSITIVE unless its coefficients are private.

    The target, or for classes the score whose sign decides, is `intercept` plus the sum of
    `by_column` times: the value of a number; the place of an ordered category (from 0); 1 for a
    boolean that is true and for the category that a column names, else 0; 1 in a column
    `=missing` where there is no value. A missing value of a number counts as the middle of its
    range, and one that is in no list of two or more ordered ones as the middle of their places.
    Columns of derived features are natural logarithms, roots, years and indicators of parts.

    Attributes
    ----------
    by_column : mapping of str to float

    Examples
    --------
    >>> from mipselect.tables import TableCoefficients
    >>> TableCoefficients("days", None, 3.0, {"age": 0.2}).by_column["age"]
    0.2
    """

    by_column: Mapping[str, float]

    def __str__(self) -> str:
        lines = [f"SENSITIVE: {self.aim} = {self.intercept:.6g}"]
        lines += [f"  {value:+.6g} · {name}" for name, value in self.by_column.items()]
        return "\n".join(lines)
