"""Hints about values that do not fit: what they look like, and what would be right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from mipselect.tables.check.kinds import FieldRule
from mipselect.tables.csv_text import DATE
from mipselect.tables.fields import Field
from mipselect.validation import TRUTHS

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
        'they look like dates, which are no numbers: give the field the type "date" and write '
        "dates as 2020-01-31, or replace them by numbers such as days since a fixed day",
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
        "they look like numbers with a unit or a sign: write the bare numbers, and the unit in the "
        "schema",
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


def hint_of_numbers(odd: Sequence[tuple[str, int]]) -> str:
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
    return words if total and most >= MOST_OF_THEM * total else ""


def hint_of_categories(rule: FieldRule, odd: Sequence[tuple[str, int]]) -> str:
    """Say how values that are in no list relate to the categories and their labels, or ""."""
    plain = {name.strip().casefold() for name in _codes(rule.field)}
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
        if total and found >= MOST_OF_THEM * total:
            return words
    return ""


def _codes(field: Field) -> tuple[str, ...]:
    """Return the texts that the values of a field are compared with."""
    if field.type == "boolean":
        return (*field.true_values, *field.false_values)
    return field.category_names
