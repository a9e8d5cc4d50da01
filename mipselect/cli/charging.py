"""What is said before a release, from options and the ledger; its charge; and its delivery."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect import privacy
from mipselect.cli import output
from mipselect.cli.start import let_signals_raise, say
from mipselect.privacy.guarantee import ROW, Guarantee, amount, is_row
from mipselect.privacy.public_fields import noted

NOTHING_REMEMBERS = (
    "No --ledger was given: nothing remembers this release, and further ones add to it."
)


def print_charged(console: Console, receipt: Mapping[str, Any] | None) -> None:
    """Print the receipt of a ledger; None without one."""
    if receipt is None:
        console.print(NOTHING_REMEMBERS)
        return
    left = left_in_words(Guarantee.from_dict(receipt["remaining"]))
    head = receipt["head"]
    output.line(
        console,
        f"Ledger {receipt['file']}: charged; {left} is left. Its row {head['number']} is "
        f"{head['hash']}.",
    )


def left_in_words(remaining: Guarantee) -> str:
    """Write what is left in a ledger, in what it counts."""
    return amount(remaining) if remaining.rho is None else f"ρ = {remaining.rho:.15g}"


def table_named(asked: Mapping[str, Any]) -> str:
    """Return the name of the table, or instance, of a question; empty where it has none."""
    data = asked.get("data")
    return Path(data).name if data else str(asked.get("instance") or "")


def warnings(
    head: Mapping[str, Any], unit: str, ledger: privacy.Ledger | None, doubts: Sequence[str]
) -> list[str]:
    """Print what a release means less than it seems to, a line each, and return the sentences.

    Parameters
    ----------
    head : mapping
        First entries of the report: they name the table, and its schema if it has one.
    unit : str
        What the guarantee is about: "row", or the field that says whose row it is.
    ledger : Ledger or None
    doubts : sequence of str
        What speaks against the draw besides a ledger that counts people.
    """
    said = list(doubts)
    if ledger is not None and unit == ROW and not is_row(ledger.unit):
        where, what = "a schema", "nothing says"
        if "schema" in head:
            where, what = "its schema", "the schema does not say"
        said.append(
            f"the ledger counts one row as one {ledger.unit}, but {what} whose row is whose: the "
            f"guarantee is about one row, and about one {ledger.unit} only if none has more than "
            f"one row; csvw-eo:privacyUnit in {where} names the field that says it"
        )
    for sentence in said:
        say(f"warning: {sentence}")
    return said


@dataclass(frozen=True, kw_only=True)
class Result:
    """What was drawn: `report` is part of a JSON object, and `show` prints the same.

    Attributes
    ----------
    report : mapping
        With the key "private".
    show : callable
    warning : str
        For standard error; "" for none.
    """

    report: Mapping[str, Any]
    show: Callable[[Console], None]
    warning: str = ""


def charge_and_deliver(
    ledger: privacy.Ledger | None,
    asked: Mapping[str, Any],
    draw: Callable[[privacy.Ledger | None], Result],
    delivery: output.Delivery,
) -> None:
    """Draw, at the charge of a ledger, and deliver the answer with its place in the ledger.

    Parameters
    ----------
    ledger : Ledger or None
    asked : mapping
        What a report begins with, of which an entry of the ledger has what is `noted`.
    draw : callable
        Charges the ledger that it is given, then draws.
    delivery : Delivery

    Raises
    ------
    Interrupted
        After an interrupt, if the ledger may have been charged.
    """
    let_signals_raise()
    paying = None if ledger is None else ledger.noting(noted(asked))
    try:
        answer = draw(paying)
        charged = None if ledger is None else ledger.receipt()

        def render(console: Console) -> None:
            answer.show(console)
            print_charged(console, charged)

        # Whoever knows the seed can repeat the draw: it is a function of the data.
        sensitive = not answer.report["private"]
        report = {**asked, "sensitive": sensitive, **answer.report, "ledger": charged}
        delivery.deliver(report, render)
    except KeyboardInterrupt:
        if ledger is None:
            raise
        raise output.Interrupted(
            "interrupted: nothing was released, but the ledger may have been charged; "
            f"'mipselect ledger show {ledger.path}' shows it"
        ) from None
    if answer.warning:
        say(f"warning: {answer.warning}")
