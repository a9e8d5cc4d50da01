"""Numbers in plain words, for readers without statistics."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal

from mipselect.privacy import Guarantee

FRACTIONS = (
    (0.1, "a tenth"),
    (0.2, "a fifth"),
    (0.25, "a quarter"),
    (1 / 3, "a third"),
    (0.4, "two fifths"),
    (0.5, "half"),
    (0.6, "three fifths"),
    (2 / 3, "two thirds"),
    (0.75, "three quarters"),
    (0.8, "four fifths"),
    (0.9, "nine tenths"),
)
SMALLEST, LARGEST = 0.05, 0.95
"""Below is next to nothing, and above nearly all."""

DIGITS = Context(prec=3, rounding=ROUND_CEILING)

HOPELESS = 20.0
"""From this ε on no factor is worth a number."""


def share_in_words(share: float) -> str:
    """Write a share between 0 and 1 as the nearest plain fraction.

    Examples
    --------
    >>> share_in_words(0.68)
    'about two thirds'
    """
    if share < SMALLEST:
        return "next to nothing"
    if share > LARGEST:
        return "nearly all"
    return f"about {min(FRACTIONS, key=lambda one: abs(one[0] - share))[1]}"


def percent(share: float) -> str:
    """Write a share as percent, such as "61 %"."""
    return f"{100.0 * share:.0f} %"


def of_hundred(share: float) -> str:
    """Write a share as a count, such as "83 of 100"."""
    return f"{100.0 * share:.0f} of 100"


def number(value: float) -> str:
    """Write a number with four digits."""
    return f"{value:.4g}"


def plural(count: int, one: str) -> str:
    """Write a count with its noun."""
    return f"{count:,} {one if count == 1 else one + 's'}"


def amount(guarantee: Guarantee) -> str:
    """Write ε, and δ where there is one."""
    text = f"ε = {guarantee.epsilon:.15g}"
    return text if guarantee.delta == 0.0 else f"{text}, δ = {guarantee.delta:.15g}"


RULES = {
    "first": "the first in the order of the file counts",
    "last": "the last in the order of the file counts",
    "mean": "means of the numbers count, and of all else the first in the order of the file",
}
"""Words for the rules of a table about several rows of one person."""


def people_in_words(unit: str, rule: str) -> str:
    """Say what becomes of several rows of one person; `unit` is the field that says whose they are.

    Examples
    --------
    >>> people_in_words("id", "last")
    'Of all rows with the same id the last in the order of the file counts (unit_rule last)'
    """
    return f"Of all rows with the same {unit} {RULES[rule]} (unit_rule {rule})"


def factor(epsilon: float) -> str:
    """Write e^ε in three digits, rounded up: what is said holds."""
    return f"{DIGITS.create_decimal(Decimal(math.nextafter(math.exp(epsilon), math.inf))):f}"


def conclusion(epsilon: float, before: float) -> str:
    """Write the largest probability, in percent and rounded up, that `before` can become."""
    growth = math.exp(epsilon)
    after = before * growth / (1.0 - before + before * growth)
    return f"{min(math.ceil(1000.0 * after) / 10.0, 100.0):g} %"
