"""A field of a Table Schema: what is public about one column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from mipselect.errors import InvalidInput
from mipselect.validation import LAST_INTEGER, TRUTHS, category_name, checked_name, printable, shown

NUMBERS = ("integer", "number")
MAPPED = (*NUMBERS, "boolean", "string")
"""The types that can become features."""

POINTS = ("date", "datetime")
"""The types that features can be made of, though they are none themselves."""

TRUE = ("true", "True", "TRUE", "1")
FALSE = ("false", "False", "FALSE", "0")
"""Truth values as the standard writes them."""

NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity)"
"""A number as text in any case, after `decimalChar` and `groupChar` are replaced."""

BLANKS = " \t\r\n\v\f"
"""Characters that do not count at either end of a value."""

ROLE = "mipselect:role"

IGNORED = "ignored"
"""The role of a field that is never a feature."""

PROPOSED = "mipselect:typeProposed"
"""Property of a field whose type comes from the data."""

Category = str | float | bool


@dataclass(frozen=True)
class Field:
    """One field of a `TableSchema`; everything in it is public.

    Attributes
    ----------
    name : str
    type : str
        As in the standard; only integer, number, boolean and string can become features.
    minimum, maximum : float or None
        The range of a number, in its units.
    required : bool
        Whether a value is always there: then the field has no column `=missing`.
    may_be_missing : bool
        Whether it is stated that values may be missing: by `required: false`, or by
        `missingValues` of the field.
    categories : tuple of str, float or bool, or None
        From `categories`, else from `constraints.enum`; as many and in the order as written.
    ordered : bool
        `categoriesOrdered`.
    missing_values : tuple of str
        Texts that stand for no value.
    true_values, false_values : tuple of str
        Texts of a boolean.
    decimal_char, group_char : str
        In the text of a number.
    type_proposed : bool
        `mipselect:typeProposed`: the type was proposed from the data, and nobody has confirmed yet
        that it is public.
    unit : str or None
        The unit of measurement in words, such as "mmHg".
    format : str
        How a date or a time is written, as the schema says: "default" is ISO 8601, and of any other
        nothing is made.
    role : str or None
        `mipselect:role`: "weight" for the survey weight of a row, "ignored" for an identifier, a
        name or whatever else is never used. Both are no features.
    labels : tuple of str
        What the categories mean, in their order: the `label` of each, or else the category. Empty
        where there is no label, or two categories have the same.

    Examples
    --------
    >>> from mipselect.tables import TableSchema
    >>> icd = {"name": "icd", "type": "string", "categories": ["I", "J"]}
    >>> TableSchema.of({"fields": [icd]}).fields[0].categories
    ('I', 'J')
    """

    name: str
    type: str
    minimum: float | None = None
    maximum: float | None = None
    required: bool = False
    may_be_missing: bool = False
    categories: tuple[Category, ...] | None = None
    ordered: bool = False
    missing_values: tuple[str, ...] = ("",)
    true_values: tuple[str, ...] = TRUE
    false_values: tuple[str, ...] = FALSE
    decimal_char: str = "."
    group_char: str = ""
    type_proposed: bool = False
    unit: str | None = None
    format: str = "default"
    role: str | None = None
    labels: tuple[str, ...] = ()

    @property
    def source(self) -> Field:
        """The field of the table that its values are made of."""
        return self

    def column(self, stored: pa.Array) -> pa.Array:
        """Return its values, of the column of its source."""
        return stored

    @property
    def is_number(self) -> bool:
        """True if its values are numbers, be they measured or the codes of categories."""
        return self.type in NUMBERS

    @property
    def is_measured(self) -> bool:
        """True for a number without categories."""
        return self.is_number and self.categories is None

    @property
    def is_listed(self) -> bool:
        """True for a boolean, and for a field with categories."""
        return self.type == "boolean" or self.categories is not None

    @cached_property
    def category_names(self) -> tuple[str, ...]:
        """The categories as texts; those of a boolean are false and true."""
        if self.type == "boolean":
            return "false", "true"
        return tuple(map(category_name, self.categories or ()))

    @property
    def category_words(self) -> tuple[str, ...]:
        """The categories as people read them: by their labels where there are any."""
        return self.labels or self.category_names

    @property
    def gap(self) -> str:
        """Properties that a person has to write before the field can be used; "" if nothing."""
        if self.is_listed or self.role is not None:
            return ""
        if self.type == "string":
            return "categories"
        if self.type == "any":
            return "type (integer, number, boolean or string), then a range or categories"
        if self.type in POINTS:
            return (
                f"a feature made of it: a field of type {self.type} is used through "
                "mipselect:features"
            )
        if self.type not in MAPPED:
            return f"nothing helps: a field of type {self.type} cannot be used"
        ends = {"constraints.minimum": self.minimum, "constraints.maximum": self.maximum}
        needed = " and ".join(name for name, end in ends.items() if end is None)
        return f"{needed}, or categories" if needed else ""

    @property
    def counts_whole(self) -> bool:
        """True for a number that is said to be whole."""
        return self.type == "integer" and self.is_measured

    def whole_ends(self, low: float, high: float) -> tuple[float, float]:
        """Extend a range to whole numbers, where the values are such."""
        return outward(low, high) if self.counts_whole else (low, high)

    def number(self, text: str) -> float | None:
        """Return the number that a text stands for, or None: the rule for all values of a field."""
        text = text.strip(BLANKS)
        if text.lower() in TRUTHS:
            return TRUTHS[text.lower()]
        if self.group_char:
            text = text.replace(self.group_char, "")
        if self.decimal_char != ".":
            text = text.replace(self.decimal_char, ".")
        return float(text) if re.fullmatch(NUMBER, text, re.IGNORECASE) else None


def outward(low: float, high: float) -> tuple[float, float]:
    """Round the ends of a range to whole numbers outside of it."""
    return float(np.floor(low)), float(np.ceil(high))


def field_of(content: Mapping[str, Any], missing: tuple[str, ...], where: str) -> Field:
    """Make a field of its JSON object, whose shape is known to be right.

    Parameters
    ----------
    content : mapping
    missing : tuple of str
        The `missingValues` of the table.
    where : str
        Its path in the file, for messages.
    """
    name, kind = content["name"], content.get("type", "any")
    checked_name(name, f"{where}.name")
    constraints = content.get("constraints", {})
    is_number = kind in NUMBERS
    ends = [constraints.get(key) if is_number else None for key in ("minimum", "maximum")]
    low, high = (None if end is None else float(end) for end in ends)
    if low is not None and high is not None and not low < high:
        raise InvalidInput(
            f"{where}.constraints (field {name}): minimum must be below maximum, got "
            f"{shown(low)} and {shown(high)}"
        )
    if "missingValues" in content:
        missing = values_of(content["missingValues"])
    field = Field(
        name=name,
        type=kind,
        minimum=low,
        maximum=high,
        required=constraints.get("required", False),
        may_be_missing=constraints.get("required") is False or "missingValues" in content,
        categories=_categories(content, constraints, kind, f"{where} (field {name})"),
        ordered=content.get("categoriesOrdered", False),
        missing_values=_texts(missing),
        true_values=_texts(content.get("trueValues", TRUE)),
        false_values=_texts(content.get("falseValues", FALSE)),
        decimal_char=content.get("decimalChar", "."),
        group_char=content.get("groupChar", ""),
        type_proposed=content.get(PROPOSED, False),
        unit=checked_name(content["unit"], f"{where}.unit") if "unit" in content else None,
        format=content.get("format", "default") if kind in POINTS else "default",
        role=content.get(ROLE),
        labels=_labels(content, kind),
    )
    _check_texts(field, f"{where} (field {name})")
    return field


def _labels(content: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    entries = content.get("categories", ()) if kind in (*NUMBERS, "string") else ()
    if not any(isinstance(entry, Mapping) and "label" in entry for entry in entries):
        return ()
    words = []
    for entry in entries:
        label = entry.get("label", "") if isinstance(entry, Mapping) else ""
        (value,) = values_of([entry])
        words.append(printable(label.strip(BLANKS)) or category_name(value))
    return tuple(words) if len(set(words)) == len(words) else ()


def values_of(entries: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values of a list whose entries are values, or objects with `value` and `label`."""
    return tuple(entry["value"] if isinstance(entry, Mapping) else entry for entry in entries)


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    """Return the texts without outer blanks, each once."""
    return tuple(dict.fromkeys(text.strip(BLANKS) for text in values))


def _categories(
    content: Mapping[str, Any], constraints: Mapping[str, Any], kind: str, where: str
) -> tuple[Category, ...] | None:
    """Read the categories of a field as values of its type; truth values need none."""
    entries, called = content.get("categories"), "categories"
    if entries is None:
        entries, called = constraints.get("enum"), "constraints.enum"
    if entries is None or kind == "boolean" or kind not in MAPPED:
        return None
    result: list[Category] = []
    for j, value in enumerate(values_of(entries)):
        at = f"{where}: {called}[{j}]"
        if kind == "string":
            if not isinstance(value, str):
                raise InvalidInput(f"{at} must be a text as the field is, got {shown(value)}")
            value = checked_name(value.strip(BLANKS), at)
        elif isinstance(value, bool | str):
            raise InvalidInput(f"{at} must be a number as the field is, got {shown(value)}")
        elif not abs(value) <= LAST_INTEGER:
            raise InvalidInput(f"{at} is beyond 2⁵³; make the field one of type string")
        else:
            value = float(value)
        if value in result:
            raise InvalidInput(f"{at} is listed twice: {shown(value)}")
        result.append(value)
    return tuple(result)


def _check_texts(field: Field, where: str) -> None:
    """Raise `InvalidInput` where texts contradict each other."""
    if field.decimal_char == field.group_char:
        raise InvalidInput(f"{where}: decimalChar and groupChar must differ")
    both = set(field.true_values) & set(field.false_values)
    if both:
        raise InvalidInput(f"{where}: {shown(both.pop())} stands in trueValues and in falseValues")
    for value in field.categories or ():
        written = {value} if isinstance(value, str) else set()
        numbers = {field.number(text) for text in field.missing_values}
        if written & set(field.missing_values) or (field.is_number and value in numbers):
            raise InvalidInput(
                f"{where}: {shown(value)} is a category and one of the missingValues; give the "
                "field its own missingValues"
            )
