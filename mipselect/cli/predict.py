"""`mipselect predict`: what a released model says of the rows of a table."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.output import Delivery, check_output
from mipselect.cli.progress import Spinner
from mipselect.cli.start import say
from mipselect.cli.table_options import TABLE, TableArgument
from mipselect.errors import InvalidInput
from mipselect.validation import checked_share, plain_digits, shown

if TYPE_CHECKING:
    from mipselect.regression import ModelRelease

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
    delivery: Delivery = group(
        Delivery,
        help={
            "--output": "FILE.csv receives the predictions, whole or not at all, readable by you "
            "only; without it they are printed."
        },
    )


KEPT = "each prediction tells about its row of DATA, so keep them as you keep DATA."
NOT_COVERED = f"The model is private; the predictions are not: {KEPT}"
SEEDED = "NOT PRIVATE: the model was drawn with --seed; its predictions tell about its data too."


@command
def predict(arguments: PredictArguments) -> None:
    """Predict the target for every row of DATA, in the order of the rows.

    Rows are mapped as they were for the model: values are clipped to its ranges,
    missing ones count as its schema says, and no row is refused. What does not
    fit is found by 'mipselect check'. The answer has one line per row, under the
    name of the target: a number in its units, or a class. With two classes a
    second column says how likely the second is, which --threshold decides by.

    Predictions cost no budget, for the model is released. They are not private
    for the rows of DATA.
    """
    data, output = arguments.table.data, arguments.delivery.output
    model = _checked_model(arguments)
    threshold = _threshold(arguments.threshold, model)
    table = model.table
    assert table is not None
    if not model.private:
        say(f"warning: {SEEDED}")
    with Spinner(f"reading {data}"):
        decisions = model.decision(arguments.table.source)
    predictions = model.predictions_of(decisions, threshold=threshold).tolist()
    note = NOT_COVERED if model.private else KEPT
    report = {
        "command": "predict",
        "model": str(arguments.model),
        "data": data,
        "target": table.target,
        "sensitive": True,
        "note": note,
        "rows": len(predictions),
    }
    # Classes as their field has them.
    classes, names = model.classes, table.public.target.classes or ("", "")
    columns = {table.target: predictions}
    if classes is not None:
        report |= {"threshold": threshold, "class": classes[1]}
        columns = {
            table.target: [names[value == classes[1]] for value in predictions],
            "probability": model.probabilities_of(decisions)[:, 1].tolist(),
        }
        report["probabilities"] = columns["probability"]
    report["predictions"] = predictions
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerows([columns, *zip(*columns.values(), strict=True)])
    written = text.getvalue()

    def render(_: Console) -> None:
        """Print what a file receives, as it is."""
        if output is None:
            sys.stdout.write(written)

    arguments.delivery.deliver(report, render, None if output is None else written.encode())
    if classes is not None and arguments.threshold == str(HALF):
        say(
            f"note: {table.target} is {names[1]} where its probability, the second column (which "
            f"--probability insists on), is above {HALF:g}: of a rare class in few rows. "
            f"--threshold P takes another one, and --threshold {MATCHING} that of a model with "
            f"--quality-share, by which as many are {names[1]} as there are"
        )
    say(f"note: {note}")


def _checked_model(arguments: PredictArguments) -> ModelRelease:
    """Read the model; raise `InvalidInput` where it, or the name of the answer, is not usable."""
    from mipselect.regression import ModelRelease

    model, delivery = arguments.model, arguments.delivery
    released = ModelRelease.load(model)
    if released.table is None:
        raise InvalidInput(
            f"{model}: is a model of arrays, not of a table with a schema; ModelRelease.load in "
            "Python predicts from its columns"
        )
    read = [model, Path(arguments.table.data)]
    check_output(delivery.output, read, endings=(".csv",), replace=delivery.replace)
    if not released.has_model:
        raise InvalidInput(f"{model}: no model was released, for the private test failed")
    asked = {
        "--probability": arguments.probability,
        "--threshold": arguments.threshold != str(HALF),
    }
    for name in (name for name in asked if asked[name] and released.classes is None):
        raise InvalidInput(
            f"{name} needs a model of two classes by the logistic loss; {model} is one of "
            f"{released.table.target} by {released.mechanism}"
        )
    return released


def _threshold(text: str, model: ModelRelease) -> float:
    """Read a probability, or take that of the quality of a model."""
    if text != MATCHING:
        try:
            return checked_share(float(plain_digits(text)), "--threshold", closed=False)
        except ValueError:
            wanted = f"must be a probability or {MATCHING}, got {shown(text)}"
            raise InvalidInput(f"--threshold {wanted}") from None
    quality = model.quality
    if quality is None or quality.matching_threshold is None:
        found = "no quality" if quality is None else "a quality without that threshold"
        raise InvalidInput(
            f"--threshold {MATCHING}: the model has {found}; fit it with --quality-share, on rows "
            "enough, or give a probability"
        )
    return quality.matching_threshold
