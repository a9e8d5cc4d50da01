"""`mipselect check`: how a table fits its schema, for the curator's eyes or as a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.cautions import cautions, warn_before_a_draw
from mipselect.cli.check_report import check_page, print_check, print_shares, shares_page
from mipselect.cli.declared import (
    command,
    group,
    names_of,
    option,
    options,
    refuse,
    required,
)
from mipselect.cli.dialect import TableArgument
from mipselect.cli.ledger_entry import ChargeOptions, ledger_entry, print_charged, private_report
from mipselect.cli.options import PRIVACY_PANEL, Delivery, stated
from mipselect.cli.output import SENSITIVE, check_output, deliver
from mipselect.cli.progress import Spinner
from mipselect.cli.table_options import SCHEMA, TABLE_PANEL, Regularisation, SchemaOptions
from mipselect.errors import about
from mipselect.privacy.guarantee import ROW, Guarantee
from mipselect.quality import TableShares, release_shares
from mipselect.tables import TableSchema, check_table
from mipselect.tables.people import checked_rule
from mipselect.validation import checked_budget

EXAMPLES = """Examples:

mipselect check patients.csv --schema patients.schema.json --target los_days

mipselect check patients.csv --schema patients.schema.json \\
    --target los_days --output check.html

mipselect check patients.csv --schema patients.schema.json \\
    --epsilon 0.1 --ledger study.ledger
"""

PAGE = ".html"
BOUNDS_OF_CHECK = "Selection by loss: with one of these and --target its bounds are looked at"
OF_THE_CURATOR = {
    *("--target", "--support-size", "--always", "--no-intercept"),
    *names_of(Regularisation),
}
ALONE = "goes without --epsilon: the private shares are of all fields alike"
NEEDS_EPSILON = "goes with --epsilon, the private release"


@options
class CheckArguments:
    """Arguments of `check`."""

    table: TableArgument = group(TableArgument)
    schema: Path = required("--schema", SCHEMA, metavar="FILE", panel=TABLE_PANEL)
    target: str | None = option("--target", "The column to predict; it is looked at as such.")
    question: SchemaOptions = group(
        SchemaOptions,
        help={
            "--unit-rule": "With --epsilon, where the schema names csvw-eo:privacyUnit: the row of "
            "a person that counts, the last or else the first."
        },
    )
    support_size: int | None = option(
        "--support-size",
        "How many fields a greedy search takes, for the bounds.",
        show_default="5",
        panel=BOUNDS_OF_CHECK,
    )
    regularisation: Regularisation = group(Regularisation, panel=BOUNDS_OF_CHECK)
    epsilon: float | None = option(
        "--epsilon",
        "Release the shares of each field with this ε, > 0, in place of the sensitive report.",
        show_default="none: the report is SENSITIVE",
        panel=PRIVACY_PANEL,
    )
    charge: ChargeOptions = group(
        ChargeOptions,
        help={
            "--relation": "With --epsilon: what ε is stated under; under add-remove the number of "
            "rows is private.",
            "--seed": "With --epsilon: reproducible draws, for tests: the result is NOT PRIVATE.",
        },
    )
    delivery: Delivery = group(
        Delivery,
        help={"--output": "Also write a page (FILE.html), or the JSON object, to FILE."},
    )

    @property
    def head(self) -> dict[str, Any]:
        """First entries of a report."""
        return {
            "command": "check",
            **self.table.head,
            "schema": str(self.schema),
            **({} if self.target is None else {"target": self.target}),
            "mipselect": version("mipselect"),
        }


@command
def check(arguments: CheckArguments) -> None:
    """Compare DATA with its schema, before ε is spent. The report is SENSITIVE.

    For each field: how many values are clipped by the range, in no list of
    categories, missing or unreadable; which fields are constant or repeat one
    another; repeated persons; with --target also rare classes, fields that tell
    the target nearly alone, and with --coef-bound, --ridge, --range or
    --support-size whether the bounds of a selection by loss bind. Each finding
    is one line that says what would be right. The exit code is 0, whatever is
    found.

    Ranges and categories are corrected from a codebook, never from this report:
    what is chosen because of the data is no public knowledge.

    With --epsilon the shares of each field are released with differential privacy
    instead, and the ledger is charged before a row is read.
    """
    schema = TableSchema.read(arguments.schema)
    with about(str(arguments.schema)):
        checked_rule(arguments.question.unit_rule or "first", schema.privacy_unit)
    read = [Path(arguments.table.data), arguments.schema, *arguments.charge.ledger.files]
    check_output(arguments.delivery.output, read, replace=arguments.delivery.replace)
    if arguments.epsilon is None:
        _deliver_check(arguments, schema)
    else:
        _deliver_shares(arguments, schema, arguments.epsilon)


def _deliver_check(arguments: CheckArguments, schema: TableSchema) -> None:
    """Count, and show it to the curator."""
    refuse(arguments, NEEDS_EPSILON, names_of(ChargeOptions))
    asked = dict(arguments.question.keywords)
    asked.pop("unit_rule", None)
    sizes = {"target": arguments.target, "support_size": arguments.support_size}
    asked |= stated(**sizes, **asdict(arguments.regularisation))
    with Spinner(f"reading {arguments.table.data}") as spinner:
        found = check_table(
            arguments.table.source,
            schema,
            progress=lambda rows: spinner.tick(f"{arguments.table.data}: {rows:,} rows"),
            **asked,
        )
    report = {
        **arguments.head,
        "sensitive": True,
        "private": False,
        "warning": SENSITIVE,
        **found.to_dict(),
    }
    _deliver(
        arguments,
        report,
        partial(print_check, check=found, title=arguments.table.data),
        lambda: check_page(found, arguments.table.data),
    )


def _deliver_shares(arguments: CheckArguments, schema: TableSchema, epsilon: float) -> None:
    """Charge the ledger, and release private shares."""
    checked_budget(epsilon, "--epsilon")
    refuse(arguments, ALONE, OF_THE_CURATOR)
    ledger, relation = arguments.charge.opened()
    promised = Guarantee(epsilon, relation=relation, private=arguments.charge.seed is None)
    notes = cautions(ledger, schema.privacy_unit or ROW, promised, arguments.head)
    warn_before_a_draw(notes)
    with ledger_entry(ledger, arguments.head) as noting:
        with Spinner(f"reading {arguments.table.data}"):
            shares = release_shares(
                arguments.table.source,
                schema,
                epsilon=epsilon,
                relation=relation,
                ledger=noting,
                random_state=arguments.charge.seed,
                **arguments.question.keywords,
            )
        contents = {name: value for name, value in shares.to_dict().items() if name != "guarantee"}
        report = private_report(
            arguments.head, shares.guarantee, shares.unit, contents, notes, ledger
        )
        title, charged = arguments.table.data, report["ledger"]
        _deliver(
            arguments,
            report,
            partial(_show_shares, shares=shares, title=title, charged=charged),
            lambda: shares_page(shares, arguments.table.data),
        )


def _show_shares(
    console: Console, shares: TableShares, title: str, charged: Mapping[str, Any] | None
) -> None:
    print_shares(console, shares, title)
    print_charged(console, charged)


def _deliver(
    arguments: CheckArguments,
    report: Mapping[str, Any],
    show: Callable[[Console], None],
    page: Callable[[], str],
) -> None:
    """Write the page or the JSON object to the file that was asked for, and print the report."""
    delivery = arguments.delivery
    is_page = delivery.output is not None and delivery.output.suffix == PAGE
    deliver(
        report,
        show,
        as_json=delivery.as_json,
        output=delivery.output,
        content=page().encode() if is_page else None,
        replace=delivery.replace,
    )
