"""Arguments and help of `mipselect predict`."""

from __future__ import annotations

from pathlib import Path

from mipselect.cli.declared import argument, command_in, group, option, options
from mipselect.cli.options import Delivery
from mipselect.cli.table_options import TABLE, TableArgument

EXAMPLES = """Examples:

mipselect predict model.json new_patients.parquet --output predictions.csv

mipselect predict model.json new_patients.csv | head

mipselect predict risk.json new_patients.csv --threshold 0.2 \\
    --output risks.csv
"""

HALF, MATCHING = 0.5, "matching"


@options
class PredictArguments:
    """Arguments of `predict`."""

    model: Path = argument("MODEL.json", "What 'mipselect fit' wrote with --output.")
    table: TableArgument = group(
        TableArgument,
        help={
            "DATA": f"{TABLE}, with the fields of the model; others are ignored, and the target "
            "need not be there."
        },
    )
    output: Path | None = option(
        "--output",
        "Receives the predictions, whole or not at all, readable by you only.",
        metavar="FILE.csv",
        show_default="standard output",
    )
    probability: bool = option(
        "--probability",
        "Refuse a model that has no probabilities; one that has gives them anyhow, as a second "
        "column.",
        default=False,
    )
    threshold: str = option(
        "--threshold",
        "Of two classes: the probability above which the second one is predicted. matching: the "
        "one of the model's quality, by which as many are predicted as there are.",
        default=str(HALF),
        metavar=f"P|{MATCHING}",
    )
    delivery: Delivery = group(Delivery, without=("--output",))


@command_in("mipselect.cli.predict")
def predict(arguments: PredictArguments) -> None:
    """Predict the target for every row of DATA, in the order of the rows.

    Rows are mapped as they were for the model: values are clipped to its ranges,
    missing ones count as its schema says, and no row is refused. Warnings count
    rows of which another value counts than stands there. The answer has one line
    per row, under the name of the target: a number in its units, or a class. With
    two classes a second column says how likely the second is, which --threshold
    decides by.

    Predictions cost no budget, for the model is released. They are not private
    for the rows of DATA.
    """
