"""Warnings and notes about a release before its draw: by options and the ledger, never by rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mipselect.cli.ledger_entry import table_named, tables_of
from mipselect.cli.start import say
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.guarantee import ROW, is_row
from mipselect.tables.described import looking_like_identifiers
from mipselect.tables.encoders import steps_of
from mipselect.tables.schema import TableSchema
from mipselect.validation import listed

LITTLE = 10.0
"""ε from which on a guarantee means little."""

LITTLE_DELTA = 1e-3
"""δ from which on it means little, where the number of rows is not known or private."""

EXPECTS = "Expects that the curator has looked at the report of 'mipselect check' on this table"


def warnings(
    head: Mapping[str, Any],
    together: Guarantee,
    unit: str,
    ledger: Ledger | None,
    n: int | None = None,
    doubts: Iterable[str] = (),
) -> list[str]:
    """Print what a release means less than it seems to, a line each, and return the sentences.

    Parameters
    ----------
    head : mapping
        First entries of the report: they name the table, and its schema if it has one.
    together : Guarantee
        That of all draws; of seeded ones, which have none, its numbers say nothing.
    unit : str
        What the guarantee is about: "row", or the field that says whose row it is.
    ledger : Ledger or None
    n : int or None
        The number of rows, where it is known and public.
    doubts : iterable of str
        What else speaks against the draw.
    """
    found = [_of_the_unit(ledger, unit, schema="schema" in head), _of_other_tables(ledger, head)]
    if together.private:
        found += [_of_epsilon(together.epsilon), _of_delta(together.delta, n)]
    said = [sentence for sentence in (*found, *doubts) if sentence]
    for sentence in said:
        say(f"warning: {sentence}")
    return said


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


def _of_other_tables(ledger: Ledger | None, head: Mapping[str, Any]) -> str:
    """Say that a ledger has paid for draws from a table of another name."""
    table = table_named(head)
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
    times = "more than 10^15"
    if epsilon < math.log(1e15):
        times = f"about {float(f'{math.exp(epsilon):.2g}'):,.0f}"
    return (
        f"ε = {epsilon:.15g} protects little: with other values in one row a result may be "
        f"{times} times as probable, or as improbable; ε of 1 or less protects well"
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


def note_of_the_table(head: Mapping[str, Any], names: Sequence[str]) -> None:
    """Print what to look at first in a table: its check, or which names look like identifiers.

    Parameters
    ----------
    head : mapping
        First entries of the report.
    names : sequence of str
        Names of the features.
    """
    if "schema" in head:
        say(f"note: {EXPECTS}")
    elif "target" in head:
        alike, looks = looking_like_identifiers(names)
        leave = "it leaves it" if len(alike) == 1 else "them leaves them"
        if alike:
            say(f"note: {listed(alike)} {looks}, and may be drawn; --features without {leave} out.")


def note_of_the_target(schema: TableSchema, target: str) -> None:
    """Print that ordered categories of the target are taken as a number."""
    field = schema.field(target, "target")
    names = field.category_words
    if field.ordered and len(names) > 2:
        places = ", ".join(f"{k} is {name}" for k, name in enumerate(names[:20]))
        more = ", ..." if len(names) > 20 else ""
        say(
            f"note: {target} is taken as a number, the place among its ordered categories: "
            f"{places}{more}; {steps_of(names)}"
        )
