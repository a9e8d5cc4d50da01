"""`ModelRelease`: private coefficients, what they refer to, and how to predict with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.release import NOT_PRIVATE, Release
from mipselect.regression.rows import RowMap
from mipselect.validation import (
    checked_finite,
    checked_line,
    checked_name,
    checked_names,
    shown,
)

FORMAT = "mipselect-model"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class ModelRelease(Release):
    """A linear model that was drawn privately, with what is promised about it.

    Parameters
    ----------
    support, feature_names, guarantee, mechanism, private
        See `Release`: the features of the model.
    coefficients : tuple of float, shape (k,), or None
        Per unit of each column. None if the mechanism released that there is no model.
    columns : tuple of str, shape (k,)
        The names of the columns that coefficients belong to, where a feature has several. Empty
        if every feature is one column: then k is the number of features, in their order.
    intercept : float
        0 without one.
    rows : RowMap
        The public map of a row, which predictions apply as well: coefficients refer to entries
        within its bounds.
    bounds : mapping of str to float
        Further public numbers: y_bound, coef_bound, ridge and the like.
    classes : tuple of str, shape (2,), or None
        For a classifier: the names of the classes with a negative and a positive predictor.
    statistics : mapping of str to nested tuples of float
        Further released numbers, which cost nothing more: what an interval is computed from.
    footnotes : tuple of str
        What double precision adds to the promise; empty where everything is exact.

    Raises
    ------
    InvalidInput
        If a number is not finite or anything else is not what it must be.
    """

    coefficients: tuple[float, ...] | None
    intercept: float
    rows: RowMap
    columns: tuple[str, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)
    classes: tuple[str, str] | None = None
    statistics: Mapping[str, Any] = field(default_factory=dict, repr=False)
    footnotes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", checked_names(self.columns))
        size = len(self.columns or self.support)
        if self.coefficients is not None:
            coefficients = checked_finite(self.coefficients, "coefficients", size)
            object.__setattr__(self, "coefficients", coefficients)
        if self.rows.size != size:
            raise InvalidInput(f"{size} columns, but rows of {self.rows.size} entries")
        (intercept,) = checked_finite([self.intercept], "intercept", 1)
        object.__setattr__(self, "intercept", intercept)
        names = [checked_name(name, "the name of a bound") for name in self.bounds]
        values = checked_finite(self.bounds.values(), "bounds", len(names))
        object.__setattr__(self, "bounds", dict(zip(names, values, strict=True)))
        frozen = {name: _frozen(value) for name, value in self.statistics.items()}
        object.__setattr__(self, "statistics", frozen)
        notes = tuple(checked_line(note, "a footnote") for note in self.footnotes)
        object.__setattr__(self, "footnotes", notes)

    @property
    def has_model(self) -> bool:
        """False if a private test decided that no model is released."""
        return self.coefficients is not None

    def decision(self, X: ArrayLike) -> FloatArray:
        """Return the linear predictor of rows; shape (n,).

        Parameters
        ----------
        X : array_like of shape (n, k)
            The columns of the model, in the order of its coefficients.

        Raises
        ------
        InvalidInput
            If X is no such table, or no model was released.
        """
        if self.coefficients is None:
            raise InvalidInput(
                "no model was released: the private test failed; take more rows, a larger "
                "epsilon or delta, or a fallback"
            )
        table = numeric_matrix(X)[0]
        if table.shape[1] != self.rows.size:
            raise InvalidInput(f"X must have {self.rows.size} columns, got {table.shape[1]}")
        with np.errstate(all="ignore"):
            found = self.rows.predictor(np.array(self.coefficients), self.intercept, table)
        finite: FloatArray = np.nan_to_num(found)
        return finite

    def predict(self, X: ArrayLike) -> np.ndarray[Any, Any]:
        """Return the predictions for rows, shape (n, k): numbers, or names of classes."""
        found = self.decision(X)
        if self.classes is None:
            return found
        named: np.ndarray[Any, Any] = np.array(self.classes)[(found > 0.0).astype(int)]
        return named

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON; `from_dict` reads them again."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **super().to_dict(),
            "coefficients": None if self.coefficients is None else list(self.coefficients),
            "intercept": self.intercept,
            "columns": list(self.columns),
            "rows": self.rows.to_dict(),
            "bounds": dict(self.bounds),
            "classes": None if self.classes is None else list(self.classes),
            "statistics": {name: _thawed(value) for name, value in self.statistics.items()},
            "footnotes": list(self.footnotes),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> ModelRelease:
        """Return the release that `to_dict` wrote; nothing is unpickled.

        Raises
        ------
        InvalidInput
            With what is missing or wrong.
        """
        if not isinstance(stored, Mapping) or stored.get("format") != FORMAT:
            raise InvalidInput(f"not a stored model: its format must be {FORMAT!r}")
        if stored.get("version") != VERSION:
            raise InvalidInput(
                f"a stored model of version {shown(stored.get('version'))}; this package reads "
                f"version {VERSION}"
            )
        fields = {name: value for name, value in stored.items() if name not in FORMAT_KEYS}
        try:
            guarantee = {**fields.pop("guarantee")}
            guarantee["conditions"] = tuple(guarantee["conditions"])
            rows = {**fields.pop("rows")}
            for name in ("x_bound", "unit"):
                rows[name] = None if rows[name] is None else tuple(rows[name])
            for name in ("support", "feature_names", "columns", "footnotes"):
                fields[name] = tuple(fields[name])
            for name in ("coefficients", "classes"):
                fields[name] = None if fields[name] is None else tuple(fields[name])
            return cls(guarantee=Guarantee(**guarantee), rows=RowMap(**rows), **fields)
        except KeyError as error:
            raise InvalidInput(f"a stored model lacks {error}") from None
        except (TypeError, AttributeError, ValueError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(f"a stored model is not what it must be: {error}") from None

    def __str__(self) -> str:
        if self.coefficients is None:
            head = f"{self.mechanism}: no model, for the private test failed"
        else:
            names = self.columns or self.feature_names or tuple(map(str, self.support))
            terms = [f"{v:.6g} {name}" for name, v in zip(names, self.coefficients, strict=True)]
            head = f"{self.mechanism}: " + " + ".join([f"{self.intercept:.6g}", *terms])
        notes = "".join(f"\nNote: {note}." for note in self.footnotes)
        if not self.private:
            promised = replace(self.guarantee, private=True)
            return f"{NOT_PRIVATE}.\n{head}.\nIt would have been {promised}.{notes}"
        return f"{head}.\nIt is {self.guarantee}.{notes}"


FORMAT_KEYS = ("format", "version")


def _frozen(value: Any) -> Any:
    """Nested tuples of finite floats."""
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(_frozen(part) for part in value)
    return checked_finite([value], "statistics", 1)[0]


def _thawed(value: Any) -> Any:
    return [_thawed(part) for part in value] if isinstance(value, tuple) else value
