"""Cautions about a release that come before its draw: by options and the ledger, never by rows."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mipselect.cli.ledger_entry import table_named, tables_of
from mipselect.cli.start import say
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.guarantee import ROW, is_row
from mipselect.tables.described import looking_like_identifiers
from mipselect.tables.equation import steps_of
from mipselect.tables.schema import TableSchema
from mipselect.validation import listed

LITTLE = 10.0
"""ε from which on a guarantee means little."""

LITTLE_DELTA = 1e-3
"""δ from which on it means little, where the number of rows is not known or private."""

SCALES = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"), (1e3, "thousand"))

BEYOND_WORDS = 1e15


def cautions(
    ledger: Ledger | None,
    unit: str,
    together: Guarantee,
    asked: Mapping[str, Any],
    n: int | None = None,
) -> tuple[str, ...]:
    """Say what a release means less than it seems to, in sentences.

    Parameters
    ----------
    ledger : Ledger or None
    unit : str
        What the guarantee is about: "row", or the field that says whose row it is.
    together : Guarantee
        That of all draws; of seeded ones, which have none, its numbers say nothing.
    asked : mapping
        First entries of the report: they name the table, and its schema if it has one.
    n : int or None
        The number of rows, where it is known and public.
    """
    found = (
        _of_the_unit(ledger, unit, schema="schema" in asked),
        _of_other_tables(ledger, table_named(asked)),
        _of_epsilon(together.epsilon) if together.private else "",
        _of_delta(together.delta, n) if together.private else "",
    )
    return tuple(sentence for sentence in found if sentence)


def warn_before_a_draw(sentences: Iterable[str]) -> None:
    """Print cautions on standard error, a line each."""
    for sentence in sentences:
        say(f"warning: {sentence}")


def _of_the_unit(ledger: Ledger | None, unit: str, *, schema: bool) -> str:
    """Say that a ledger counts people, and nothing says whose row is whose."""
    if ledger is None or unit != ROW or is_row(ledger.unit):
        return ""
    what = "the schema does not say" if schema else "nothing says"
    where = "its schema" if schema else "a schema"
    return (
        f"the ledger counts one row as one {ledger.unit}, but {what} whose row is whose: the "
        f"guarantee is about one row, and about one {ledger.unit} only if none has more than one "
        f"row; csvw-eo:privacyUnit in {where} names the field that says it"
    )


def _of_other_tables(ledger: Ledger | None, table: str) -> str:
    """Say that a ledger has paid for draws from a table of another name."""
    paid = () if ledger is None else ledger.entries
    others = [name for name in tables_of(paid) if name != table]
    if not others:
        return ""
    return (
        f"the ledger was charged for another table before: {listed(others)}; {table} adds to that, "
        "as for somebody who is in all of them; if nobody is in two, a ledger for each spends less"
    )


def _of_epsilon(epsilon: float) -> str:
    """Say what a large ε allows."""
    if epsilon < LITTLE:
        return ""
    return (
        f"ε = {epsilon:.15g} protects little: with other values in one row a result may be "
        f"{times_in_words(epsilon)} as probable, or as improbable; ε of 1 or less protects well"
    )


def _of_delta(delta: float, n: int | None) -> str:
    """Say what a δ of more than one in n allows: to release a row as it is, drawn at random."""
    if delta < (LITTLE_DELTA if n is None else 1.0 / n):
        return ""
    among = " row" if n is None else f" of {n:,} rows"
    return (
        f"δ = {delta:.15g} protects little: a mechanism with this δ may release each{among} as it "
        "is with that probability; δ far below one in the number of rows protects well, such as "
        "1e-06"
    )


def times_in_words(epsilon: float) -> str:
    """Write e^ε in words.

    Examples
    --------
    >>> times_in_words(10.0)
    'about 22 thousand times'
    """
    times = math.exp(min(epsilon, 700.0))
    if times >= BEYOND_WORDS:
        return "more than a thousand trillion times"
    for scale, word in SCALES:
        if times >= scale:
            return f"about {float(f'{times / scale:.2g}'):g} {word} times"
    return f"about {float(f'{times:.2g}'):g} times"


OF_CHECK = ("--never", "--range")
"""Options of a draw that its check must have too."""

ONLY_NUMBERS = (
    "Without a schema every column is read as a number. One with text or gaps is refused when "
    "rows are read, before anything is paid."
)


def reminders_of_a_plan(head: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[str, ...]:
    """Say what to look at before a draw from a table; nothing for an instance.

    Parameters
    ----------
    head : mapping
        First entries of the report of a task.
    asked : mapping
        Options about a table with a schema as they were given, by their names.
    """
    if "schema" in head:
        return (expected_check(head, asked),)
    return (ONLY_NUMBERS,) if "target" in head else ()


def note_of_identifiers(head: Mapping[str, Any], names: Sequence[str]) -> None:
    """Print which features of a table without a schema look like identifiers, by their names."""
    if "schema" in head or "target" not in head:
        return
    alike, looks = looking_like_identifiers(names)
    if alike:
        leave = "it leaves it" if len(alike) == 1 else "them leaves them"
        say(f"note: {listed(alike)} {looks}, and may be drawn; --features without {leave} out.")


def expected_check(head: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Say which check of a table with a schema comes before a draw."""
    names = ("data", "--schema", "schema", "--target", "target")
    words = [str(head.get(name, name)) for name in names]
    for name in ("delimiter", "encoding", "sheet"):
        words += [f"--{name}", str(head[name])] if name in head else []
    for option in OF_CHECK:
        value = asked.get(option, [])
        for each in value if isinstance(value, list) else [value]:
            words += [option, str(each)]
    return f"Expects that the curator has looked at: mipselect check {shlex.join(words)}"


def note_of_the_target(schema: TableSchema, target: str) -> None:
    """Say that ordered categories of the target are taken as a number."""
    field = schema.field(target, "target")
    names = field.category_words
    if field.ordered and len(names) > 2:
        places = ", ".join(f"{k} is {name}" for k, name in enumerate(names[:20]))
        more = ", ..." if len(names) > 20 else ""
        say(
            f"note: {target} is taken as a number, the place among its ordered categories: "
            f"{places}{more}; {steps_of(names)}"
        )
