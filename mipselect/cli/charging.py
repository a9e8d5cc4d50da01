"""What is said before a release, from options and the ledger; its charge; and its delivery."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect import privacy
from mipselect.cli.output import Delivery, Interrupted, line
from mipselect.cli.start import let_signals_raise, say
from mipselect.privacy.guarantee import ROW, Guarantee, amount, checked_relation, is_row
from mipselect.privacy.public_fields import public_settings
from mipselect.validation import listed

if TYPE_CHECKING:  # A command without a ledger imports none.
    from mipselect.privacy import Ledger
    from mipselect.tables.schema import TableSchema

NOTED = ("command", "instance", "data", "schema", "target", "mipselect")
"""What a ledger notes besides public settings, by the keys of a report."""

NOTHING_REMEMBERS = (
    "No --ledger was given: nothing remembers this release, and further ones add to it."
)


def opened(file: Path | None) -> Ledger | None:
    """Open the ledger; None where none was given.

    Raises
    ------
    InvalidInput, LedgerBroken
    """
    return None if file is None else privacy.Ledger.open(file)


def relation_of(ledger: Ledger | None, given: str | None) -> str:
    """Return the relation that was given, or else that of the ledger; replace-one without both."""
    found = given or ("replace-one" if ledger is None else ledger.relation)
    return checked_relation(found, "--relation")


def check_ledger(ledger: Ledger | None, total: Guarantee) -> None:
    """Raise what a ledger raises that cannot pay for a plan.

    Where ρ is counted the mechanism may state one that only the data's shape settles.
    """
    if ledger is not None and (ledger.currency != "rho" or total.rho is not None):
        ledger.after(total)


def charged_report(ledger: Ledger | None) -> Mapping[str, Any] | None:
    """Return the place of a release in its ledger, as part of a JSON object; None without one."""
    if ledger is None or ledger.path is None or (head := ledger.verify()) is None:
        return None
    return {
        "file": ledger.path.name,
        "identity": ledger.identity,
        "unit": ledger.unit,
        "head": {"number": head.number, "hash": head.hash},
        "remaining": ledger.remaining.to_dict(),
    }


def print_charged(console: Console, charged: Mapping[str, Any] | None) -> None:
    """Print what `charged_report` tells."""
    if charged is None:
        console.print(NOTHING_REMEMBERS)
        return
    left = left_in_words(Guarantee.from_dict(charged["remaining"]))
    line(
        console,
        f"Ledger {charged['file']}: charged; {left} is left. Its row "
        f"{charged['head']['number']} is {charged['head']['hash']}.",
    )


def left_in_words(remaining: Guarantee) -> str:
    """Write what is left in a ledger, in what it counts."""
    return amount(remaining) if remaining.rho is None else f"ρ = {remaining.rho:.15g}"


def table_named(asked: Mapping[str, Any]) -> str:
    """Return the name of the table, or instance, of a question; empty where it has none."""
    data = asked.get("data")
    return Path(data).name if data else str(asked.get("instance") or "")


def noted(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a ledger notes of a report of a question: what is public and short, never n."""
    told = {key: asked[key] for key in NOTED if asked.get(key) is not None}
    told |= public_settings(asked, hides_n=True)
    if "schema" in told:
        told["schema_sha256"] = sha256(Path(told["schema"]).read_bytes()).hexdigest()
    for key in ("data", "schema"):
        if key in told:
            told[key] = Path(told[key]).name
    if asked.get("features") is not None:
        told["features_sha256"] = sha256(json.dumps(asked["features"]).encode()).hexdigest()
    return told


LITTLE = 10.0
"""ε from which on a guarantee means little."""

LITTLE_DELTA = 1e-3
"""δ from which on it means little, where the number of rows is not known or private."""


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
    found = [_of_the_unit(ledger, unit, schema="schema" in head)]
    if together.private and together.epsilon >= LITTLE:
        epsilon = f"ε = {together.epsilon:.15g}"
        found.append(f"{epsilon} protects little: the factor is e^ε; ε of 1 or less protects well")
    if together.private and together.delta >= (LITTLE_DELTA if n is None else 1.0 / n):
        found.append(
            f"δ = {together.delta:.15g} protects little: with that probability a row may be "
            "released as it is; δ far below one in the number of rows protects well"
        )
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


def note_of_identifiers(names: Sequence[str]) -> None:
    """Print which of these names of features look like identifiers, where there is no schema."""
    from mipselect.tables.described import looking_like_identifiers

    alike, looks = looking_like_identifiers(names)
    leave = "it leaves it" if len(alike) == 1 else "them leaves them"
    if alike:
        say(f"note: {listed(alike)} {looks}, and may be drawn; --features without {leave} out.")


def note_of_the_target(schema: TableSchema, target: str) -> None:
    """Print that ordered categories of the target are taken as a number."""
    field = schema.field(target, "target")
    names = field.category_words
    if field.ordered and len(names) > 2:
        say(
            f"note: {target} is taken as a number, the place among its ordered categories: "
            f"0 for {names[0]}, {len(names) - 1} for {names[-1]}"
        )


@dataclass(frozen=True, kw_only=True)
class Result:
    """What was drawn: `report` is part of a JSON object, and `show` prints the same.

    Attributes
    ----------
    report : mapping
        With the key "private".
    show : callable
    warnings : tuple of str
        Sentences for standard error.
    """

    report: Mapping[str, Any]
    show: Callable[[Console], None]
    warnings: tuple[str, ...] = ()


def charge_and_deliver(
    ledger: Ledger | None,
    asked: Mapping[str, Any],
    more: Mapping[str, Any],
    draw: Callable[[Ledger | None], Result],
    delivery: Delivery,
    settings: Callable[[Console], None] = lambda console: None,
) -> None:
    """Draw, at the charge of a ledger, and deliver the answer with its place in the ledger.

    Parameters
    ----------
    ledger : Ledger or None
    asked : mapping
        What a report begins with, of which an entry of the ledger has what is `noted`.
    more : mapping
        Further entries.
    draw : callable
        Charges the ledger that it is given, then draws.
    delivery : Delivery
    settings : callable
        Prints what comes last.

    Raises
    ------
    Interrupted
        After an interrupt, if the ledger may have been charged.
    """
    let_signals_raise()
    note = {} if ledger is None else {**noted(asked), **more}
    try:
        answer = draw(None if ledger is None else ledger.noting(note))
        charged = charged_report(ledger)

        def render(console: Console) -> None:
            answer.show(console)
            print_charged(console, charged)
            settings(console)

        # Whoever knows the seed can repeat the draw: it is a function of the data.
        sensitive = not answer.report["private"]
        report = {**asked, "sensitive": sensitive, **answer.report, "ledger": charged}
        delivery.deliver(report, render)
    except KeyboardInterrupt:
        if ledger is None:
            raise
        raise Interrupted(
            "interrupted: nothing was released, but the ledger may have been charged; "
            f"'mipselect ledger show {ledger.path}' shows it"
        ) from None
    for sentence in answer.warnings:
        say(f"warning: {sentence}")
