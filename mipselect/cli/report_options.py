"""Arguments and help of `mipselect report`."""

from __future__ import annotations

from pathlib import Path

from mipselect.cli.declared import argument, command_in, group, option, options
from mipselect.cli.options import Delivery, LedgerOptions

EXAMPLES = """Examples:

mipselect report fields.json model.json --output report.html

mipselect report model.json quality.json --ledger study.ledger \\
    --title "Blood pressure in the clinic study" --output report.md
"""


@options
class ReportArguments:
    """Arguments of `report`."""

    files: list[Path] = argument(
        "RELEASE.json...",
        "What 'select', 'release', 'fit', 'evaluate' or another private command wrote with "
        "--output.",
    )
    output: Path | None = option(
        "--output",
        "Receives the report.",
        metavar="FILE.html|md",
        show_default="Markdown on standard output",
    )
    title: str | None = option(
        "--title", "Title of the report.", show_default="the name of the table"
    )
    ledger: LedgerOptions = group(
        LedgerOptions,
        panel="Options",
        help={
            "--ledger": "The ledger that paid: the report says what is left. Nothing is charged."
        },
        show_default={"--ledger": "not said"},
    )
    facts: Path | None = option(
        "--facts",
        "What only people know, for the blanks of the last section.",
        metavar="FILE.toml",
        show_default="blanks stay",
    )
    delivery: Delivery = group(Delivery, without=("--output",))


@command_in("mipselect.cli.report")
def report(arguments: ReportArguments) -> None:
    """Write a report on releases for everybody: results, guarantee, costs, how to cite.

    One HTML file, which loads nothing and can be printed, or Markdown. Nothing
    in it depends on data but the releases. The last section is for ethics boards.
    What is sensitive, such as a report of 'solve', is refused.
    """
