"""`mipselect report`: a set of releases for epidemiologists, boards and the public."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.output import Delivery, check_output, line, picked, write_whole
from mipselect.cli.start import say
from mipselect.disk import read_toml
from mipselect.errors import InvalidInput
from mipselect.privacy.guarantee import amount
from mipselect.validation import checked_line, did_you_mean, joined, listed, shown

if TYPE_CHECKING:
    from mipselect.reports import ReleaseReport
    from mipselect.reports.release_report import ReportedRelease

EXAMPLES = """Examples:

mipselect report fields.json model.json --output report.html

mipselect report model.json quality.json --output report.md \\
    --title "Blood pressure in the clinic study"
"""


@options
class ReportArguments:
    """Arguments of `report`."""

    files: list[Path] = argument(
        "RELEASE.json...",
        "What 'select', 'release', 'fit', 'evaluate' or another private command wrote with "
        "--output.",
    )
    title: str = option(
        "--title", "Title of the report.", default="", show_default="the name of the table"
    )
    facts: Path | None = option(
        "--facts",
        "What only people know, for the blanks of the last section.",
        metavar="FILE.toml",
        show_default="blanks stay",
    )
    delivery: Delivery = group(
        Delivery,
        help={
            "--output": "Receives the report, of HTML or Markdown by its ending; without it "
            "Markdown is printed."
        },
    )


LONGEST_TITLE, LONGEST = 300, 2_000
"""Characters of a title, and of a fact."""

LARGEST = 100_000
"""Bytes of a file of facts."""


@command
def report(arguments: ReportArguments) -> None:
    """Write a report on releases for everybody: results, guarantee, costs, how to cite.

    One HTML file, which loads nothing and can be printed, or Markdown. Nothing
    in it depends on data but the releases. The last section is for ethics boards.
    What is sensitive, such as a report of 'solve', is refused.
    """
    from mipselect.reports import ReleaseReport

    pages = {".html": ReleaseReport.html, ".md": ReleaseReport.markdown}
    output = arguments.delivery.output
    read = [*arguments.files, *filter(None, [arguments.facts])]
    check_output(output, read, endings=pages, replace=arguments.delivery.replace)
    if arguments.title:
        checked_line(arguments.title, "--title", LONGEST_TITLE)
    facts = {} if arguments.facts is None else read_facts(arguments.facts)
    releases = read_each(arguments.files)
    made = ReleaseReport(title=arguments.title, releases=releases, facts=facts)
    seeded = not made.total.private
    if output is not None:
        write_whole(output, pages[output.suffix](made).encode(), sensitive=seeded)

    def render(console: Console) -> None:
        if output is None:
            console.print(made.markdown(), markup=False, soft_wrap=True, end="")
        else:
            names = joined([one.name for one in releases])
            line(console, f"{output}: a report on {names}, {amount(made.total)} in all")

    replace(arguments.delivery, output=None).deliver(report_of(made), render)
    for warning in made.warnings:
        say(f"warning: {warning}")


def read_facts(path: Path) -> dict[str, str]:
    """Read a file of facts; those that are still empty are left out.

    Raises
    ------
    InvalidInput
        For a name that is none of `FACTS`, and for what is no text.
    """
    from mipselect.reports.methods import FACTS

    facts = {}
    for name, text in read_toml(path, LARGEST).items():
        if name not in FACTS:
            raise InvalidInput(
                f"{path}: {shown(name)} is no blank of a report; blanks are "
                f"{listed(list(FACTS))}{did_you_mean(name, FACTS)}"
            )
        if not isinstance(text, str):
            raise InvalidInput(f"{path}: {shown(name)} must be a text, got {shown(text)}")
        if words := " ".join(text.split()):
            facts[name] = checked_line(words, f"{path}: {shown(name)}", LONGEST)
    return facts


def read_each(files: Sequence[Path]) -> tuple[ReportedRelease, ...]:
    """Read each release; raise `InvalidInput` for a file that is given twice."""
    from mipselect.cli.release_file import read_release

    places, names, found = set(), Counter[str](), []
    for path in files:
        one = read_release(path)
        if (place := path.resolve()) in places:
            raise InvalidInput(f"{path}: the file is given twice, and would be counted twice")
        places.add(place)
        names[path.name] += 1
        if (number := names[path.name]) > 1:
            one = replace(one, name=f"{one.name} ({number})")
        found.append(one)
    return tuple(found)


def report_of(made: ReleaseReport) -> dict[str, Any]:
    """Return the JSON object of a report: what it is of, and what all of it costs."""
    return {
        "command": "report",
        "sensitive": not made.total.private,
        "private": made.total.private,
        "title": made.heading,
        "releases": [
            {
                "file": one.name,
                "sha256": one.digest,
                **picked(one, "kind", "data", "target", "private"),
                "guarantee": one.guarantee.to_dict(),
            }
            for one in made.releases
        ],
        "guarantee": made.total.to_dict(),
        "warnings": made.warnings,
        "notes": made.separate_draws,
    }
