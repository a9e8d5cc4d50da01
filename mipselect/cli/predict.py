"""`mipselect predict`: what a released model says of the rows of a table."""

from __future__ import annotations

import sys
from pathlib import Path

from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.dialect import TABLE, TableArgument
from mipselect.cli.options import Delivery
from mipselect.cli.output import check_output, delivering
from mipselect.cli.predictions import WaitingPredictions
from mipselect.cli.progress import Spinner
from mipselect.cli.streams import say
from mipselect.errors import InvalidInput
from mipselect.regression import ModelRelease
from mipselect.validation import checked_share, plain_digits, shown

EXAMPLES = """Examples:

mipselect predict model.json new_patients.parquet --output predictions.csv

mipselect predict model.json new_patients.csv | head

mipselect predict risk.json new_patients.csv --threshold 0.2 \\
    --output risks.csv
"""

HALF, MATCHING = 0.5, "matching"
NOT_COVERED = (
    "The model is private; the predictions are not: each tells about its row of DATA, so keep them "
    "as you keep DATA."
)
KEPT = "each prediction tells about its row of DATA, so keep them as you keep DATA."
SEEDED = "NOT PRIVATE: the model was drawn with --seed; its predictions tell about its data too."


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
    data, output, as_json = arguments.table.data, arguments.output, arguments.delivery.as_json
    stated = _stated_threshold(arguments.threshold)
    released = _checked_model(arguments, stated)
    threshold = _matching_threshold(released) if stated is None else stated
    assert released.table is not None
    target = released.table.target
    replaced = released.table.replaced()
    decisions = released.decisions(arguments.table.source, replaced)
    note = NOT_COVERED if released.private else KEPT
    if not released.private:
        say(f"warning: {SEEDED}")
    with (
        WaitingPredictions(released, threshold, as_json=as_json) as answer,
        Spinner(f"reading {data}") as watch,
    ):
        for found in decisions:
            answer.add(found)
            rows = f"{answer.rows:,} rows"
            watch.tick(f"predicted {rows} of {data}", description=rows)
        if output is not None:
            answer.save(output)
        head = {
            "command": "predict",
            "model": str(arguments.model),
            "data": data,
            "target": target,
            "sensitive": True,
            "note": note,
            "rows": answer.rows,
            "replaced_values": replaced.to_dict(),
            **answer.settings,
        }
        with delivering():
            if as_json:
                answer.print_json(head)
            elif output is None:
                answer.print_lines()
            sys.stdout.flush()
    for line in replaced.lines:
        say(f"warning: {line}")
    if released.has_probabilities and stated == HALF:
        say(f"note: {_of_the_threshold(released)}")
    where = "" if output is None else f"{output}: {answer.rows:,} predictions of {target}. "
    say(f"note: {where}{note}")


def _checked_model(arguments: PredictArguments, threshold: float | None) -> ModelRelease:
    """Read the model; raise `InvalidInput` where it, or the name of the answer, is not usable."""
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
