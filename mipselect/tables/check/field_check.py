"""`FieldCheck` and `PersonCheck`: what was counted of a field, and of people. SENSITIVE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mipselect.tables.check.counts import FieldCounts
from mipselect.tables.check.findings import (
    ANOTHER_UNIT,
    CLIPPED,
    CODE_ROWS,
    CODE_SHARE,
    MOSTLY,
    NEARLY_ALL,
    RARE,
    SHOWN,
    WIDE,
    Finding,
    does_not_fit,
    has_other_separators,
    has_two_values,
    is_a_number_of_two,
    is_finding,
    looks_like,
    looks_like_no_value,
    number,
    percent,
    share_of,
    too_wide,
    without_rows,
)
from mipselect.tables.check.kinds import (
    ABOVE,
    BELOW,
    KINDS,
    MISSING,
    UNLISTED,
    UNREADABLE,
    FieldRule,
)
from mipselect.tables.fields import two_whole_numbers
from mipselect.tables.people import PersonCounts

HANDFUL, EACH = 20, 10
"""So few people with so many rows each, on average, are no people."""


@dataclass(frozen=True)
class FieldCheck:
    """Counts of the values of one field; sensitive.

    Attributes
    ----------
    rule : FieldRule
        What makes a value one of a kind; public.
    rows : int
    kinds : mapping of str to int
        Values that are fine, missing, below, above, unlisted or unreadable; in all as many as rows.
    categories : mapping of str to int
        Rows of each category.
    is_constant : bool
        Whether all values that can be read become the same.
    odd : tuple of (str, int)
        The most frequent values that are in no list or unreadable, as printable texts with their
        numbers of rows; a few of them, and where there are very many different ones at least so
        many rows.
    looks : str
        What these look like, in words.
    is_target : bool
    middle : float or None
        Share of the range that the middle 99 % of the numbers take up, or share of the maximum
        that all but the largest 0.5 % of the weights reach; None where there is no range, or hardly
        a value.
    far : mapping of str to int
        Values "below" and "above" the range that are farther from it than it is wide.
    code : (float, int) or None
        The most frequent value beyond the range that may be a code of no value, and its rows.
    doubtful : int
        Numbers whose text has a separator at a place that the schema does not mean.
    only_two : (float, float) or None
        The values, rising, where there are two.
    worth : float or None
        Rows of the largest weight that all rows count as, Σw/W; None for what is no weight.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.tables import TableSchema, check_table
    >>> smoker = {"name": "smoker", "type": "string", "categories": ["no", "yes"]}
    >>> table = pa.table({"smoker": ["0", "1", "0", "yes"]})
    >>> (field,) = check_table(table, TableSchema.of({"fields": [smoker]})).fields
    >>> field.kinds["unlisted"], field.share("unlisted"), field.odd
    (3, 0.75, (('0', 2), ('1', 1)))
    """

    rule: FieldRule
    rows: int
    kinds: Mapping[str, int]
    categories: Mapping[str, int]
    is_constant: bool
    odd: tuple[tuple[str, int], ...]
    looks: str
    is_target: bool
    middle: float | None
    far: Mapping[str, int]
    code: tuple[float, int] | None = None
    doubtful: int = 0
    only_two: tuple[float, float] | None = None
    worth: float | None = None

    @classmethod
    def of(cls, counts: FieldCounts, target: str | None) -> FieldCheck:
        """Return what was counted."""
        names, spread, weighs = (
            counts.rule.field.category_names,
            counts.spread,
            counts.rule.is_weight,
        )
        middle = None if spread is None else spread.reach if weighs else spread.middle
        far = (0, 0) if spread is None or weighs else (spread.far_below, spread.far_above)
        return cls(
            rule=counts.rule,
            rows=counts.rows,
            kinds=dict(zip(KINDS, counts.kinds.tolist(), strict=True)),
            categories=dict(zip(names, counts.categories.tolist(), strict=True)),
            is_constant=counts.is_constant,
            odd=counts.most_frequent(SHOWN),
            looks=looks_like(counts.rule, counts.most_frequent(len(counts.odd))),
            is_target=counts.rule.name == target,
            middle=middle,
            far=dict(zip((KINDS[BELOW], KINDS[ABOVE]), far, strict=True)),
            code=None if spread is None or weighs else spread.most_frequent_suspect,
            doubtful=counts.doubtful,
            only_two=counts.only_two,
            worth=spread.total if spread is not None and weighs else None,
        )

    @property
    def name(self) -> str:
        """Name of the field."""
        return self.rule.name

    def share(self, kind: str) -> float:
        """Return the share of the rows whose value is of a kind; 0 where there are no rows."""
        return self.kinds[kind] / self.rows if self.rows else 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A line for everything that does not fit."""
        lines = [self._line(k) for k in range(1, len(KINDS))]
        absent = [name for name, count in self.categories.items() if not count]
        if absent and any(self.categories.values()):
            lines.append(without_rows(absent))
        if self.is_target:
            lines += self._lines_of_target()
        elif self.is_constant and not self.odd:
            lines.append("is constant: all values that can be read become the same; leave it out")
        if self.only_two is not None and self._may_lose_one:
            lines.append(has_two_values(*self.only_two))
        if self.doubtful:
            lines.append(has_other_separators(self.rule, percent(self.doubtful / self.rows)))
        # Values that are clipped say of themselves that the range is no wide one.
        clipped = self.share(KINDS[BELOW]) + self.share(KINDS[ABOVE])
        wide = self.middle is not None and self.middle < WIDE
        if self.middle is not None and wide and clipped <= CLIPPED and not self.is_constant:
            lines.append(too_wide(self.rule, self.middle))
        return tuple(Finding(self.name, text) for text in lines if text)

    @property
    def _may_lose_one(self) -> bool:
        """True where a drawn range of the number may hold one of its two values alone."""
        clipped = self.kinds[KINDS[BELOW]] + self.kinds[KINDS[ABOVE]]
        return not (clipped or self.rule.is_weight or self.rule.field.counts_whole)

    def _lines_of_target(self) -> list[str]:
        if self.is_constant:
            return ["the target is constant after the map; nothing can explain it"]
        two = two_whole_numbers(self.rule.field, self.rule.low, self.rule.high)
        if two is not None:
            return [is_a_number_of_two(*two)]
        listed = sum(self.categories.values())
        if not listed or self.rule.field.ordered:
            return []
        return [
            f"the class {name!r} of the target is rare, {percent(count / listed)} of rows; a model "
            "of it needs many rows or a large ε"
            if count
            else f"the target has no row of the class {name!r}"
            for name, count in self.categories.items()
            if count < RARE * listed
        ]

    def _line(self, kind: int) -> str:
        """Say that values are of a kind, if so many are that it matters; else ""."""
        share = self.share(KINDS[kind])
        if kind in (BELOW, ABOVE) and (told := self._code_of_no_value(kind)):
            return told
        if not is_finding(self.rule, kind, share):
            return ""
        present = self.rows - self.kinds[KINDS[MISSING]]
        if kind == UNLISTED and self.kinds[KINDS[kind]] >= NEARLY_ALL * present:
            share = 1.0
        said = does_not_fit(self.rule, kind, share_of(share, self.rule.what))
        if kind not in (UNLISTED, UNREADABLE):
            far = self.far.get(KINDS[kind], 0) >= MOSTLY * self.kinds[KINDS[kind]]
            return f"{said}; {ANOTHER_UNIT}" if far else said
        frequent = ", ".join(f"'{text}' ({count:,} rows)" for text, count in self.odd)
        return f"{said}{'; ' if self.looks else ''}{self.looks}. Most frequent: {frequent}"

    def _code_of_no_value(self, kind: int) -> str:
        """Say that most of the values on one side may be a code of no value; else ""."""
        if self.code is None:
            return ""
        value, count = self.code
        is_there = (value > (self.rule.high or 0.0)) == (kind == ABOVE)
        rare = count < max(CODE_ROWS, CODE_SHARE * self.rows)
        if not is_there or rare or count >= MOSTLY * self.rows:
            return ""
        if count < MOSTLY * self.kinds[KINDS[kind]]:
            return ""
        return looks_like_no_value(self.rule, kind, value, percent(count / self.rows))

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, ready for JSON."""
        return {
            "name": self.name,
            "type": self.rule.field.type,
            "role": "weight" if self.rule.is_weight else None,
            "minimum": self.rule.low,
            "maximum": self.rule.high,
            "counts": dict(self.kinds),
            "shares": {kind: self.share(kind) for kind in KINDS},
            "categories": dict(self.categories),
            "constant": self.is_constant,
            "share_of_range_of_the_middle_99_percent": self.middle,
            "rows_of_the_largest_weight": self.worth,
            "farther_out_than_the_range_is_wide": dict(self.far),
            "most_frequent_odd_values": [
                {"value": text, "rows": count} for text, count in self.odd
            ],
            "findings": [finding.text for finding in self.findings],
        }


@dataclass(frozen=True)
class PersonCheck:
    """Rows of people; sensitive.

    Attributes
    ----------
    field : str
        The privacy unit.
    people : int
        All rows without an identity are those of one person.
    rows, most_rows, rows_without : int
        In all, of the person with most of them, and without an identity.
    repeated : int
        People with several rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.tables import TableSchema, check_table
    >>> age = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}
    >>> fields = [{"name": "id", "type": "string"}, age]
    >>> schema = TableSchema.of({"csvw-eo:privacyUnit": "id", "fields": fields})
    >>> people = check_table(pa.table({"id": ["a", "b", "a"], "age": [3, 4, 5]}), schema).people
    >>> people.people, people.most_rows, people.repeated
    (2, 2, 1)
    """

    field: str
    people: int
    rows: int
    most_rows: int
    repeated: int
    rows_without: int

    @classmethod
    def of(cls, counts: PersonCounts) -> PersonCheck:
        """Return what was counted."""
        rows = counts.rows.values()
        return cls(
            field=counts.unit.name,
            people=len(rows),
            rows=sum(rows),
            most_rows=max(rows, default=0),
            repeated=sum(count > 1 for count in rows),
            rows_without=counts.rows.get(None, 0),
        )

    @property
    def summary(self) -> str:
        """The counts in words."""
        people = f"{number(self.people)} people by {self.field}"
        if self.most_rows <= 1:
            return f"{people}, one row each"
        repeated = percent(self.repeated / self.people)
        return f"{people}, {repeated} of them with several rows, at most {number(self.most_rows)}"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A line for a column that does not seem to say whose row it is."""
        lines = []
        known = self.people - (self.rows_without > 0)
        if self.rows and self.rows_without >= MOSTLY * self.rows:
            lines.append(
                f"{share_of(self.rows_without / self.rows, 'rows')} have no identity, and all of "
                "these count as one person; see whether this column says whose row it is"
            )
        elif 0 < known <= HANDFUL and self.rows - self.rows_without >= EACH * known:
            lines.append(
                f"only {known} different people in {self.rows:,} rows, and one row of each counts; "
                "see whether this column says whose row it is"
            )
        return tuple(Finding(self.field, text) for text in lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, ready for JSON."""
        return {
            "field": self.field,
            "people": self.people,
            "rows": self.rows,
            "most_rows": self.most_rows,
            "people_with_several_rows": self.repeated,
            "rows_without_identity": self.rows_without,
            "findings": [finding.text for finding in self.findings],
        }
