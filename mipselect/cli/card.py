"""`mipselect card`: a release for an ethics board, on one page."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from mipselect.cli.card_content import card_of
from mipselect.cli.card_parts import Card, blank_facts, read_facts, with_facts
from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.options import Delivery
from mipselect.cli.output import check_output, line, write_whole
from mipselect.cli.release_file import read_release

EXAMPLES = """Examples:

mipselect release diabetes --epsilon 1 --output release.json

mipselect card release.json --output facts.toml

mipselect card release.json --facts facts.toml --output card.html
"""

PAGES = {".md": Card.markdown, ".html": Card.html, ".toml": blank_facts}


@options
class CardArguments:
    """Arguments of `card`."""

    file: Path = argument("RELEASE.json", "What 'release', 'select' or 'fit' wrote with --output.")
    output: Path | None = option(
        "--output",
        "Receives the card; a .toml file receives its blanks, for --facts.",
        metavar="FILE.md|html|toml",
        show_default="Markdown on standard output",
    )
    facts: Path | None = option(
        "--facts",
        "What only people know, for the blanks of the card.",
        metavar="FILE.toml",
        show_default="blanks stay",
    )
    delivery: Delivery = group(Delivery, without=("--output",))


@command
def card(arguments: CardArguments) -> None:
    """Write the privacy card of a release: what was done, the guarantee, who answers for it.

    Its parts are those of the registries of deployments of differential privacy:
    basic facts, privacy unit and loss, model, accounting, implementation. What
    only people know is marked to be filled in. Nothing in it depends on the data
    but the release itself.
    """
    file, output = arguments.file, arguments.output
    read = [file, *filter(None, [arguments.facts])]
    check_output(output, read, endings=PAGES, replace=arguments.delivery.replace)
    facts = read_facts(arguments.facts)
    made = with_facts(card_of(read_release(file)), facts)
    if output is not None:
        write_whole(output, PAGES[output.suffix](made).encode(), sensitive=False)

    def render(console: Console) -> None:
        if output is None:
            console.print(made.markdown(), markup=False, soft_wrap=True, end="")
        else:
            blanks = sum(entry.text is None for part in made.parts for entry in part.entries)
            kind = "the blanks of" if output.suffix == ".toml" else "a privacy card, with"
            line(console, f"{output}: {kind} {blanks} fields to be filled in")

    report = {"command": "card", "sensitive": False, **asdict(made)}
    arguments.delivery.deliver(report, render)
