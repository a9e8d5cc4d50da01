"""Arguments and help of `mipselect moments`."""

from __future__ import annotations

from pathlib import Path

from mipselect.cli.declared import (
    argument,
    command_in,
    group,
    option,
    options,
    required,
)
from mipselect.cli.options import Delivery
from mipselect.cli.table_options import (
    SCHEMA,
    TABLE_PANEL,
    DialectOptions,
    SchemaOptions,
)

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


@command_in("mipselect.cli.moments")
def moments(arguments: MomentsArguments) -> None:
    """Add up squares and products over all rows of DATA, exactly, in one pass.

    'solve' and 'release' take M.npz in place of an instance.

    It is SENSITIVE: it holds sums of the data without any privacy.
    """
