"""`mipselect predict`: what a released model says of the rows of a table."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.options import Delivery
from mipselect.cli.output import check_output, delivering, write_whole
from mipselect.cli.progress import Spinner
from mipselect.cli.start import say
from mipselect.cli.table_options import TABLE, TableArgument
from mipselect.errors import InvalidInput
from mipselect.validation import checked_share, plain_digits, shown

if TYPE_CHECKING:
    from mipselect.arrays import FloatArray
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


NOT_COVERED = (
    "The model is private; the predictions are not: each tells about its row of DATA, so keep them "
    "as you keep DATA."
)
KEPT = "each prediction tells about its row of DATA, so keep them as you keep DATA."
SEEDED = "NOT PRIVATE: the model was drawn with --seed; its predictions tell about its data too."
PROBABILITY = "probability"
"""Name of the column of probabilities."""


@command
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
    import numpy as np

    data, output, as_json = arguments.table.data, arguments.output, arguments.delivery.as_json
    stated = _stated_threshold(arguments.threshold)
    model = _checked_model(arguments, stated)
    threshold = _matching_threshold(model) if stated is None else stated
    assert model.table is not None
    target, replaced = model.table.target, model.table.replaced()
    note = NOT_COVERED if model.private else KEPT
    if not model.private:
        say(f"warning: {SEEDED}")
    parts: list[FloatArray] = [np.empty(0)]
    rows = 0
    with Spinner(f"reading {data}") as watch:
        for part in model.decisions(arguments.table.source, replaced):
            parts.append(part)
            rows += len(part)
            watch.tick(f"predicted {rows:,} rows of {data}")
    decisions = np.concatenate(parts)
    if output is not None:
        write_whole(output, _csv(model, decisions, threshold).encode(), sensitive=True)
    with delivering():
        if as_json:
            head = {
                "command": "predict",
                "model": str(arguments.model),
                "data": data,
                "target": target,
                "sensitive": True,
                "note": note,
                "rows": rows,
                "replaced_values": replaced.to_dict(),
                **_predicted(model, decisions, threshold),
            }
            print(json.dumps(head))
        elif output is None:
            sys.stdout.write(_csv(model, decisions, threshold))
        sys.stdout.flush()
    for line in replaced.lines:
        say(f"warning: {line}")
    if model.has_probabilities and stated == HALF:
        say(f"note: {_of_the_threshold(model)}")
    where = "" if output is None else f"{output}: {rows:,} predictions of {target}. "
    say(f"note: {where}{note}")


def _predicted(model: ModelRelease, decisions: FloatArray, threshold: float) -> dict[str, Any]:
    """Return the predictions of all rows, and what classes are decided by, for a JSON object."""
    classes = model.classes
    found: dict[str, Any] = {}
    if classes is not None:
        found |= {"threshold": threshold, "class": classes[1]}
    found["predictions"] = model.predictions_of(decisions, threshold=threshold).tolist()
    if model.has_probabilities:
        found["probabilities"] = model.probabilities_of(decisions)[:, 1].tolist()
    return found


def _csv(model: ModelRelease, decisions: FloatArray, threshold: float) -> str:
    """Write a header, and a line for each row; classes as their field has them."""
    assert model.table is not None
    found = _predicted(model, decisions, threshold)
    head, columns = [model.table.target], [found["predictions"]]
    if model.classes is not None:
        names, second = model.table.public.target.classes or ("", ""), model.classes[1]
        columns = [[names[value == second] for value in columns[0]]]
    if model.has_probabilities:
        head, columns = [*head, PROBABILITY], [*columns, found["probabilities"]]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *zip(*columns, strict=True)])
    return text.getvalue()


def _checked_model(arguments: PredictArguments, threshold: float | None) -> ModelRelease:
    """Read the model; raise `InvalidInput` where it, or the name of the answer, is not usable."""
    from mipselect.regression import ModelRelease

    model, output = arguments.model, arguments.output
    released = ModelRelease.load(model)
    if released.table is None:
        raise InvalidInput(
            f"{model}: is a model of arrays, not of a table with a schema; ModelRelease.load in "
            "Python predicts from its columns"
        )
    read, replace = [model, Path(arguments.table.data)], arguments.delivery.replace
    check_output(output, read, endings=(".csv",), replace=replace)
    if not released.has_model:
        raise InvalidInput(f"{model}: no model was released, for the private test failed")
    for name, asked in (
        ("--probability", arguments.probability),
        ("--threshold", threshold != HALF),
    ):
        if asked and not released.has_probabilities:
            raise InvalidInput(
                f"{name} needs a model of two classes by the logistic loss; {model} is one of "
                f"{released.table.target} by {released.mechanism}"
            )
    return released


def _stated_threshold(text: str) -> float | None:
    """Read a probability; None for that of the model."""
    if text == MATCHING:
        return None
    try:
        threshold = float(plain_digits(text))
    except ValueError:
        raise InvalidInput(
            f"--threshold must be a probability or {MATCHING}, got {shown(text)}"
        ) from None
    return checked_share(threshold, "--threshold", closed=False)


def _of_the_threshold(released: ModelRelease) -> str:
    """Say what decides between two classes, and what else may."""
    assert released.table is not None
    assert released.classes is not None
    second = (released.table.public.target.classes or released.classes)[1]
    quality = released.quality
    known = quality is not None and quality.matching_threshold is not None
    return (
        f"{released.table.target} is {second} where its probability, the second column (which "
        f"--probability insists on), is above {HALF:g}: of a rare class in few rows. --threshold P "
        f"takes another one, and --threshold {MATCHING} the one by which as many are {second} as "
        f"there are{'' if known else '; it needs a model with --quality-share'}"
    )


def _matching_threshold(released: ModelRelease) -> float:
    """Return the threshold of the quality of a model."""
    quality = released.quality
    if quality is None or quality.matching_threshold is None:
        found = "no quality" if quality is None else "a quality without that threshold"
        raise InvalidInput(
            f"--threshold {MATCHING}: the model has {found}; fit it with --quality-share, on rows "
            "enough, or give a probability"
        )
    return quality.matching_threshold
