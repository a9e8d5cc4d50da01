"""`mipselect moments`: the sums that the squared loss needs of a table; sensitive."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.declared import argument, command, group, option, options, required
from mipselect.cli.options import Delivery
from mipselect.cli.output import SENSITIVE, banner, check_output, deliver, heading
from mipselect.cli.progress import Spinner
from mipselect.cli.streams import say
from mipselect.cli.table_options import SCHEMA, TABLE_PANEL, SchemaOptions, note_of_the_target
from mipselect.errors import InvalidInput
from mipselect.tables.moments import Counting, Moments
from mipselect.tables.moments.batches import pieces_of_table
from mipselect.tables.moments.columns import table_columns
from mipselect.tables.parts import total_rows
from mipselect.tables.schema import TableSchema
from mipselect.validation import checked_integer

EXAMPLES = """Examples:

mipselect moments visits/*.parquet --schema visits.schema.json --target cost \\
    --output visits.npz

mipselect moments visits/ --schema visits.schema.json --target cost \\
    --output visits.npz --resume

mipselect release visits.npz --support-size 4 --epsilon 1 --always age,sex
"""

ENDING = ".npz"
PARTIAL = ".partial"
"""What has been counted of M.npz stands in M.npz.partial until all of it has."""


@options
class MomentsArguments:
    """Arguments of `moments`."""

    data: list[str] = argument(
        "DATA...",
        ".csv, .csv.gz, .parquet, .arrow or .feather files, folders or patterns; all rows of all "
        "of them count.",
    )
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
    resume: bool = option(
        "--resume", "Go on with a pass over files that was interrupted.", default=False
    )
    dry_run: bool = option(
        "--dry-run", "Check schema, question and headers; read no row.", default=False
    )
    delivery: Delivery = group(Delivery, without=("--output",))


@command
def moments(arguments: MomentsArguments) -> None:
    """Add up squares and products over all rows of DATA, exactly, in one pass.

    'solve' and 'release' take M.npz in place of an instance.

    It is SENSITIVE: it holds sums of the data without any privacy.
    """
    data, target, output = arguments.data, arguments.target, arguments.output
    schema, folds, as_json = arguments.schema, arguments.folds, arguments.delivery.as_json
    if schema is None:
        raise InvalidInput("--schema must be given (begin one with 'mipselect describe')")
    if output.suffix != ENDING:
        raise InvalidInput(f"--output {output}: must end in {ENDING}")
    checked_integer(folds, "--folds", 1)
    check_output(output, [schema, *map(Path, data)])
    chosen = arguments.question.keywords
    known = TableSchema.read(schema)
    note_of_the_target(known, target)
    columns = table_columns(known, target, chosen.get("never", ()), chosen.get("ranges"), "first")
    pieces = list(pieces_of_table(data, columns))
    head = {"command": "moments", "sensitive": True, "data": data, "output": str(output)}
    about = {
        "columns": list(columns.names),
        "target": target,
        "protected_unit": columns.public.units.unit,
        "folds": folds,
        "files": len(pieces),
    }
    if arguments.dry_run:
        n = total_rows(piece.rows for piece in pieces)
        deliver(
            {**head, "dry_run": True, "n": n, **about},
            lambda console: _show(console, f"{output}: dry run; no row was read", n, about),
            as_json=as_json,
            output=None,
        )
        return
    notes = _notes(output, data, arguments.resume)
    try:
        with _Meter(len(pieces)) as meter:
            found = Moments.of(
                data, known, target=target, folds=folds, progress=meter, checkpoint=notes, **chosen
            )
    except BaseException:
        if notes is not None and notes.exists():
            say(f"note: what has been counted is in {notes} (sensitive); --resume goes on with it")
        raise
    found.save(output)
    if notes is not None:
        notes.unlink(missing_ok=True)

    def render(console: Console) -> None:
        banner(console, SENSITIVE)
        _show(console, f"{output}: moments of {', '.join(data)}", found.n, about)

    deliver({**head, "n": found.n, **about}, render, as_json=as_json, output=None)


def _show(console: Console, title: str, n: int | None, about: dict[str, Any]) -> None:
    heading(console, title)
    rows = "as many rows as there are" if n is None else f"{n:,} rows"
    parts = "" if about["folds"] == 1 else f" in {about['folds']} folds"
    console.print(
        f"{rows}{parts}, {len(about['columns'])} columns, {about['files']} files; target "
        f"{about['target']}; a row stands for one {about['protected_unit']}.",
        markup=False,
    )


def _notes(output: Path, data: list[str], resume: bool) -> Path | None:
    """The file that remembers an interrupted pass; None where the data are not files here."""
    notes = output.with_name(output.name + PARTIAL)
    if any("://" in source for source in data):
        if resume:
            raise InvalidInput("--resume is for files here; of a URL all is read again")
        return None
    if notes.exists() and not resume:
        raise InvalidInput(
            f"{notes} holds what an interrupted pass has counted: add --resume to go on with it, "
            "or remove it"
        )
    return notes


class _Meter(Spinner):
    """Rows and bytes a second, on standard error."""

    def __init__(self, files: int) -> None:
        self._files, self._begin = files, time.monotonic()
        super().__init__("adding up")

    def __call__(self, counting: Counting) -> None:
        """Receive how far the pass is."""
        seconds = max(time.monotonic() - self._begin, 1e-9)
        of = "" if counting.known_rows is None else f" of {counting.known_rows:,}"
        line = (
            f"adding up file {counting.pieces + 1} of {self._files}: {counting.rows:,} rows{of}, "
            f"{counting.rows / seconds:,.0f} rows/s, {counting.bytes / seconds / 1e6:,.0f} MB/s"
        )
        self.tick(line, description=line)
