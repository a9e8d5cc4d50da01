"""`mipselect moments`: the sums that the squared loss needs of a table; sensitive."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from mipselect.cli.declared import argument, command, group, option, options, required
from mipselect.cli.options import stated
from mipselect.cli.output import SENSITIVE, Delivery, banner, check_output, heading, line
from mipselect.cli.progress import Spinner
from mipselect.cli.table_options import (
    SCHEMA,
    TABLE_PANEL,
    DialectOptions,
    SchemaOptions,
)
from mipselect.validation import checked_integer

EXAMPLES = """Examples:

mipselect moments visits/*.parquet --schema visits.schema.json --target cost \\
    --output visits.npz

mipselect release visits.npz --support-size 4 --epsilon 1 --always age,sex
"""


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

    data, output = arguments.data, arguments.output
    checked_integer(arguments.folds, "--folds", 1)
    read = [arguments.schema, *map(Path, data)]
    check_output(output, read, endings=(".npz",), replace=arguments.delivery.replace)
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
    found.save(output)
    report = {
        "command": "moments",
        "sensitive": True,
        "data": data,
        "output": str(output),
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
        banner(console, SENSITIVE)
        heading(console, f"{output}: moments of {', '.join(data)}")
        parts = "" if arguments.folds == 1 else f" in {arguments.folds} folds"
        line(
            console,
            f"{found.n:,} rows{parts}, {len(columns.names)} columns, {len(pieces)} files; target "
            f"{arguments.target}; a row stands for one {columns.public.protected_unit}.",
        )
        if known.weight_name is not None:
            line(console, f"Rows count by the survey weight {known.weight_name}.")

    arguments.delivery.deliver(report, render)
