"""Hints about values that do not fit: what they look like, and what would be right."""

from __future__ import annotations

import re
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


def hint_of_numbers(odd: Sequence[tuple[str, int]]) -> str:
    """Say what texts in a field of numbers look like, or "".

    Parameters
    ----------
    odd : sequence of (str, int)
        Values, and rows that have them.
    """
    total = sum(count for _, count in odd)
    counts = [0] * len(SHAPES)
    for text, count in odd:
        for k, (matches, _) in enumerate(SHAPES):
            if matches(text):
                counts[k] += count
                break
    most = max(range(len(SHAPES)), key=counts.__getitem__)
    return _hint(SHAPES[most][1], counts[most], total)


def hint_of_categories(rule: FieldRule, odd: Sequence[tuple[str, int]]) -> str:
    """Say how values that are in no list relate to the categories and their labels, or ""."""
    plain = {name.strip().casefold() for name in _codes(rule.field)}
    labels = {label.strip().casefold() for label in rule.labels.values()}
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


def _codes(field: Field) -> tuple[str, ...]:
    """Return the texts that the values of a field are compared with."""
    if field.type == "boolean":
        return (*field.true_values, *field.false_values)
    return field.category_names
