"""Options about a table with a public schema."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from mipselect.cli.streams import say
from mipselect.errors import InvalidInput
from mipselect.tables.schema import TableSchema
from mipselect.validation import shown

TABLE_PANEL = "Table with a schema"

NAME = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?=,|$)|([^",]*)(?=,|$)')
"""One of several names."""

SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="Public ranges and categories: a Table Schema, see 'mipselect describe'.",
        rich_help_panel=TABLE_PANEL,
    ),
]
Always = Annotated[
    str | None,
    typer.Option(
        "--always",
        metavar="A,B,...",
        help="Fields that are in whatever is chosen, such as age and sex.",
        rich_help_panel=TABLE_PANEL,
    ),
]
Never = Annotated[
    str | None,
    typer.Option(
        "--never",
        metavar="A,B,...",
        help="Fields of the schema that are left out.",
        rich_help_panel=TABLE_PANEL,
    ),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="NAME=LO:HI",
        help="A public range in place of that of the schema; may be given several times.",
        rich_help_panel=TABLE_PANEL,
    ),
]
NoIntercept = Annotated[
    bool,
    typer.Option("--no-intercept", help="Without a column of ones.", rich_help_panel=TABLE_PANEL),
]
UnitRule = Annotated[
    str | None,
    typer.Option(
        "--unit-rule",
        metavar="first|last|mean",
        help="What becomes of several rows of one person, where the schema names "
        "csvw-eo:privacyUnit: the first or last one, or means of numbers with the rest from the "
        "first; rows beyond it are dropped.",
        show_default="first",
        rich_help_panel=TABLE_PANEL,
    ),
]


def asked(
    always: str | None,
    never: str | None,
    ranges: list[str] | None,
    no_intercept: bool,
    unit_rule: str | None,
) -> dict[str, Any]:
    """The options as arguments of `Instance.from_table`."""
    question: dict[str, Any] = {"intercept": not no_intercept}
    if always is not None:
        question["always"] = split_names("--always", always)
    if never is not None:
        question["never"] = split_names("--never", never)
    if ranges:
        question["ranges"] = dict(map(_range, ranges))
    if unit_rule is not None:
        question["unit_rule"] = unit_rule
    return question


def refuse_with_schema(
    x_bound: float | None, y_bound: float | None, features: str | None, target_shift: float
) -> None:
    """Raise `InvalidInput` for what the schema says already."""
    given = {"--x-bound": x_bound, "--y-bound": y_bound, "--features": features}
    given["--target-shift"] = target_shift or None
    for option, value in given.items():
        if value is not None:
            raise InvalidInput(
                f"{option} does not apply with --schema: the schema has the ranges; see --range, "
                "--always and --never"
            )


def refuse_without_schema(
    always: str | None,
    never: str | None,
    ranges: list[str] | None,
    no_intercept: bool,
    unit_rule: str | None,
) -> None:
    """Raise `InvalidInput` for what only a table with a schema has."""
    given: dict[str, object] = {"--always": always, "--never": never, "--range": ranges or None}
    given |= {"--no-intercept": no_intercept or None, "--unit-rule": unit_rule}
    for option, value in given.items():
        if value is not None:
            raise InvalidInput(f"{option} needs --schema (begin one with 'mipselect describe')")


def note_of_the_target(schema: TableSchema, target: str) -> None:
    """Say of ordered categories that they are taken as a number."""
    field = schema.field(target, "target")
    names = field.category_names
    if field.ordered and len(names) > 2:
        places = ", ".join(f"{k} is {name}" for k, name in enumerate(names[:20]))
        more = ", ..." if len(names) > 20 else ""
        say(
            f"note: {target} is taken as a number, the place among its ordered categories: "
            f"{places}{more}"
        )


def split_names(option: str, text: str) -> list[str]:
    """Names between commas; one in double quotes may have commas and outer blanks."""
    names, at = [], 0
    while at <= len(text):
        part = NAME.match(text, at)
        if part is None:
            raise InvalidInput(
                f"{option}: a double quote has no partner in {text[at:]!r}; inside a name in "
                "quotes it is written twice"
            )
        quoted, plain = part.groups()
        names.append(plain.strip() if quoted is None else quoted.replace('""', '"'))
        at = part.end() + 1
    return names


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """A name, which may hold "=", and two numbers."""
    name, _, ends = text.rpartition("=")
    low, _, high = ends.partition(":")
    try:
        return name, (float(low), float(high))
    except ValueError:
        raise InvalidInput(
            f"--range must be a field with its ends, such as age=0:100, got {shown(text)}"
        ) from None
