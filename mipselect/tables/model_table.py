"""Maps of rows that come later: `SchemaEncoder`, and what a model remembers, its `ModelTable`.

All of both is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from mipselect.errors import InvalidInput, about
from mipselect.parameters import estimator, parameter
from mipselect.tables.encoders import Scaled, TableEquation, equation
from mipselect.tables.mapping import mapped_batches, open_columns
from mipselect.tables.public_map import (
    InputMap,
    PublicMap,
    TableQuestion,
    checked_schema,
    chosen_encoders,
)
from mipselect.tables.schema import FEATURES, TableSchema
from mipselect.validation import checked_epsilon, checked_name, checked_names, set_fields, shown


@estimator
class SchemaEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn transformer of frames into columns in [-1, 1], one row at a time.

    All of it follows from the schema. `fit` learns nothing from the rows, so what is private about
    rows that were encoded is private about the rows of the table.

    A survey weight makes no column, and what is fitted to the columns alone counts all rows the
    same. `SelectThenRegress` with the schema counts them by their weights.

    Attributes
    ----------
    n_features_in_ : int
        Number of fields that are read.
    feature_names_in_ : ndarray of str
        Their names, in the order of the schema. Other columns of a frame are ignored.

    Raises
    ------
    InvalidInput
        From `fit` and `transform`: for a schema that says too little of a field or has a privacy
        unit, and for a table without one of the fields. Nothing is raised because of the rows.

    Notes
    -----
    A row has Euclidean norm at most 1 in the columns of each field. `groups` has these for a
    selector, whose `x_bound` is 1 then; `for_features` of a regressor takes how many there are.

    Examples
    --------
    >>> import pandas as pd
    >>> from mipselect.tables import SchemaEncoder, TableSchema
    >>> schema = TableSchema.of(
    ...     {
    ...         "fields": [
    ...             {"name": "age", "type": "number", "constraints": {"minimum": 0, "maximum": 80}},
    ...             {"name": "icd", "type": "string", "categories": ["E", "I", "J"]},
    ...         ]
    ...     }
    ... )
    >>> frame = pd.DataFrame({"age": [20, None], "icd": ["J", "E"]})
    >>> encoder = SchemaEncoder(schema).set_output(transform="pandas")
    >>> encoder.fit_transform(frame).columns.tolist()
    ['age', 'age=missing', 'icd=E', 'icd=I', 'icd=J', 'icd=missing']
    >>> encoder.transform(frame).to_numpy().tolist()
    [[-0.5, 0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]]
    >>> encoder.groups
    {'age': (0, 1), 'icd': (2, 3, 4, 5)}
    """

    schema: TableSchema = parameter(
        "TableSchema", "Public description of the table.", kw_only=False
    )
    target: str | None = parameter(
        "str, optional", "A field that is left out, as the one to predict.", default=None
    )
    never: Sequence[str] = parameter(
        "sequence of str", "Further fields that are left out.", default=()
    )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters and the header of a table; nothing is learnt from its rows.

        Parameters
        ----------
        X : table
            A frame of pandas or Polars, a `pyarrow.Table` or whatever else
            `mipselect.tables.sources.open_source` takes.
        y : ignored

        Returns
        -------
        self
        """
        inputs = self._map()
        open_columns(X, inputs.inputs)
        self.n_features_in_ = len(inputs.inputs)
        self.feature_names_in_ = np.array(inputs.inputs, dtype=object)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Map each row by itself, shape (n, q); no `fit` is needed before.

        Parameters
        ----------
        X : table
            As for `fit`.
        """
        inputs = self._map()
        none = np.empty((0, len(inputs.columns)), np.float32)
        return np.concatenate([none, *mapped_batches(X, inputs)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the q columns, such as "age", "age=missing" and "icd=J".

        Parameters
        ----------
        input_features : ignored
            The fields are those of the schema.
        """
        return np.array([column.name for column in self._map().columns], dtype=object)

    @property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """The columns of each field, for `groups` and `always` of a selector."""
        inputs = self._map()
        return dict(zip(inputs.feature_names, map(tuple, inputs.blocks), strict=True))

    def _map(self) -> InputMap:
        """Choose all fields but the target and those of `never`, and no survey weight."""
        unit = checked_schema(self.schema).privacy_unit
        if unit is not None:
            raise InvalidInput(
                f"the schema says that several rows may be of one {shown(unit)}, and an encoder "
                "maps each row by itself: SelectThenRegress with this schema makes one row of "
                "a person's. If each person has one row, take csvw-eo:privacyUnit out of the "
                f"schema, and leave the field out with never=[{shown(unit)}]"
            )
        return InputMap(*chosen_encoders(self.schema, self.target, (), self.never))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True
        tags.input_tags.two_d_array = False
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


@dataclass(frozen=True)
class ModelTable:
    """The fields that a model looks at and their map into columns: the schema, cut down to them.

    Attributes
    ----------
    schema : TableSchema
        Schema of the chosen fields, those always in, and the target; with the ranges that were
        used.
    target : str
    always : tuple of str
        The fields that are always in.
    unit : str
        What one row was about: "row", or the field of the privacy unit.
    private_ranges : mapping of str to float
        ε of the fields whose ranges were drawn from the data; empty where all were stated.
    sources : tuple of str
        The fields that are read for derived features only.
    weight : str or None
        The field that said how much a row counts in the fit. A prediction needs none.

    Raises
    ------
    InvalidInput
        If the schema says too little of its fields.

    Examples
    --------
    >>> from mipselect.tables import ModelTable, TableSchema
    >>> schema = TableSchema.of_numbers({"dose": (0, 10), "effect": (0, 10)})
    >>> ModelTable(schema, "effect", (), "row").target
    'effect'
    """

    schema: TableSchema
    target: str
    always: tuple[str, ...]
    unit: str
    private_ranges: Mapping[str, float] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    weight: str | None = None

    def __post_init__(self) -> None:
        set_fields(self, always=checked_names(self.always), sources=checked_names(self.sources))
        for name, epsilon in self.private_ranges.items():
            self.schema.field(name, "private ranges")
            checked_epsilon(epsilon)
        checked_name(self.unit, "the unit")
        if self.weight is not None:
            checked_name(self.weight, "the weight")
        _ = self.public

    @classmethod
    def of(cls, schema: TableSchema, public: PublicMap, chosen: Sequence[int]) -> ModelTable:
        """Return what remains of a table for a model on the `chosen` features of `public`."""
        content = schema.content
        kept = [public.features[j] for j in chosen]
        encoders = {e.field.name: e for e in (*kept, *public.always, public.target.encoder)}
        read = {encoder.field.source.name for encoder in encoders.values()}
        ranges = {
            name: {"minimum": encoder.low, "maximum": encoder.high}
            for name, encoder in encoders.items()
            if isinstance(encoder, Scaled)
        }
        fields = [entry for entry in content["fields"] if entry["name"] in read]
        for entry in fields:
            entry["constraints"] = entry.get("constraints", {}) | ranges.get(entry["name"], {})
        made = [
            entry | ranges.get(entry["name"], {})
            for entry in content.get(FEATURES, ())
            if entry["name"] in encoders
        ]
        features = {FEATURES: made} if made else {}
        missing = {key: content[key] for key in ("missingValues",) if key in content}
        return cls(
            schema=TableSchema.of({**missing, "fields": fields, **features}),
            target=public.target.encoder.field.name,
            always=public.always_names,
            unit=public.protected_unit,
            sources=tuple(f["name"] for f in fields if f["name"] not in encoders),
            weight=public.weight_name,
        )

    @cached_property
    def public(self) -> PublicMap:
        """The map: the chosen fields are its features."""
        return self.question(self.schema).public

    def question(self, schema: TableSchema, unit_rule: str = "first") -> TableQuestion:
        """Return the question by a schema that says more, such as whose row it is."""
        # What the target is made of is no feature anyway.
        return TableQuestion(schema, self.target, self.always, self.sources, unit_rule=unit_rule)

    @property
    def classes(self) -> tuple[str | bool | int | float, str | bool | int | float] | None:
        """The two classes of the target as its table has them; None for a number.

        A boolean is spelled as the schema does, unless that is false and true.
        """
        target = self.public.target
        if target.classes is None:
            return None
        field = target.encoder.field
        if field.type == "boolean":
            return (False, True) if target.classes == ("false", "true") else target.classes
        first, second = (field.categories or ())[:2]
        return (int(first), int(second)) if field.type == "integer" else (first, second)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the model."""
        return tuple(column.name for column in self.public.columns)

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The ranges of the numbers that the model looks at: parts of those of its schema."""
        scaled = (encoder for encoder in self.public.encoders if isinstance(encoder, Scaled))
        return {encoder.field.name: (encoder.low, encoder.high) for encoder in scaled}

    def equation(self, coef: Sequence[float], intercept: float) -> TableEquation:
        """Convert coefficients of the columns, log-odds of classes, to the units of the table."""
        target = self.public.target
        log_odds = target.classes is not None
        return equation(self.public.encoders, target, coef, intercept, log_odds=log_odds)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON; `from_dict` reads them again."""
        some = {
            "private_ranges": dict(self.private_ranges),
            "sources": list(self.sources),
            "weight": self.weight,
        }
        return {
            "schema": self.schema.content,
            "target": self.target,
            "always": list(self.always),
            "unit": self.unit,
            **{key: value for key, value in some.items() if value},
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> ModelTable:
        """Return what `to_dict` wrote; raise `InvalidInput` with what is wrong."""
        with about("table.schema"):
            schema = TableSchema.of(stored["schema"])
        ranges, sources = dict(stored.get("private_ranges", {})), tuple(stored.get("sources", ()))
        asked = stored["target"], tuple(stored["always"]), stored["unit"]
        return cls(schema, *asked, ranges, sources, stored.get("weight"))
