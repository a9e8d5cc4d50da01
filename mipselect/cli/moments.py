"""`mipselect moments`: the sums that the squared loss needs of a table; sensitive."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect.cli.declared import argument, command, group, option, options, refuse, required
from mipselect.cli.options import Delivery, option_named, stated
from mipselect.cli.output import SENSITIVE, banner, check_output, heading
from mipselect.cli.progress import Spinner
from mipselect.cli.table_options import (
    NO_RANGE,
    SCHEMA,
    TABLE_PANEL,
    DialectOptions,
    SchemaOptions,
    ScoreOptions,
)
from mipselect.errors import InvalidInput
from mipselect.problem.scores import BLOCKS, LOSS, R2, SCORES, require_together
from mipselect.validation import checked_choice, checked_integer, plural

if TYPE_CHECKING:
    from mipselect.blocks.partitions import Blocks
    from mipselect.tables.moments import Counting

EXAMPLES = """Examples:

mipselect moments visits/*.parquet --schema visits.schema.json --target cost \\
    --output visits.npz

mipselect release visits.npz --support-size 4 --epsilon 1 --always age,sex

mipselect moments visits/*.parquet --schema visits.schema.json --target cost \\
    --score blocks --output visits.npz
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
    scores: ScoreOptions = group(
        ScoreOptions,
        without=("--loss",),
        help={
            "--score": "loss: of rows that are clipped to public ranges. blocks: least squares on "
            "blocks of rows, each normalised by itself, without ranges.",
            "--block-rows": "With --score blocks: rows of a block, public.",
            "--partitions": "With --score blocks: how often the rows are divided anew, public.",
        },
        show_default={"--score": "loss", "--block-rows": "2", "--partitions": "16"},
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

    With --score blocks over all blocks of rows, for which no range is needed.
    'solve' and 'release' take M.npz in place of an instance.

    It is SENSITIVE: it holds sums of the data without any privacy.
    """
    from mipselect.cli.cautions import note_of_the_target
    from mipselect.tables.moments import Moments
    from mipselect.tables.moments.block_sums import require_one_row_each
    from mipselect.tables.moments.columns import TableBlockColumns, TableColumns
    from mipselect.tables.moments.sums import open_tables
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
    blocks, known = _blocks(arguments), TableSchema.read(arguments.schema)
    note_of_the_target(known, arguments.target)
    question = arguments.question.question_about(known, arguments.target)
    columns = TableColumns(question) if blocks is None else TableBlockColumns(question, blocks)
    if isinstance(columns, TableBlockColumns):
        require_one_row_each(columns)
    sources = [arguments.dialect.source(path) for path in data]
    pieces = list(open_tables(sources, columns.public))
    head = {"command": "moments", "sensitive": True, "data": data, "output": str(output)}
    about = {
        **arguments.dialect.keywords,
        "columns": list(columns.names),
        "target": arguments.target,
        "protected_unit": columns.public.protected_unit,
        **({} if known.weight is None else {"weight": known.weight.name}),
        "folds": arguments.folds,
        "files": len(pieces),
        **({} if blocks is None else {"score": BLOCKS, **blocks.public()}),
    }
    if arguments.dry_run:
        n = total_rows(piece.rows for piece in pieces)
        arguments.delivery.deliver(
            {**head, "dry_run": True, "n": n, **about},
            lambda console: _show(console, f"{output}: dry run; no row was read", n, about),
        )
        return
    if isinstance(columns, TableBlockColumns):
        with _Meter("window") as meter:
            found = Moments.of_blocks(sources, columns, progress=meter)
    else:
        with _Meter("file", len(pieces)) as meter:
            found = Moments.of(
                sources,
                known,
                target=arguments.target,
                folds=arguments.folds,
                progress=meter,
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
    console.print(
        f"{rows}{parts}, {len(about['columns'])} columns, {about['files']} files; target "
        f"{about['target']}; a row stands for one {about['protected_unit']}.",
        markup=False,
    )
    if "weight" in about:
        console.print(f"Rows count by the survey weight {about['weight']}.", markup=False)
    if about.get("score") == BLOCKS:
        console.print(
            f"Blocks of {about['block_rows']} rows, in "
            f"{plural(about['partitions'], 'partition')}; no ranges "
            "were used."
        )


def _blocks(arguments: MomentsArguments) -> Blocks | None:
    """Return the blocks that are added up; None of rows by themselves."""
    from mipselect.blocks.partitions import Blocks

    scores = arguments.scores
    score = checked_choice(scores.score or LOSS, "--score", SCORES)
    about = stated(block_rows=scores.block_rows, partitions=scores.partitions)
    if score == R2:
        raise InvalidInput(
            "--score block-r2 looks at all rows of a block at once, for which sums are not enough: "
            "'mipselect select --score block-r2' draws from the table itself; or add up --score "
            "blocks"
        )
    require_together(score, about, named=option_named)
    if score == LOSS:
        return None
    refuse(replace(arguments.question, never=None), NO_RANGE)
    if arguments.folds != 1:
        raise InvalidInput("--folds goes with --score loss: votes need rows by themselves")
    return Blocks.of(**about)


class _Meter(Spinner):
    """Rows and bytes a second, on standard error.

    Parameters
    ----------
    part : str
        What is added up one after another.
    parts : int, optional
        How many there are, where it is known.
    """

    def __init__(self, part: str, parts: int | None = None) -> None:
        self._part, self._begin = part, time.monotonic()
        self._of_parts = "" if parts is None else f" of {parts}"
        super().__init__("adding up")

    def __call__(self, counting: Counting) -> None:
        """Receive how far the pass is."""
        seconds = max(time.monotonic() - self._begin, 1e-9)
        of = "" if counting.known_rows is None else f" of {counting.known_rows:,}"
        where = f"{self._part} {counting.pieces + 1}{self._of_parts}"
        line = (
            f"adding up {where}: {counting.rows:,} rows{of}, "
            f"{counting.rows / seconds:,.0f} rows/s, {counting.bytes / seconds / 1e6:,.0f} MB/s"
        )
        self.tick(line)
