"""What `solve` and `release` work with: `mipselect instances`, `solvers`, and `moments` of tables.

Moments are the sums that the squared loss needs of a table; sensitive.
"""

from __future__ import annotations

import csv
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect.cli import output
from mipselect.cli.declared import argument, command, group, option, options, required
from mipselect.cli.options import stated
from mipselect.cli.output import NO_FILE, SENSITIVE, Delivery
from mipselect.cli.progress import Spinner
from mipselect.cli.table_options import SCHEMA, TABLE_PANEL, DialectOptions, SchemaOptions
from mipselect.validation import checked_integer

if TYPE_CHECKING:
    from mipselect.problem.descriptions import Description

EXAMPLES = """Examples:

mipselect instances --json

mipselect solvers --json

mipselect moments visits/*.parquet --schema visits.schema.json --target cost \\
    --output visits.npz
"""


@options
class ListingArguments:
    """Arguments of `instances` and `solvers`."""

    delivery: Delivery = group(Delivery, without=NO_FILE)


@command
def instances(arguments: ListingArguments) -> None:
    """List the stored instances."""
    from mipselect.problem.descriptions import read_description, stored_names

    listed = [{"name": name, **_in_short(read_description(name))} for name in stored_names()]

    def render(console: Console) -> None:
        texts = ("name", "source", "description")
        titles = ("name", "n", "p", "features", "s", "source", "description")
        output.print_table(console, titles, (list(entry.values()) for entry in listed), left=texts)

    arguments.delivery.deliver({"sensitive": False, "instances": listed}, render)


def _in_short(described: Description) -> dict[str, Any]:
    """Return what is listed of an instance of the package; no recipe is run for it."""
    folder, data, settings = described.path.parent, described.data, described.settings
    n: int | None
    if data["source"] == "table":
        with (folder / data["path"]).open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        n, p = len(rows), len(header) - 1
    else:
        n, p, _ = described.source.head(data, folder)
    return {
        "n": n,
        "p": p,
        "n_features": len(settings.get("groups") or range(p - len(settings.get("always", ())))),
        "support_size": settings["support_size"],
        "source": data["source"],
        "description": described.instance.get("description", ""),
    }


@command
def solvers(arguments: ListingArguments) -> None:
    """List the back ends that are installed, and whether they can be used here."""
    from mipselect.backends import known_solvers

    known = known_solvers().values()

    def render(console: Console) -> None:
        titles, rows = ("name", "usable", "version", "remark"), []
        for solver in known:
            limit = f"licence for {solver.limit.columns:,} columns" if solver.limit else ""
            usable = "yes" if solver.usable else "no"
            rows.append((solver.name, usable, solver.version, solver.reason or limit))
        output.print_table(console, titles, rows, left=titles)

    report = {"sensitive": False, "solvers": [asdict(solver) for solver in known]}
    arguments.delivery.deliver(report, render)


@options
class MomentsArguments:
    """Arguments of `moments`."""

    data: list[str] = argument(
        "DATA...",
        ".csv, .parquet, .arrow, .sav, .dta, .sas7bdat, .xpt or .xlsx files, folders or patterns; "
        "all rows of all of them count.",
    )
    dialect: DialectOptions = group(DialectOptions)
    target: str = required("--target", "The field to predict.")
    output: Path = required("--output", "Where the moments go. SENSITIVE.", metavar="M.npz")
    schema: Path = required("--schema", SCHEMA, metavar="FILE", panel=TABLE_PANEL)
    question: SchemaOptions = group(
        SchemaOptions, without=("--always", "--no-intercept", "--unit-rule")
    )
    folds: int = option(
        "--folds",
        "Keep the sums of so many parts of the rows apart, for sample-aggregate.",
        default=1,
    )
    delivery: Delivery = group(Delivery, without=("--output",))


@command
def moments(arguments: MomentsArguments) -> None:
    """Add up squares and products over all rows of DATA, exactly, in one pass.

    'solve' and 'release' take M.npz in place of an instance.

    It is SENSITIVE: it holds sums of the data without any privacy.
    """
    from mipselect.tables.moments import Moments, TableColumns, open_tables
    from mipselect.tables.schema import TableSchema

    data, file = arguments.data, arguments.output
    checked_integer(arguments.folds, "--folds", 1)
    read = [arguments.schema, *map(Path, data)]
    output.check_output(file, read, endings=(".npz",), replace=arguments.delivery.replace)
    known = TableSchema.read(arguments.schema)
    columns = TableColumns(arguments.question.question_about(known, arguments.target))
    sources = [arguments.dialect.source(path) for path in data]
    pieces = list(open_tables(sources, columns.public))
    with Spinner("adding up") as spinner:
        found = Moments.of(
            sources,
            known,
            target=arguments.target,
            folds=arguments.folds,
            progress=lambda rows: spinner.tick(f"adding up {rows:,} rows"),
            **arguments.question.keywords,
        )
    found.save(file)
    report = {
        "command": "moments",
        "sensitive": True,
        "data": data,
        "output": str(file),
        "n": found.n,
        **arguments.dialect.keywords,
        "columns": list(columns.names),
        "target": arguments.target,
        "protected_unit": columns.public.protected_unit,
        **stated(weight=known.weight_name),
        "folds": arguments.folds,
        "files": len(pieces),
    }

    def render(console: Console) -> None:
        output.banner(console, SENSITIVE)
        output.heading(console, f"{file}: moments of {', '.join(data)}")
        parts = "" if arguments.folds == 1 else f" in {arguments.folds} folds"
        output.line(
            console,
            f"{found.n:,} rows{parts}, {len(columns.names)} columns, {len(pieces)} files; target "
            f"{arguments.target}; a row stands for one {columns.public.protected_unit}.",
        )
        if known.weight_name is not None:
            output.line(console, f"Rows count by the survey weight {known.weight_name}.")

    arguments.delivery.deliver(report, render)
