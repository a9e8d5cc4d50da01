"""Arguments and help of `mipselect fit`."""

from __future__ import annotations

from pathlib import Path

from mipselect.cli.declared import (
    command_in,
    group,
    option,
    options,
    required,
)
from mipselect.cli.options import METHODS_IN_WORDS, PRIVACY_PANEL, Delivery, DrawOptions
from mipselect.cli.table_options import (
    DivisionOptions,
    ModelOptions,
    NumbersOptions,
    Regularisation,
    SchemaOptions,
    ScoreOptions,
    TableOptions,
)

EXAMPLES = """Examples:

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --output model.json

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --delta 1e-6 \\
    --regression boosted-adassp --always age,sex --ledger study.ledger

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --quality-share 0.1

mipselect fit patients.csv --target score --support-size 3 --epsilon 2 \\
    --x-bound 1 --y-bound 2 --dry-run

mipselect fit patients.csv --target score --support-size 3 --epsilon 2

mipselect fit patients.csv --target score --features-of fields.json \\
    --epsilon 2

mipselect predict model.json new_patients.parquet --output predictions.csv
"""


@options
class BudgetOptions:
    """Budget of features and coefficients together, and its division."""

    PANEL = PRIVACY_PANEL

    epsilon: float = required("--epsilon", "ε of features and coefficients together.")
    division: DivisionOptions = group(DivisionOptions)
    ranges: str | None = option(
        "--ranges",
        "private: draw the ranges of drawn fields and of the target that nobody stated, and "
        "release them with the model. They cost a fifth of ε, and do well where rows times ε is "
        "5,000 or more; stated ranges do better, even twenty times too wide.",
        metavar="public|private",
        show_default="public; private without --schema, --x-bound and --y-bound",
    )
    relation: str | None = option(
        "--relation",
        "What ε is stated under; under add-remove the number of rows is private too.",
        metavar="replace-one|add-remove",
        show_default="that of the ledger, or replace-one",
    )


@options
class FitArguments:
    """Arguments of `fit`."""

    table: TableOptions = group(TableOptions)
    support_size: int | None = option(
        "--support-size",
        "How many features to pick.",
        show_default="none; or give --sizes or --features-of",
    )
    features_of: Path | None = option(
        "--features-of",
        "Take the features of a release, which 'select' or 'fit' wrote with --output: nothing is "
        "drawn of them, and all of ε is for the coefficients.",
        metavar="RELEASE.json",
        show_default="features are drawn",
    )
    budget: BudgetOptions = group(BudgetOptions)
    model: ModelOptions = group(ModelOptions)
    numbers: NumbersOptions = group(
        NumbersOptions,
        help={
            "--x-bound": "Without --schema: features are clipped to ± this; their units.",
            "--y-bound": "Without --schema: the target is clipped to ± this; its units.",
            "--features": "Without --schema: columns to choose from.",
        },
    )
    regularisation: Regularisation = group(
        Regularisation,
        help={
            "--coef-bound": "Of the selection: largest length of the coefficients, of features and "
            "a target in [-1, 1].",
            "--ridge": "Of the selection: λ, in rows.",
        },
    )
    question: SchemaOptions = group(SchemaOptions)
    scores: ScoreOptions = group(
        ScoreOptions,
        help={
            "--loss": 'Of the selection: squared, hinge for two classes, "huber(1.35)", '
            '"quantile(0.9)".'
        },
        show_default={
            "--score": "block-r2 where supports can be listed, else blocks; loss with "
            "--coef-bound, --ridge, --loss, or under add-remove"
        },
    )
    drawing: DrawOptions = group(
        DrawOptions,
        without=("--draws", "--relation", "--delta"),
        help={"--method": METHODS_IN_WORDS},
    )
    delivery: Delivery = group(Delivery)


@command_in("mipselect.cli.fit")
def fit(arguments: FitArguments) -> None:
    """Release a linear model of a table: which features, and their coefficients.

    Features are drawn with one part of ε, from blocks of rows as by 'mipselect
    select', the coefficients of what was drawn with the rest, and a ledger is
    charged once for both. The file of --output has all
    that 'mipselect predict' needs, and nothing else of the data.

    With --schema, a public description of the table (see 'mipselect describe'),
    target, size and ε are enough. Without it the table holds numbers only, and
    --x-bound and --y-bound say between which ends they lie; without them too, or
    with --ranges private, the ranges of what was drawn are drawn as well.
    """
