"""Questions about a table, and their public maps: which field becomes which columns.

A `TableQuestion` makes a `PublicMap` before a row is read. Without a target there is an `InputMap`
alone. What a model remembers of both is a `ModelTable`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect import validation
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.errors import InvalidInput, about
from mipselect.parameters import completed_by
from mipselect.tables import values
from mipselect.tables.encoders import (
    Column,
    Encoder,
    Ranked,
    Scaled,
    TableEquation,
    Target,
    checked_range,
    encoder_of,
    equation,
    places_of_columns,
    target_of,
)
from mipselect.tables.fields import IGNORED, ROLE, Field
from mipselect.tables.schema import FEATURES, TableSchema, unit_of, uses_of
from mipselect.validation import listed, shown

Ranges = Mapping[str, tuple[float, float]]
AnyField = TypeVar("AnyField", bound=Field)

RULES = {
    "first": "the first in the order of the file counts",
    "last": "the last in the order of the file counts",
    "mean": "means of the numbers count, and of all else the first in the order of the file",
}
"""Words for the rules of a table about several rows of one person."""


@dataclass(frozen=True)
class InputMap:
    """A public map of the fields of one row into columns; no target is known.

    Attributes
    ----------
    features, always : tuple of Encoder
        The fields to choose from and those that are always in, in the order of the schema.
    """

    features: tuple[Encoder, ...]
    always: tuple[Encoder, ...]

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for name in (column.name for column in self.columns):
            validation.checked_name(name, "the name of a column, made of a field and a category,")
            if name in seen:
                raise InvalidInput(
                    f"two columns would be called {shown(name)}; rename a field or a category"
                )
            seen.add(name)

    @property
    def encoders(self) -> tuple[Encoder, ...]:
        """All of them in the order of their columns: the features, then those always in."""
        return (*self.features, *self.always)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of X."""
        return tuple(column for encoder in self.encoders for column in encoder.columns())

    @property
    def blocks(self) -> tuple[range, ...]:
        """The columns of every encoder."""
        return places_of_columns(self.encoders)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The fields, or derived features, of all encoders."""
        return tuple(encoder.field.name for encoder in self.encoders)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the table that X is made of, each once."""
        return tuple(dict.fromkeys(encoder.field.source.name for encoder in self.encoders))

    @cached_property
    def _places(self) -> tuple[int, ...]:
        """The place among `inputs` of what every encoder reads."""
        place = {name: k for k, name in enumerate(self.inputs)}
        return tuple(place[encoder.field.source.name] for encoder in self.encoders)

    @property
    def parts(self) -> ColumnsOfFeatures:
        """The columns of every field, and the target; columns of categories are indicators."""
        p = len(self.columns)
        indicators = np.zeros(p + 1, dtype=np.bool_)
        for encoder, block in zip(self.encoders, self.blocks, strict=True):
            indicators[block.start + encoder.numbers : block.stop] = True
        return ColumnsOfFeatures((*map(tuple, self.blocks), (p,)), indicators)

    def stored(self, batch: pa.RecordBatch, k: int) -> pa.Array:
        """Return what the k-th encoder reads of a batch, whose columns begin with `inputs`."""
        return batch.column(self._places[k])

    def encode_inputs(self, batch: pa.RecordBatch, X: NDArray[np.floating[Any]]) -> None:
        """Map a batch, whose columns begin with `inputs`, to rows of X."""
        for k, (encoder, block) in enumerate(zip(self.encoders, self.blocks, strict=True)):
            encoder.encode(self.stored(batch, k), X[:, block.start : block.stop])


@completed_by(InputMap)
@dataclass(frozen=True)
class PublicMap(InputMap):
    """A public map of one row of a table into features of Euclidean norm at most 1.

    Attributes
    ----------
    target : Target
    unit : Field or None
        The field that says whose row it is.
    weight : Field or None
        The field that says how much a row counts; it is no feature.
    unit_rule : {"first", "last", "mean"}
        What becomes of several rows of one person.

    Examples
    --------
    >>> from mipselect.tables import TableSchema
    >>> from mipselect.tables.public_map import TableQuestion
    >>> schema = TableSchema.of_numbers(dict.fromkeys(("a", "b", "y"), (0, 10)))
    >>> public = TableQuestion(schema, "y", always=["b"]).public
    >>> [encoder.field.name for encoder in public.features]
    ['a']
    """

    target: Target
    unit: Field | None
    weight: Field | None = None
    unit_rule: str = "first"

    @property
    def dtype(self) -> type[np.float32] | type[np.float64]:
        """Type of the columns: double where numbers are as they are."""
        # Places are scaled, also where a missing one is NaN.
        encoders = [e for e in (*self.encoders, self.target.encoder) if not isinstance(e, Ranked)]
        return np.float64 if any(math.isnan(e.gap) for e in encoders) else np.float32

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that are read; those of X, of the target and of the unit."""
        apart = (field.name for field in (self.weight, self.unit) if field is not None)
        return (*self.inputs, self.target.encoder.field.source.name, *apart)

    @property
    def target_name(self) -> str:
        """The field, or derived feature, to predict."""
        return self.target.encoder.field.name

    @property
    def protected_unit(self) -> str:
        """The name of what one row of X is about: "row", or the field of the privacy unit."""
        return "row" if self.unit is None else self.unit.name

    @property
    def always_names(self) -> tuple[str, ...]:
        """The fields that are always in."""
        return tuple(encoder.field.name for encoder in self.always)

    @property
    def weight_name(self) -> str | None:
        """The field that says how much a row counts."""
        return None if self.weight is None else self.weight.name

    def shares(self, batch: pa.RecordBatch) -> NDArray[np.float64] | None:
        """Return the shares by which rows of a batch count, in [0, 1]; NaN for a missing weight."""
        if self.weight is None:
            return None
        return weight_shares(batch.column(len(self.inputs) + 1), self.weight)

    def encode(
        self, batch: pa.RecordBatch, X: NDArray[np.floating[Any]], y: NDArray[np.float64]
    ) -> None:
        """Map a batch, whose columns are `names`, to rows of X and y; a missing y is NaN."""
        self.encode_inputs(batch, X)
        y[:] = self.targets(batch)

    def targets(self, batch: pa.RecordBatch) -> NDArray[np.float64]:
        """Map the target of a batch, whose columns are `names`, to [-1, 1]; NaN where missing."""
        return self.target.encoder.scaled(batch.column(len(self.inputs)))


@dataclass(frozen=True)
class TableQuestion:
    """A target, and the fields that it is to be predicted from; all of it is public.

    Attributes
    ----------
    schema : TableSchema
    target : str
    always, never : tuple of str
        Fields that are always in, or left out.
    ranges : mapping of str to (float, float)
        Ranges in place of those of the schema.
    unit_rule : {"first", "last", "mean"}
        What becomes of several rows of one person.

    Raises
    ------
    InvalidInput
        For what is no schema, and for a rule that is unknown or has no person to be about; for the
        rest where a map is made of it.

    Examples
    --------
    >>> from mipselect.tables import TableSchema
    >>> from mipselect.tables.public_map import TableQuestion
    >>> schema = TableSchema.of_numbers({"age": (0, 100), "dose": (0, 9), "days": (0, 30)})
    >>> question = TableQuestion(schema, "days", always=["age"])
    >>> [encoder.field.name for encoder in question.public.features]
    ['dose']
    """

    schema: TableSchema
    target: str
    always: Sequence[str] = ()
    never: Sequence[str] = ()
    ranges: Ranges = field(default_factory=dict)
    unit_rule: str = "first"

    def __post_init__(self) -> None:
        unit = checked_schema(self.schema).privacy_unit
        validation.checked_choice(self.unit_rule, "unit_rule", RULES)
        if unit is None and self.unit_rule != "first":
            raise InvalidInput(
                f"unit_rule {self.unit_rule!r} needs csvw-eo:privacyUnit in the schema: the field "
                "that says whose row it is"
            )
        validation.set_fields(
            self,
            always=field_names(self.always, "always"),
            never=field_names(self.never, "never"),
            ranges=dict(self.ranges),
        )

    @cached_property
    def public(self) -> PublicMap:
        """The map of a row into [-1, 1]; `InvalidInput` for what is wrong with the question."""
        public = _map_of(self, with_ranges(self.schema, self.ranges), scaled=True)
        used = {self.target, *public.feature_names}
        unused = sorted(set(self.ranges) - used)
        if unused:
            raise InvalidInput(f"ranges: fields that are not used: {listed(unused)}")
        return public

    @cached_property
    def without_ranges(self) -> PublicMap:
        """The map of a row that takes numbers as they are; no range is used."""
        return _map_of(self, self.schema, scaled=False)

    def of_moments(self, always: Sequence[str] = (), never: Sequence[str] = ()) -> TableQuestion:
        """Return it with fields always in, and others left out as well; with them their ranges."""
        left_out = (*self.never, *never)
        ranges = {name: ends for name, ends in self.ranges.items() if name not in left_out}
        return replace(self, always=always, never=left_out, ranges=ranges)

    def about(self, used: Collection[str]) -> TableQuestion:
        """Return it about these fields, the target among them, and no other.

        Whose row it is, and how much it counts, remains known.
        """
        schema, ranges = self.schema, self.ranges
        kept = {*used, schema.privacy_unit, schema.weight_name}
        return replace(
            self,
            never=[each.name for each in schema.features if each.name not in kept],
            ranges={name: ends for name, ends in ranges.items() if name in used},
        )


def _map_of(question: TableQuestion, schema: TableSchema, *, scaled: bool) -> PublicMap:
    """Make the map; `schema` is that of the question, with its ranges where they are used."""
    target = question.target
    schema.refuse_used({schema.weight_name or ""} & set(question.never), "never")
    aimed = schema.field(target, "target")
    require_complete([aimed], scaled=scaled)
    chosen = chosen_encoders(schema, target, question.always, question.never, scaled=scaled)
    aim = target_of(aimed, scaled=scaled)
    return PublicMap(*chosen, aim, unit_of(schema), schema.weight, question.unit_rule)


def chosen_encoders(
    schema: TableSchema,
    target: str | None,
    always: Sequence[str],
    never: Sequence[str],
    *,
    scaled: bool = True,
) -> tuple[tuple[Encoder, ...], tuple[Encoder, ...]]:
    """Return those of the fields to choose from and of those always in, in their order.

    Left out is also what is made of a column that the target is made of, fields of dates and times
    that are there for derived features, what the schema ignores, the unit and the weight.
    """
    aimed = None if target is None else schema.field(target, "target").source.name
    schema.refuse_used(() if target is None else (target,), "target")
    kept_in = checked_fields(schema, always, "always", target)
    left_out = checked_fields(schema, never, "never", target)
    schema.refuse_used(kept_in, "always")
    both = sorted(kept_in & left_out)
    if both:
        raise InvalidInput(f"a field cannot be in always and in never: {listed(both)}")
    apart = {*left_out, *schema.only_read, *uses_of(schema.fields, schema.privacy_unit), target}
    used = [f for f in schema.features if f.name not in apart and f.source.name != aimed]
    for name in sorted(kept_in - {each.name for each in used}):
        if name in schema.only_read:
            raise InvalidInput(f"always: {shown(name)} {schema.field(name, 'always').gap}")
        raise InvalidInput(
            f"always: {shown(name)} is made of what the target {shown(target)} is made of"
        )
    require_complete(used, scaled=scaled)
    encoders = [encoder_of(field, scaled=scaled) for field in used]
    features = tuple(e for e in encoders if e.field.name not in kept_in)
    if not features:
        raise InvalidInput("there is no field to choose from besides target, always and never")
    return features, tuple(e for e in encoders if e.field.name in kept_in)


def weight_shares(column: pa.Array, weight: Field) -> NDArray[np.float64]:
    """Compute clip(v, 0, W)/W, in [0, 1], NaN for a missing weight; shape (rows,).

    W is the public maximum of the survey weight: a row counts at most as
    much as a row without weights.
    """
    assert weight.maximum is not None
    found = np.clip(values.numbers(column, weight), 0.0, weight.maximum)
    found /= weight.maximum
    return found


def counted_shares(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Let a row without a weight count 0, in place."""
    shares[np.isnan(shares)] = 0.0
    return shares


def checked_schema(schema: TableSchema) -> TableSchema:
    """Return it; raise `InvalidInput` for what is no `TableSchema`, or types nobody confirmed."""
    if not isinstance(schema, TableSchema):
        raise InvalidInput(
            f"schema must be a TableSchema, such as TableSchema.read(path); got {shown(schema)}"
        )
    proposed = [field.name for field in schema.fields if field.type_proposed]
    if proposed:
        raise InvalidInput(
            f"schema: the types of {listed(proposed)} were proposed from the data, and nobody has "
            "confirmed that they are public: 'mipselect schema confirm FILE' lists and confirms "
            "them"
        )
    return schema


def with_ranges(schema: TableSchema, ranges: Ranges | None) -> TableSchema:
    """Give fields the ranges of the question in place of their own; the text of the file stays.

    Raises
    ------
    InvalidInput
        For a range that is none, and for a field that has none of its own.
    """
    if not ranges:
        return schema
    schema.refuse_used(ranges, "ranges")
    checked: dict[str, tuple[float, float]] = {}
    for name, ends in ranges.items():
        field = schema.field(name, "ranges")
        what = f"ranges: field {name}"
        if not field.is_measured:
            raise InvalidInput(f"{what} must be one of numbers without categories")
        if isinstance(ends, str) or not isinstance(ends, Sequence) or len(ends) != 2:
            raise InvalidInput(f"{what} must be two numbers (lo, hi), got {shown(ends)}")
        wanted = f"a number between {-validation.LARGEST_SCALE:g} and {validation.LARGEST_SCALE:g}"
        low, high = (
            validation.checked_number(
                end, what, wanted, lambda v: abs(v) <= validation.LARGEST_SCALE
            )
            for end in ends
        )
        checked[name] = checked_range(low, high, what)

    def ranged(field: AnyField) -> AnyField:
        low, high = checked.get(field.name, (field.minimum, field.maximum))
        return replace(field, minimum=low, maximum=high)

    fields, derived = map(ranged, schema.fields), map(ranged, schema.derived)
    return replace(schema, fields=tuple(fields), derived=tuple(derived))


def checked_fields(
    schema: TableSchema, names: Sequence[str], what: str, target: str | None
) -> frozenset[str]:
    """Return names of fields; `what` is how a message calls them."""
    result = frozenset(schema.field(name, what).name for name in field_names(names, what))
    if target in result:
        raise InvalidInput(f"the target {shown(target)} cannot be in {what}")
    return result


def field_names(names: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the names of a list; raise `InvalidInput` for what is none, such as a single name."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInput(f"{what} must be a list of field names, got {shown(names)}")
    return tuple(names)


def require_complete(fields: Sequence[Field], *, scaled: bool = True) -> None:
    """Raise `InvalidInput` for all fields of which the schema says too little.

    Numbers that are not scaled need no range.
    """
    lacking = [f for f in fields if f.gap and (scaled or not f.is_number)]
    if lacking:
        says = "; ".join(f"{shown(f.name)} needs {f.gap}" for f in lacking[:10])
        more = f" and {len(lacking) - 10} more" if len(lacking) > 10 else ""
        raise InvalidInput(
            "the schema says too little of fields that are used (fill it in from public "
            "knowledge, or leave the fields out with never, and identifiers for good with "
            f"{ROLE} {IGNORED!r} in the schema): {says}{more}"
        )


def people_in_words(unit: str, rule: str) -> str:
    """Say what becomes of several rows of one person; `unit` is the field that says whose they are.

    Examples
    --------
    >>> people_in_words("id", "last")
    'Of all rows with the same id the last in the order of the file counts (unit_rule last)'
    """
    return f"Of all rows with the same {unit} {RULES[rule]} (unit_rule {rule})"


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
        validation.set_fields(
            self,
            always=validation.checked_names(self.always),
            sources=validation.checked_names(self.sources),
        )
        for name, epsilon in self.private_ranges.items():
            self.schema.field(name, "private ranges")
            validation.checked_epsilon(epsilon)
        validation.checked_name(self.unit, "the unit")
        if self.weight is not None:
            validation.checked_name(self.weight, "the weight")
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
