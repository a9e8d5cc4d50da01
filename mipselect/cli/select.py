"""`mipselect select`, `release` and `fit`: private supports, and models, of a table or an instance.

What they do stands in `select_plan`, `fit_plan` and `releasing`.
"""

from __future__ import annotations

from pathlib import Path

from mipselect.cli import table_options
from mipselect.cli.declared import command, group, option, options
from mipselect.cli.options import PRIVACY_PANEL, DrawOptions
from mipselect.cli.output import Delivery

MODEL_PANEL = "Of the model"

LOSS_OF_NUMBERS, LOSS_OF_CLASSES = "huber", "logistic"
"""Defaults of `--model-loss`; by experiment, see docs/regression.md."""

EXAMPLES = """Examples:

mipselect select patients.csv --target score --support-size 3 --epsilon 1

mipselect select patients.csv --target score --support-size 3 --epsilon 1 \\
    --x-bound 1 --y-bound 2 --coef-bound 1.5 --ridge 10

mipselect select patients.csv --target score --support-size 3 --epsilon 1 \\
    --method kendall --dry-run

mipselect select patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 3 --epsilon 1 --always age,sex

mipselect release diabetes --epsilon 1

mipselect release paper-p100 --epsilon 1 --sizes 1-8

mipselect release paper-p100 --method mistakes --epsilon 1 \\
    --test-epsilon 0.5 --delta 1e-6

mipselect release visits.npz --support-size 4 --epsilon 1 --always age,sex

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --always age,sex \\
    --ledger study.ledger --quality-share 0.1 --output model.json

mipselect fit patients.csv --target score --features-of fields.json \\
    --epsilon 2
"""


@options
class SelectArguments:
    """Arguments of `select`."""

    table: table_options.TableOptions = group(table_options.TableOptions)
    support_size: int | None = option(
        "--support-size", "How many columns to pick.", show_default="none; or give --sizes"
    )
    bounds: table_options.BoundsOptions = group(table_options.BoundsOptions)
    question: table_options.SchemaOptions = group(table_options.SchemaOptions)
    scores: table_options.ScoreOptions = group(table_options.ScoreOptions)
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
    from mipselect.cli.select_plan import plan_of_table

    plan, source = plan_of_table(arguments)
    plan.deliver(source, arguments.delivery)


@options
class ReleaseArguments:
    """Arguments of `release`."""

    drawing: DrawOptions = group(DrawOptions, without=("--relation",))
    source: table_options.SourceOptions = group(table_options.SourceOptions)
    delivery: Delivery = group(Delivery)


@command
def release(arguments: ReleaseArguments) -> None:
    """Release supports of INSTANCE with differential privacy.

    Only the releases and their guarantee are printed.

    Running time, and whether a run ends, depend on the data and are not covered.
    """
    from mipselect.cli.select_plan import plan_of_instance

    plan, source = plan_of_instance(arguments)
    plan.deliver(source, arguments.delivery)


@options
class FitArguments:
    """Arguments of `fit`."""

    table: table_options.TableOptions = group(table_options.TableOptions)
    support_size: int | None = option(
        "--support-size", "How many features to pick.", show_default="none; or give --features-of"
    )
    features_of: Path | None = option(
        "--features-of",
        "Take the features of a release, which 'select' or 'fit' wrote with --output: nothing is "
        "drawn of them, and all of ε is for the coefficients.",
        metavar="RELEASE.json",
        show_default="features are drawn",
    )
    drawing: DrawOptions = group(
        DrawOptions,
        without=("--method",),
        help={"--epsilon": "ε of features and coefficients together."},
    )
    ranges: str | None = option(
        "--ranges",
        "Draw the ranges of drawn fields and of the target that nobody stated, and "
        "release them with the model. They cost a fifth of ε, and do well where rows times ε is "
        "5,000 or more; stated ranges do better, even twenty times too wide.",
        choices=("private",),
        show_default="those of --schema",
        panel=PRIVACY_PANEL,
    )
    quality_share: float | None = option(
        "--quality-share",
        "Keep this share of the rows, or people, apart from the fit, to say how good the model is; "
        "it costs no further ε.",
        metavar="A",
        show_default="none",
        panel=MODEL_PANEL,
    )
    model_loss: str | None = option(
        "--model-loss",
        'squared, huber, "huber(κ)" with κ in halves of the range of the target, without it from '
        "1/4 to 1 by rows times ε; for two classes logistic. In Python the squared loss is the "
        "default of numbers.",
        show_default=f"{LOSS_OF_NUMBERS}; {LOSS_OF_CLASSES} for two classes",
        panel=MODEL_PANEL,
    )
    question: table_options.SchemaOptions = group(table_options.SchemaOptions)
    scores: table_options.ScoreOptions = group(table_options.ScoreOptions, without=("--loss",))
    delivery: Delivery = group(Delivery)


@command
def fit(arguments: FitArguments) -> None:
    """Release a linear model of a table: which features, and their coefficients.

    Features are drawn with one part of ε, from blocks of rows as by 'mipselect
    select', the coefficients of what was drawn with the rest, and a ledger is
    charged once for both. The file of --output has all
    that 'mipselect predict' needs, and nothing else of the data. Features
    that another method of 'mipselect select' drew are those of --features-of.

    With --schema, a public description of the table (see 'mipselect describe'),
    target, size and ε are enough. Without it the table holds numbers only, and
    the ranges of what was drawn are drawn as well, as with --ranges private.
    """
    from mipselect.cli.fit_plan import plan_of

    plan, source = plan_of(arguments)
    plan.deliver(source, arguments.delivery)
