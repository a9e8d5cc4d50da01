"""Arguments and help of `mipselect select`."""

from __future__ import annotations

from dataclasses import asdict

from mipselect.cli.declared import command_in, group, option, options
from mipselect.cli.options import Delivery, SupportDrawOptions
from mipselect.cli.options import stated as stated_options
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

    def bounds(self) -> dict[str, float]:
        """Return the public bounds that were given."""
        numbers = self.numbers
        return stated_options(
            x_bound=numbers.x_bound, y_bound=numbers.y_bound, **asdict(self.regularisation)
        )


@command_in("mipselect.cli.select")
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
