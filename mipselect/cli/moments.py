"""`mipselect moments`: the sums that the squared loss needs of a table; sensitive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
from mipselect.errors import InvalidInput
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
    schema: Path | None = option("--schema", SCHEMA, metavar="FILE", panel=TABLE_PANEL)
    question: SchemaOptions = group(
        SchemaOptions, without=("--always", "--no-intercept", "--unit-rule")
    )
    folds: int = option(
        "--folds",
        "Keep the sums of so many parts of the rows apart, for sample-aggregate.",
        default=1,
    )
    dry_run: bool = option(
        "--dry-run", "Check schema, question and headers; read no row.", default=False
    )
    delivery: Delivery = group(Delivery, without=("--output",))


ENDING = ".npz"


@command
def moments(arguments: MomentsArguments) -> None:
    """Add up squares and products over all rows of DATA, exactly, in one pass.

    'solve' and 'release' take M.npz in place of an instance.

    It is SENSITIVE: it holds sums of the data without any privacy.
    """
    from mipselect.cli.charging import note_of_the_target
    from mipselect.tables.moments import Moments, TableColumns, open_tables
    from mipselect.tables.parts import total_rows
    from mipselect.tables.schema import TableSchema

    data, output = arguments.data, arguments.output
    if arguments.schema is None:
        raise InvalidInput("--schema must be given (begin one with 'mipselect describe')")
    if output.suffix != ENDING:
        raise InvalidInput(f"--output {output}: must end in {ENDING}")
    checked_integer(arguments.folds, "--folds", 1)
    read = [arguments.schema, *map(Path, data)]
    check_output(output, read, replace=arguments.delivery.replace)
    known = TableSchema.read(arguments.schema)
    note_of_the_target(known, arguments.target)
    question = arguments.question.question_about(known, arguments.target)
    columns = TableColumns(question)
    sources = [arguments.dialect.source(path) for path in data]
    pieces = list(open_tables(sources, columns.public))
    head = {"command": "moments", "sensitive": True, "data": data, "output": str(output)}
    about = {
        **arguments.dialect.keywords,
        "columns": list(columns.names),
        "target": arguments.target,
        "protected_unit": columns.public.protected_unit,
        **stated(weight=known.weight_name),
        "folds": arguments.folds,
        "files": len(pieces),
    }
    if arguments.dry_run:
        n = total_rows(piece.rows for piece in pieces)
        arguments.delivery.deliver(
            {**head, "dry_run": True, "n": n, **about},
            lambda console: _show(console, f"{output}: dry run; no row was read", n, about),
        )
        return
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

    def render(console: Console) -> None:
        banner(console, SENSITIVE)
        _show(console, f"{output}: moments of {', '.join(data)}", found.n, about)

    arguments.delivery.deliver({**head, "n": found.n, **about}, render)


def _show(console: Console, title: str, n: int | None, about: dict[str, Any]) -> None:
    heading(console, title)
    rows = "as many rows as there are" if n is None else f"{n:,} rows"
    parts = "" if about["folds"] == 1 else f" in {about['folds']} folds"
    line(
        console,
        f"{rows}{parts}, {len(about['columns'])} columns, {about['files']} files; target "
        f"{about['target']}; a row stands for one {about['protected_unit']}.",
    )
    if "weight" in about:
        line(console, f"Rows count by the survey weight {about['weight']}.")
