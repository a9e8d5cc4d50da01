"""`mipselect fit`: private features and coefficients of a table, as one release."""

from __future__ import annotations

from pathlib import Path

from mipselect.cli.declared import command, group, option, options
from mipselect.cli.options import PRIVACY_PANEL, DrawOptions
from mipselect.cli.output import Delivery
from mipselect.cli.table_options import SchemaOptions, ScoreOptions, TableOptions

MODEL_PANEL = "Of the model"

LOSS_OF_NUMBERS, LOSS_OF_CLASSES = "huber", "logistic"
"""Defaults of `--model-loss`; by experiment, see docs/regression.md."""

EXAMPLES = """Examples:

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --output model.json

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --always age,sex \\
    --ledger study.ledger

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --quality-share 0.1

mipselect fit patients.csv --target score --support-size 3 --epsilon 2

mipselect fit patients.csv --target score --features-of fields.json \\
    --epsilon 2

mipselect predict model.json new_patients.parquet --output predictions.csv
"""


@options
class FitArguments:
    """Arguments of `fit`."""

    table: TableOptions = group(TableOptions)
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
    question: SchemaOptions = group(SchemaOptions)
    scores: ScoreOptions = group(ScoreOptions, without=("--loss",))
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
