"""`ModelRelease`: private coefficients, what they refer to, and how to predict with them."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

from mipselect import disk, validation
from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix
from mipselect.losses.classes import Classes, checked_classes
from mipselect.privacy.guarantee import ROW, Guarantee
from mipselect.privacy.release import Release
from mipselect.quality.measures import Quality
from mipselect.regression.rows import HUBER, Drawn, RowMap, by_name
from mipselect.tables.encoders import CATEGORY, INTERCEPT, PER_STEP, PER_UNIT, TableEquation, Term
from mipselect.tables.mapping import mapped_batches
from mipselect.tables.public_map import ModelTable
from mipselect.validation import listed, shown

TARGET = "y"
"""Name of the target where the model is one of arrays."""

FORMAT = "mipselect-model"
VERSION = 1
SHAPE = "model_schema.json"
FORMAT_KEYS = ("format", "version")

LARGEST = 1 << 26
"""Bytes of a stored model."""

LARGEST_NUMBER = 1e200
"""Largest coefficient of a table's model, in its units: what it predicts is finite."""

WIDTH, ROW_HEIGHT, MARGINS = 7.0, 0.32, 1.4
"""Inches of a picture."""

LARGEST_HEIGHT = 40.0
TITLE_LETTERS = 76
RED = "#B00000"


@dataclass(frozen=True, kw_only=True)
class ModelRelease(Release):
    """A linear model that was drawn privately, with its guarantee.

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
    classes : tuple of str, bool, int or float, shape (2,), or None
        For a classifier: the classes with a negative and a positive predictor, as they were
        written; for a model of a table as the type of its field has them.
    footnotes : tuple of str
        Additions of double precision to the guarantee, and the part of its range where the target
        was found.
    table : ModelTable, optional
        For a model of a table: the public map of its rows into `columns`. Coefficients then are
        those of columns and a target in [-1, 1], and `in_units` has them in units of the table.
    quality : Quality, optional
        How good its predictions are, measured on rows that were kept apart from the fit.

    Raises
    ------
    InvalidInput
        If a number is not finite or anything else is not what it must be.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from mipselect.regression import AdaSSPRegressor, ModelRelease
    >>> X = np.random.default_rng(0).uniform(-1, 1, (5000, 2))
    >>> release = AdaSSPRegressor(x_bound=1.0, y_bound=1.0).fit(X, X[:, 0]).release_
    >>> text = json.dumps(release.to_dict())
    >>> again = ModelRelease.from_dict(json.loads(text))
    >>> bool((again.predict(X[:5]) == release.predict(X[:5])).all())
    True
    """

    coefficients: tuple[float, ...] | None
    intercept: float
    rows: RowMap
    columns: tuple[str, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)
    classes: Classes | None = None
    footnotes: tuple[str, ...] = ()
    table: ModelTable | None = None
    quality: Quality | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.set_fields(self, columns=validation.checked_names(self.columns))
        size = len(self.columns or self.support)
        if self.coefficients is not None:
            coefficients = validation.checked_finite(self.coefficients, "coefficients", size)
            validation.set_fields(self, coefficients=coefficients)
        if self.rows.size != size:
            raise InvalidInput(f"there are {size} columns, but rows have {self.rows.size} entries")
        (intercept,) = validation.checked_finite([self.intercept], "intercept", 1)
        names = [validation.checked_name(name, "the name of a bound") for name in self.bounds]
        values = validation.checked_finite(self.bounds.values(), "bounds", len(names))
        validation.set_fields(
            self,
            intercept=intercept,
            bounds=dict(zip(names, values, strict=True)),
            footnotes=tuple(validation.checked_line(note, "a footnote") for note in self.footnotes),
        )
        if self.classes is not None:
            validation.set_fields(self, classes=checked_classes(self.classes))
        if self.table is not None:
            self._check_table(self.table)

    def _check_table(self, table: ModelTable) -> None:
        if table.column_names != self.columns:
            raise InvalidInput("the columns of the model are not those of its table")
        chosen = tuple(encoder.field.name for encoder in table.public.features)
        if chosen != self.feature_names:
            raise InvalidInput("the features of the model are not those of its table")
        if self.classes not in (table.classes, table.public.target.classes):
            raise InvalidInput("the classes of the model are not those of its table")
        validation.set_fields(self, classes=table.classes)
        if self.coefficients is not None:
            rule = self.in_units
            numbers = [rule.intercept, *(term.coefficient for term in rule.terms)]
            if not all(abs(number) <= LARGEST_NUMBER for number in numbers):
                raise InvalidInput("the coefficients of the model are too large for its table")

    @classmethod
    def of(cls, drawn: Drawn, guarantee: Guarantee, **known: Any) -> ModelRelease:
        """Return what was drawn with its guarantee and what was known before, by its field."""
        released = vars(drawn).copy()
        theta, coef, intercept = released.pop("theta"), None, 0.0
        if theta is not None:
            coefficients, intercept = drawn.rows.in_units_of_columns(theta)
            coef = tuple(coefficients.tolist())
        private = guarantee.private
        known |= {"guarantee": guarantee, "private": private, "intercept": intercept}
        return cls(coefficients=coef, **(released | known))

    @property
    def regression(self) -> str:
        """Name of the mechanism of the coefficients, without its options."""
        return self.mechanism.rsplit("then ", 1)[-1].partition(",")[0]

    @property
    def has_model(self) -> bool:
        """False if a private test decided that no model is released."""
        return self.coefficients is not None

    def decision(self, X: Any) -> FloatArray:
        """Return the linear predictor of rows, shape (n,); for classes its sign decides.

        Parameters
        ----------
        X : array_like of shape (n, k), or a table
            As for `predict`; for a model of a table also an array of its columns in [-1, 1]. Its
            predictor is in halves of the range of the target, from the middle, as its
            coefficients are.

        Raises
        ------
        InvalidInput
            If X is no such table, or no model was released.
        """
        # An array of numbers, or lists of them, is no table with names.
        if self.table is None or isinstance(X, np.ndarray | list | tuple):
            return self._of_columns(X)
        self._released()
        parts = map(self._of_columns, mapped_batches(X, self.table.public))
        return np.concatenate([np.empty(0), *parts])

    def _of_columns(self, X: Any) -> FloatArray:
        """Compute the linear predictor of the columns of the model."""
        if isinstance(X, str | Path):
            raise InvalidInput(
                f"the model is one of arrays, and {shown(str(X))} is no array: give its columns "
                f"({listed(self.column_names)}); paths are for models of a table with a schema"
            )
        coefficients = np.array(self._released())
        table = numeric_matrix(by_name(X, self.column_names))[0]
        if table.shape[1] != self.rows.size:
            raise InvalidInput(
                f"X must have {self.rows.size} columns ({listed(self.column_names)}), got "
                f"{table.shape[1]}"
            )
        with np.errstate(all="ignore"):
            found = self.rows.predictor(coefficients, self.intercept, table)
        finite: FloatArray = np.nan_to_num(found)
        return finite

    @property
    def in_units(self) -> TableEquation:
        """The coefficients in the units of the table: per unit of a field, against a category.

        Per unit of its column for a model of arrays.

        Raises
        ------
        InvalidInput
            If no model was released.
        """
        coefficients = self._released()
        if self.table is not None:
            return self.table.equation(coefficients, self.intercept)
        classes, pairs = self.classes, zip(self.column_names, coefficients, strict=True)
        return TableEquation(
            target=TARGET,
            classes=None if classes is None else (str(classes[0]), str(classes[1])),
            intercept=self.intercept,
            terms=tuple(
                Term(name, PER_UNIT, beta, meaning=f"per unit of {name}") for name, beta in pairs
            ),
            log_odds=classes is not None,
            has_intercept=self.rows.fit_intercept,
        )

    def probabilities(self, X: Any) -> FloatArray:
        """Return the probabilities of the two classes for rows, shape (n, 2).

        Parameters
        ----------
        X : array_like of shape (n, k), or a table
            As for `predict`.

        Raises
        ------
        InvalidInput
            If X is no such table, or the model has no probabilities.
        """
        return self.probabilities_of(self.decision(X))

    def probabilities_of(self, decisions: FloatArray) -> FloatArray:
        """Return 1/(1 + e^u) and 1/(1 + e^-u) for linear predictors u; shapes (n,) to (n, 2)."""
        if self.classes is None:
            raise InvalidInput(
                "only a model of two classes by the logistic loss has probabilities; this one is "
                f"{self.mechanism}"
            )
        return np.column_stack([expit(-decisions), expit(decisions)])

    def predict(self, X: Any, *, threshold: float = 0.5) -> np.ndarray[Any, Any]:
        """Return the predictions for rows, shape (n,): numbers, or classes.

        Parameters
        ----------
        X : array_like of shape (n, k), or a table
            The columns of the model, in the order of its coefficients; of a frame those that are
            called so, in any order. For a model of a table what
            `mipselect.tables.sources.open_source` takes, such as a path or a frame; the target
            need not be there, and other columns are ignored. Predictions are then in units of the
            target.
        threshold : float
            The probability above which the second class is predicted, between 0 and 1.

        Raises
        ------
        InvalidInput
            If X is no such table, or no model was released.

        Notes
        -----
        The model is private, so nobody in the data that it was drawn from is exposed. Predictions
        tell about the rows of X.
        """
        return self.predictions_of(self.decision(X), threshold=threshold)

    def predictions_of(
        self, decisions: FloatArray, *, threshold: float = 0.5
    ) -> np.ndarray[Any, Any]:
        """Return linear predictors as classes, or in units of the target; shape (n,).

        Raises
        ------
        InvalidInput
            If the threshold is not between 0 and 1, or another than one half for a model without
            probabilities.
        """
        validation.checked_share(threshold, "threshold", closed=False)
        if threshold != 0.5 and self.classes is None:
            self.probabilities_of(np.empty(0))
        if self.classes is not None:
            second = decisions > float(logit(threshold))
            named: np.ndarray[Any, Any] = np.array(self.classes)[second.astype(int)]
            return named
        if self.table is None:
            return decisions
        target = self.table.public.target
        with np.errstate(all="ignore"):
            return target.offset + target.scale * decisions

    @property
    def drawn_ranges(self) -> list[dict[str, Any]]:
        """The ranges that nobody stated, as the model uses them, with ε; ready for JSON."""
        if self.table is None:
            return []
        found = []
        for name, epsilon in self.table.private_ranges.items():
            of_field = self.table.schema.field(name, "private ranges")
            ends = {"minimum": of_field.minimum, "maximum": of_field.maximum}
            found.append({"field": name, **ends, "epsilon": epsilon, "private": self.private})
        return found

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns of the model: those of features that are one column each."""
        return self.columns or self.feature_names or tuple(map(str, self.support))

    def _released(self) -> tuple[float, ...]:
        if self.coefficients is None:
            raise InvalidInput(
                "no model was released: the private test failed; take more rows, or a larger "
                "epsilon or delta"
            )
        return self.coefficients

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
            "footnotes": list(self.footnotes),
            "table": None if self.table is None else self.table.to_dict(),
            **({} if self.quality is None else {"quality": self.quality.to_dict()}),
        }

    def save(self, path: str | Path) -> None:
        """Write the model to a file as JSON, whole or not at all.

        One that is not private is made readable for its owner only.

        Raises
        ------
        MipselectError
            If it cannot be written.
        """
        content = json.dumps(self.to_dict(), allow_nan=False).encode() + b"\n"
        disk.save(Path(path), content, sensitive=not self.private)

    @classmethod
    def load(cls, path: str | Path) -> ModelRelease:
        """Read a model that `save` wrote, or `mipselect fit`; nothing is unpickled.

        Raises
        ------
        InvalidInput
            Naming the file and what is wrong in it.
        """
        return model_in(disk.read_json(Path(path), LARGEST), str(path))

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
        for fault in disk.faults(stored, "mipselect.regression", SHAPE):
            raise InvalidInput(f"not a stored model: {fault}")
        fields = {name: value for name, value in stored.items() if name not in FORMAT_KEYS}
        table, quality = fields.get("table"), fields.get("quality")
        fields["guarantee"] = Guarantee.from_dict(fields["guarantee"])
        fields["rows"] = RowMap(**fields["rows"])
        fields["table"] = None if table is None else ModelTable.from_dict(table)
        fields["quality"] = None if quality is None else Quality.from_dict(quality)
        return cls(**fields)

    def summary(self) -> str:
        """Return the model in words: what was drawn, each coefficient, and the guarantee.

        In the units of the table where there is one, odds per unit for classes by the logistic
        loss. Terms that say nothing where no row has such a value are counted; `to_frame` has them.

        Examples
        --------
        >>> import numpy as np
        >>> from mipselect.regression import ObjectivePerturbationRegressor
        >>> X = np.linspace(-1.0, 1.0, 500)[:, None]
        >>> model = ObjectivePerturbationRegressor(x_bound=1.0, y_bound=1.0, coef_bound=1.0)
        >>> print(model.fit(X, X[:, 0]).release_.summary().splitlines()[1])
        Features: x0
        """
        table = self.table
        lines, guarantee = self._said(ROW if table is None else table.unit)
        drawn = "" if self.has_model else ": no model, for the private test failed"
        features = ", ".join(self.feature_names or map(str, self.support))
        kept = () if table is None else table.always
        always = f"; always in: {', '.join(kept)}" if kept else ""
        lines += [f"Model: {self.mechanism}{drawn}", f"Features: {features}{always}"]
        if self.has_model:
            lines += [*self.in_units.lines, *self.reading_notes]
        if self.quality is not None:
            lines += self.quality.lines
        return "\n".join([*lines, guarantee, *(f"Note: {note}." for note in self.footnotes)])

    @property
    def reading_notes(self) -> list[str]:
        """Sentences that say once how to read the coefficients, and what is not listed."""
        rule, table = self.in_units, self.table
        notes = [f"{self._of_a_coefficient(rule)}."]
        if HUBER in self.mechanism:
            notes.append(
                "Large errors count by their size and not by its square: where the target has a "
                "long tail, predictions lie between its median and its mean. For means take the "
                "squared loss."
            )
        if any(term.kind == CATEGORY for term in rule.terms):
            notes.append(
                "The coefficient of a category that few rows have, or none, is mostly noise."
            )
        if table is not None and table.weight is not None:
            notes.append(f"Rows counted by the survey weight {table.weight}.")
        if table is not None and table.ranges:
            told = [f"{name} {low:.6g} to {high:.6g}" for name, (low, high) in table.ranges.items()]
            notes.append(
                "Numbers count within their ranges, or the parts that were found to hold most "
                f"values, and as the middle where they are missing: {', '.join(told)}."
            )
        notes += [
            f"The range of {drawn['field']}, {drawn['minimum']:.4g} to {drawn['maximum']:.4g}, was "
            f"found privately, with ε = {drawn['epsilon']:.6g} of this release."
            for drawn in self.drawn_ranges
        ]
        if rule.left_out:
            notes.append(
                f"Not listed: {rule.left_out}; to_frame() and the file of the release have them."
            )
        return notes

    def _of_a_coefficient(self, rule: TableEquation) -> str:
        """Say what a coefficient is in units of, or what it is added to."""
        noise = "with noise for privacy beside the error of any sample"
        if rule.step:
            return f"A coefficient is in steps of {rule.target}, {noise}: {rule.step}"
        if rule.log_odds:
            return (
                "A coefficient is added to the logarithm of the odds of the class, which it "
                f"multiplies by the number shown, {noise}"
            )
        per = "per unit of its column" if self.table is None else "in units of the target"
        return f"A coefficient is {per}, {noise}"

    def to_frame(self) -> Any:
        """Return the coefficients as a frame of pandas, a row for each; all of it is released.

        Returns
        -------
        pandas.DataFrame
            `field`, `kind`, `category` and `reference` as in `Term`, the intercept first;
            `coefficient`; `odds_ratio` of models whose predictors are log-odds; `aside`.

        Raises
        ------
        InvalidInput
            If no model was released.
        """
        import pandas as pd

        rule = self.in_units
        columns: dict[str, list[Any]] = {
            name: [getattr(term, name) for term in rule.all_terms]
            for name in ("field", "kind", "category", "reference", "coefficient")
        }
        if rule.log_odds:
            columns["odds_ratio"] = [_odds_ratio(term) for term in rule.all_terms]
        return pd.DataFrame({**columns, "aside": [term.aside for term in rule.all_terms]})

    def plot(self, axes: Any = None) -> Any:
        """Draw the coefficients and the guarantee; needs matplotlib.

        Fields are compared: the coefficient of a number is shown for the whole of its public range,
        that of ordered categories from the first to the last. The intercept and terms that are
        aside are left out.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where to draw; new ones by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InvalidInput
            If matplotlib is missing, or no model was released.
        """
        from mipselect.documents.pictures import COLOURS, require_matplotlib

        rule = self.in_units
        require_matplotlib()
        terms = [term for term in rule.terms if not term.aside]
        if axes is None:
            from matplotlib import pyplot

            height = min(MARGINS + ROW_HEIGHT * len(terms), LARGEST_HEIGHT)
            axes = pyplot.subplots(figsize=(WIDTH, height), layout="constrained")[1]
        axes.axvline(0.0, color="0.8", zorder=0)
        labels = []
        for place, term in enumerate(terms):
            label, units = self._whole_range(term)
            labels.append(label)
            axes.plot(units * term.coefficient, place, "o", color=COLOURS[0], markersize=5)
        # A dollar sign in a name is no mathematics.
        axes.set_yticks(range(len(terms)), labels=labels, parse_math=False)
        axes.set_ylim(len(terms) - 0.5, -0.5)
        axes.set_xlabel(f"change of {rule.aim}", parse_math=False)
        before, guarantee = self._said(ROW if self.table is None else self.table.unit)
        lines = [*before, f"{self.mechanism}.", guarantee]
        title = "\n".join(textwrap.fill(line, TITLE_LETTERS) for line in lines)
        colour = "black" if self.private else RED
        axes.set_title(title, fontsize="small", loc="left", color=colour, parse_math=False)
        return axes

    def _whole_range(self, term: Term) -> tuple[str, float]:
        """Return what a coefficient is drawn for, and its units: the whole range of a number."""
        if self.table is None or term.kind not in (PER_UNIT, PER_STEP):
            return term.meaning, 1.0
        (encoder,) = (one for one in self.table.public.encoders if one.field.name == term.field)
        column = encoder.columns()[0]
        ends = [f"{column.offset + sign * column.scale:g}" for sign in (-1.0, 1.0)]
        if term.kind == PER_STEP:
            ends = [encoder.field.category_words[k] for k in (0, -1)]
        return f"{term.field} from {ends[0]} to {ends[1]}", 2.0 * column.scale

    def __str__(self) -> str:
        return self.summary()


def model_in(content: Any, what: str) -> ModelRelease:
    """Return the model of parsed JSON, of `save` or of `mipselect fit`; messages name `what`."""
    if isinstance(content, dict) and content.get("command") == "fit":
        content = content.get("model")
    try:
        return ModelRelease.from_dict(content)
    except InvalidInput as error:
        raise InvalidInput(f"{what}: {error}") from error
    except RecursionError:
        raise InvalidInput(f"{what}: not a stored model: it is nested too deeply") from None


def _odds_ratio(term: Term) -> float:
    """Return the factor by which a term multiplies the odds.

    It is ``inf`` beyond all doubles, and NaN for the intercept.
    """
    if term.kind == INTERCEPT:
        return math.nan
    return math.inf if term.odds_ratio is None else term.odds_ratio
