"""`ModelTable`: what a model remembers of a table, all of it public, to map other rows the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mipselect.errors import about
from mipselect.tables.encoders import Scaled, TableEquation, equation
from mipselect.tables.public_map import PublicMap, TableQuestion
from mipselect.tables.schema import FEATURES, TableSchema
from mipselect.validation import checked_epsilon, checked_name, checked_names, set_fields


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

    def equation(
        self, coef: Sequence[float], intercept: float, *, log_odds: bool = False
    ) -> TableEquation:
        """Convert coefficients of the columns to the units of the table."""
        target = self.public.target
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
