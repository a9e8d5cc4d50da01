"""`mipselect select`: private supports straight from a table."""

from __future__ import annotations

from mipselect.cli.declared import command, group, option, options
from mipselect.cli.options import Delivery, SupportDrawOptions
from mipselect.cli.output import check_output
from mipselect.cli.table_options import (
    NumbersOptions,
    Regularisation,
    SchemaOptions,
    ScoreOptions,
    TableOptions,
)

EXAMPLES = """Examples:

mipselect select patients.csv --target score --support-size 3 --epsilon 1

mipselect select patients.csv --target score --sizes 1-8 --epsilon 1

mipselect select patients.csv --target score --support-size 3 --epsilon 1 \\
    --x-bound 1 --y-bound 2 --coef-bound 1.5 --ridge 10

mipselect select patients.csv --target score --support-size 3 --epsilon 1 \\
    --method sis --x-bound 1 --y-bound 2

mipselect select patients.csv --target score --support-size 3 --epsilon 1 \\
    --method kendall --dry-run

mipselect select patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 3 --epsilon 1 --always age,sex
"""


@options
class SelectArguments:
    """Arguments of `select`."""

    table: TableOptions = group(TableOptions)
    support_size: int | None = option(
        "--support-size", "How many columns to pick.", show_default="none; or give --sizes"
    )
    numbers: NumbersOptions = group(NumbersOptions)
    regularisation: Regularisation = group(Regularisation)
    question: SchemaOptions = group(SchemaOptions)
    scores: ScoreOptions = group(ScoreOptions)
    drawing: SupportDrawOptions = group(SupportDrawOptions)
    delivery: Delivery = group(Delivery)


@command
def select(arguments: SelectArguments) -> None:
    """Release supports straight from a table, with differential privacy.

    Target, size and ε are enough for a table of numbers. One with categories
    needs --schema, a public description of it (see 'mipselect describe').

    Sets of columns are compared within blocks of a few rows, by R² where all sets
    can be listed, else by least squares: no range of any column is needed. With
    public bounds they are compared by a loss of the rows: permute-and-flip,
    exponential, top-r and mistakes need --x-bound, --y-bound, --coef-bound and
    --ridge. mcmc needs all but the ridge, sis the first two; kendall and
    sample-aggregate need none. Without --schema no bound has a default: one
    derived from the data would leak.
    """
    from mipselect.cli.inputs import table_asked_of, titles_of
    from mipselect.cli.releasing import plan_draws
    from mipselect.tables.schema import TableSchema

    table, delivery, drawing = arguments.table, arguments.delivery, arguments.drawing
    schema = None if table.schema is None else TableSchema.read(table.schema)
    head = {"command": "select", **table.head, **titles_of(schema)}
    plan = plan_draws(drawing, table.title, head)
    source = table_asked_of(arguments, schema, plan)
    check_output(delivery.output, [*table.files, *drawing.ledger.files], replace=delivery.replace)
    plan.deliver(source, delivery, dry_run=drawing.dry_run)
