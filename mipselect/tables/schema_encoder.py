"""`SchemaEncoder`: the public map of a schema as a transformer of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from mipselect.errors import InvalidInput
from mipselect.parameters import estimator, parameter
from mipselect.tables.mapping import mapped_batches, open_columns
from mipselect.tables.public_map import InputMap, checked_schema, chosen_encoders
from mipselect.tables.schema import TableSchema
from mipselect.validation import shown


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
