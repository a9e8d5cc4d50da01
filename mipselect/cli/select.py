"""`mipselect select` and `mipselect release`: private supports of a table, or of an instance."""

from __future__ import annotations

from mipselect.cli.declared import command, group, option, options
from mipselect.cli.options import DrawOptions
from mipselect.cli.output import Delivery
from mipselect.cli.table_options import (
    BoundsOptions,
    SchemaOptions,
    ScoreOptions,
    SourceOptions,
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

mipselect release diabetes --epsilon 1

mipselect release paper-p100 --epsilon 1 --sizes 1-8

mipselect release paper-p100 --method mistakes --epsilon 1 \\
    --test-epsilon 0.5 --delta 1e-6

mipselect release visits.npz --support-size 4 --epsilon 1 --always age,sex
"""


@options
class SelectArguments:
    """Arguments of `select`."""

    table: TableOptions = group(TableOptions)
    support_size: int | None = option(
        "--support-size", "How many columns to pick.", show_default="none; or give --sizes"
    )
    bounds: BoundsOptions = group(BoundsOptions)
    question: SchemaOptions = group(SchemaOptions)
    scores: ScoreOptions = group(ScoreOptions)
    drawing: DrawOptions = group(DrawOptions, without=("--relation",))
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
    from mipselect.cli import inputs, releasing

    table, schema = arguments.table, arguments.table.described(arguments)
    titles = {} if schema is None else schema.titles
    head = {"command": "select", **table.head, **({"titles": titles} if titles else {})}
    plan = releasing.support_plan(arguments.drawing, head)
    plan.deliver(inputs.table_asked_of(arguments, schema, plan), arguments.delivery)


@options
class ReleaseArguments:
    """Arguments of `release`."""

    drawing: DrawOptions = group(DrawOptions, without=("--relation",))
    source: SourceOptions = group(SourceOptions)
    delivery: Delivery = group(Delivery)


@command
def release(arguments: ReleaseArguments) -> None:
    """Release supports of INSTANCE with differential privacy.

    Only the releases and their guarantee are printed.

    Running time, and whether a run ends, depend on the data and are not covered.
    """
    from mipselect.cli import inputs, releasing
    from mipselect.selectors.base import RowsSelector

    instance, drawing = arguments.source.instance, arguments.drawing
    plan = releasing.support_plan(drawing, {"command": "release", "instance": instance})
    source = inputs.asked_of(arguments.source, plan.method.sizes)
    if instance.endswith(inputs.ENDING) and isinstance(plan.method, RowsSelector):
        plan.method.require_sums()
    plan.deliver(source, arguments.delivery)
