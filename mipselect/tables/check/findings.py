"""Findings of a check as sentences: what is wrong, and what would be right.

No sentence proposes a range or a category: they come from a codebook or the design of a study,
never from the data.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mipselect.tables.check.kinds import ABOVE, BELOW, MISSING, UNLISTED, UNREADABLE, FieldRule
from mipselect.tables.csv_rows import SAVE_AS_UTF8
from mipselect.tables.fields import Field, as_two_classes
from mipselect.tables.numbers import DATE
from mipselect.validation import TRUTHS, listed, printable

CLIPPED = 0.05
"""Share of clipped values that is a finding: one value in fifty is usually no loss."""

IN_NO_LIST = 0.01
MOSTLY = 0.5
RARE = 0.01
NEARLY_ALL = 0.9995
SHOWN = 5
"""Odd values that are shown."""

WIDE = 0.1
"""Share of a range that is a finding where the middle 99 % of the values take up less."""

CODE_ROWS, CODE_SHARE = 5, 0.001
"""Rows, and their share, from which on one number far from the range is a finding."""

TAKE_A_RANGE = "take a range where nearly all values lie, such as from the codebook"
ANOTHER_UNIT = (
    "most of these are farther from the range than it is wide, as where some rows are in another "
    "unit, such as m beside cm, or have codes of no value"
)

DECIMAL_COMMA = re.compile(r"[+-]?\d+,(?!\d{3}$)\d+|[+-]?\d{1,3}(\.\d{3})+,\d+")
COMMA_IN_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+\.\d+|[+-]?\d{1,3}(,\d{3}){2,}")
EITHER_COMMA = re.compile(r"[+-]?\d{1,3},\d{3}")
THOUSANDS = re.compile(r"[+-]?\d{1,3}([ '\u00a0\u202f\u2019.]\d{3})+([.,]\d+)?")
BEFORE, AFTER = r"[^\d\s+-]{1,3}\s*", r"\s*[^\d\s]{1,8}"
PLAIN = r"[+-]?\d+([.,]\d+)?"
WITH_LETTERS = re.compile(f"{PLAIN}{AFTER}|{BEFORE}{PLAIN}|{BEFORE}{PLAIN}{AFTER}")

SHAPES: tuple[tuple[Callable[[str], object], str], ...] = (
    (
        DATE.fullmatch,
        'they look like dates, which are no numbers: give the field the type "date", with a '
        '"format" such as "%d.%m.%Y" unless they are written as 2020-01-31, or replace them by '
        "numbers such as days since a fixed day",
    ),
    (
        DECIMAL_COMMA.fullmatch,
        'they look like numbers with a decimal comma: say "decimalChar": ","',
    ),
    (
        COMMA_IN_THOUSANDS.fullmatch,
        'they look like numbers with commas between thousands: say "groupChar": ","',
    ),
    (
        EITHER_COMMA.fullmatch,
        'they look like numbers with a comma: say "decimalChar": "," if it is a decimal comma, or '
        '"groupChar": "," if it stands between thousands',
    ),
    (
        THOUSANDS.fullmatch,
        'they look like numbers with a sign between thousands: say which in "groupChar"',
    ),
    (
        WITH_LETTERS.fullmatch,
        "they look like numbers with a unit or a sign: write the bare numbers into the file, and "
        "the unit into the schema",
    ),
)
"""Shapes of texts that are no numbers, each with what would be right; the first one counts."""

LABELS = (
    "they are the labels in place of the values: list the labels as categories, with type string, "
    "or write the values"
)
LETTERS = "they differ from the categories in capital letters or blanks only"
NUMBERS = (
    "they are the numbers of the list, written in another way, such as 1.0 for 1: give the field "
    "the type integer, with numbers as categories"
)
NUMBERS_OF_A_BOOLEAN = (
    "they are its codes, written in another way, such as 1.0 for 1: list them in trueValues and "
    "falseValues as the file has them"
)
MOST_OF_THEM = 0.5
"""Share of the values that do not fit from which on a hint is given."""


@dataclass(frozen=True)
class Finding:
    """One thing that does not fit, in one line.

    Attributes
    ----------
    about : str
        Name of the field, or "the table".
    text : str
        The sentence, without the name and without a full stop.

    Examples
    --------
    >>> from mipselect.tables import Finding
    >>> print(Finding("charges", "93 % of values are above the maximum 1,000"))
    charges: 93 % of values are above the maximum 1,000
    """

    about: str
    text: str

    def __str__(self) -> str:
        return printable(f"{self.about}: {self.text}")


def percent(share: float) -> str:
    """Write a share in words: "all", "less than 0.1 %" or a number of percent."""
    if share >= 1.0:
        return "all"
    if 0.0 < share < 0.001:
        return "less than 0.1 %"
    digits = 1 if share < 0.1 or share >= 0.995 else 0
    # No share below 1 is rounded up to it.
    return f"{min(100.0 * share, 99.9):.{digits}f} %"


def share_of(share: float, what: str = "values") -> str:
    """Write a share of the values for the beginning of a sentence."""
    return f"all {what}" if share >= 1.0 else f"{percent(share)} of {what}"


def does_not_fit(rule: FieldRule, kind: int, share: str) -> str:
    """Say that a share of the values of a field is of a kind that does not fit."""
    if kind == MISSING and rule.field.required:
        return (
            f"{share} are missing, and the field is required: they count as the middle of the "
            "range; leave out constraints.required"
        )
    if kind == MISSING:
        return (
            f"{share} are missing; see whether this is the column that is meant, and whether its "
            "missingValues are those of the codebook"
        )
    if kind == BELOW and rule.is_weight:
        return f"{share} are 0 or below; a weight must be a number above 0"
    if kind == ABOVE and rule.is_weight:
        return (
            f"{share} are above the maximum {number(rule.high)}, and count as it; right where that "
            "is meant to trim, else take the largest weight of the design of the survey"
        )
    if kind in (BELOW, ABOVE):
        side = "below the minimum" if kind == BELOW else "above the maximum"
        end = rule.low if kind == BELOW else rule.high
        return f"{share} are {side} {number(end)}; {TAKE_A_RANGE}"
    if kind == UNLISTED:
        return f"{share} are in no list; the file writes other codes than {_codes(rule.field)}"
    if rule.field.is_number:
        return f"{share} are text that is no number and not in missingValues, and count as missing"
    if rule.field.is_listed or rule.field.type == "string":
        return f"{share} have bytes that are no UTF-8; {SAVE_AS_UTF8}, or say its --encoding"
    if rule.field.format != "default":
        return f"{share} are no {rule.field.type} of the format {rule.field.format}"
    example, way = ("07:30", "%H.%M") if rule.field.type == "time" else ("2020-01-31", "%d.%m.%Y")
    return (
        f"{share} are no {rule.field.type} of ISO 8601, such as {example}; if they are written in "
        f'another way, say which: "format": "{way}"'
    )


def _codes(field: Field) -> str:
    """Say which codes a field has, and what would be right."""
    if field.type == "boolean":
        yes, no = (_some(codes) for codes in (field.true_values, field.false_values))
        return f"{yes} for true and {no} for false; see the codebook for trueValues and falseValues"
    return f"{_some(field.category_names)}; see the codebook"


def _some(codes: Sequence[str]) -> str:
    more = ", ..." if len(codes) > SHOWN else ""
    return f"{', '.join(map(repr, codes[:SHOWN]))}{more}"


def too_wide(rule: FieldRule, middle: float) -> str:
    """Say that the middle 99 % of the values take up so little of a range; sensitive.

    For weights it is the share of their maximum that all but the largest 0.5 % reach.
    """
    if rule.is_weight:
        return (
            f"all but 0.5 % of weights are at most {percent(middle)} of the maximum "
            f"{number(rule.high)}; a row counts as its weight over the maximum, and one that is "
            "far too large costs accuracy: take the largest weight of the design of the survey"
        )
    return (
        f"the middle 99 % of values take up {percent(middle)} of the range {number(rule.low)} to "
        f"{number(rule.high)}; a range that is far too wide costs accuracy, so see whether the "
        "codebook has a typical one"
    )


def looks_like(rule: FieldRule, odd: Sequence[tuple[str, int]]) -> str:
    """Say what values that do not fit look like, or ""; sensitive."""
    told = _hint_of_categories(rule, odd) if rule.field.is_listed else ""
    return told or (_hint_of_numbers(odd) if rule.field.is_number else "")


def looks_like_no_value(rule: FieldRule, kind: int, value: float, share: str) -> str:
    """Say that a number beyond the range may be a code of no value; sensitive."""
    side, end = (
        ("below the minimum", rule.low) if kind == BELOW else ("above the maximum", rule.high)
    )
    written = f"{value:.15g}"
    texts = json.dumps([*rule.field.missing_values, written], ensure_ascii=False)
    return (
        f"{share} of values are {written}, {side} {number(end)}, and count as it; if that is a "
        f'code of no value, such as unknown, give the field "missingValues": {texts}'
    )


def has_other_separators(rule: FieldRule, share: str) -> str:
    """Say that numbers have a point or comma that the schema does not mean; sensitive."""
    sign, decimal = rule.field.group_char, rule.field.decimal_char
    if sign:
        return (
            f'{share} of values have a "{sign}" that does not stand before three digits, and count '
            f'without it, such as 28{sign}8 as 288; see whether "groupChar" and "decimalChar" are '
            "those of the file"
        )
    return (
        f'{share} of values have a point, though the schema says "decimalChar": "{decimal}", and '
        'count with it as that, 1.234 as little more than 1; say "groupChar": "." if it stands '
        "between thousands"
    )


def is_finding(rule: FieldRule, kind: int, share: float) -> bool:
    """Tell whether so large a share of a kind is worth a line."""
    if kind == MISSING:
        return share > 0.0 if rule.field.required else share >= MOSTLY
    if kind in (BELOW, ABOVE):
        return share > (0.0 if rule.is_weight else CLIPPED)
    if kind == UNLISTED:
        return share >= IN_NO_LIST
    return kind == UNREADABLE and share > 0.0


def number(value: float | None) -> str:
    """Write a number of the schema as people do."""
    return "" if value is None else f"{value:,.12g}"


def is_a_number_of_two(first: int, second: int) -> str:
    """Say what a target of two whole numbers is, and what it would be as two classes."""
    return (
        f"the target is a number here, {first} or {second}: fit gives neither odds nor "
        f"probabilities; for these {as_two_classes(first, second)}"
    )


def has_two_values(first: float, second: float) -> str:
    """Say what a number of two values would be better; sensitive."""
    return (
        f"the only values are {first:.12g} and {second:.12g}; a model may count one of them alone, "
        f'so give the field "categories": [{first:.12g}, {second:.12g}], or the type integer if '
        "they are whole"
    )


def without_rows(categories: Sequence[str]) -> str:
    """Say which categories no row has."""
    names = listed([repr(name) for name in categories])
    return (
        f"no row has {names}; a list of the codebook may stay as it is, unless the file writes "
        "these in another way"
    )


def _hint_of_numbers(odd: Sequence[tuple[str, int]]) -> str:
    """Say what texts in a field of numbers look like, or "".

    Parameters
    ----------
    odd : sequence of (str, int)
        Values, and rows that have them.
    """
    found = Counter({words: 0 for _, words in SHAPES})
    for text, count in odd:
        found[next((words for matches, words in SHAPES if matches(text)), "")] += count
    total, _ = found.total(), found.pop("", None)
    ((words, most),) = found.most_common(1)
    return _hint(words, most, total)


def _hint_of_categories(rule: FieldRule, odd: Sequence[tuple[str, int]]) -> str:
    """Say how values that are in no list relate to the categories and their labels, or ""."""
    plain = {name.strip().casefold() for name in _texts(rule.field)}
    labels = {label.strip().casefold() for label in rule.field.labels}
    numbers = {rule.field.number(text) for text in plain if text not in TRUTHS} - {None}
    ways: tuple[tuple[Callable[[str], bool], str], ...] = (
        (lambda text: text in labels - plain, LABELS),
        (lambda text: text in plain, LETTERS),
        (
            lambda text: text not in TRUTHS and rule.field.number(text) in numbers,
            NUMBERS_OF_A_BOOLEAN if rule.field.type == "boolean" else NUMBERS,
        ),
    )
    total = sum(count for _, count in odd)
    for matches, words in ways:
        found = sum(count for text, count in odd if matches(text.strip().casefold()))
        if told := _hint(words, found, total):
            return told
    return ""


def _hint(words: str, found: int, total: int) -> str:
    """Give a hint about all values that do not fit, or most of them; "" for fewer."""
    if not total or found < MOST_OF_THEM * total:
        return ""
    return words if found == total else words.replace("they", "most of these", 1)


def _texts(field: Field) -> tuple[str, ...]:
    """Return the texts that the values of a field are compared with."""
    if field.type == "boolean":
        return (*field.true_values, *field.false_values)
    return field.category_names
