"""A released model on other rows: `mipselect predict` and `evaluate`, which says how good it is."""

from __future__ import annotations

import csv
import io
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect import privacy
from mipselect.cli.declared import argument, command, group, option, options, required
from mipselect.cli.options import PRIVACY_PANEL, ChargeOptions, stated
from mipselect.cli.output import NOT_PRIVATE, Delivery, banner, check_output, heading, line
from mipselect.cli.progress import Spinner
from mipselect.cli.start import say
from mipselect.cli.table_options import TABLE, SchemaOptions, TableArgument
from mipselect.disk import read_json
from mipselect.errors import InvalidInput, about
from mipselect.privacy.guarantee import ROW, Guarantee
from mipselect.validation import checked_budget, checked_share, plain_digits, shown

if TYPE_CHECKING:
    from mipselect.quality import Quality
    from mipselect.regression import ModelRelease

EXAMPLES = """Examples:

mipselect predict model.json new_patients.parquet --output predictions.csv

mipselect predict risk.json new_patients.csv --threshold 0.2 | head

mipselect evaluate model.json next_year.parquet --epsilon 0.5 \\
    --ledger study.ledger

mipselect evaluate model.json visits.csv --schema visits.schema.json \\
    --epsilon 0.5 --output quality.json
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
    from mipselect.regression import ModelRelease
    from mipselect.regression.evaluation import measurable_table

    data, output, typed = arguments.table.data, arguments.delivery.output, arguments.threshold
    model = ModelRelease.load(arguments.model)
    with about(str(arguments.model)):
        table = measurable_table(model)
    asked = {"--probability": arguments.probability, "--threshold": typed != str(HALF)}
    for name in (name for name in asked if asked[name] and model.classes is None):
        raise InvalidInput(
            f"{name} needs a model of two classes by the logistic loss; {arguments.model} is one "
            f"of {table.target} by {model.mechanism}"
        )
    read = [arguments.model, Path(data)]
    check_output(output, read, endings=(".csv",), replace=arguments.delivery.replace)
    threshold = _threshold(typed, model)
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
    if classes is not None and typed == str(HALF):
        say(
            f"note: {table.target} is {names[1]} where its probability, the second column (which "
            f"--probability insists on), is above {HALF:g}: of a rare class in few rows. "
            f"--threshold P takes another one, and --threshold {MATCHING} that of a model with "
            f"--quality-share, by which as many are {names[1]} as there are"
        )
    say(f"note: {note}")


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


OF_THE_FIT = (
    "the model was fitted to a table of this name, {}: on the rows of the fit it looks better than "
    "it is; take other rows, or 'mipselect fit --quality-share', which keeps some apart"
)


@options
class EvaluateArguments:
    """Arguments of `evaluate`."""

    model: Path = argument("MODEL.json", "What 'mipselect fit' wrote with --output.")
    table: TableArgument = group(
        TableArgument,
        help={
            "DATA": f"{TABLE}, with the fields of the model and its target; rows that the model "
            "has not seen."
        },
    )
    epsilon: float = required("--epsilon", "ε of all that is printed, > 0.", panel=PRIVACY_PANEL)
    schema: Path | None = option(
        "--schema",
        "Public description of DATA: which fields say whose row it is, and how much it counts.",
        metavar="FILE",
        show_default="one row is one person",
    )
    question: SchemaOptions = group(
        SchemaOptions, without=("--always", "--never", "--range", "--no-intercept")
    )
    charge: ChargeOptions = group(ChargeOptions)
    delivery: Delivery = group(Delivery)


@command
def evaluate(arguments: EvaluateArguments) -> None:
    """Say how good a model is on the rows of DATA, with differential privacy.

    A number gets R² beside predicting the mean, from squares that are clipped.
    Two classes get AUC, accuracy at one half, the predicted share and the true
    one, and calibration. Each has a 90 % interval with the error of the sample
    and the noise in it.

    The ledger is charged before a row is read. DATA should be rows that the model
    was not fitted to: on its own rows it looks better than it is. 'mipselect fit
    --quality-share' keeps such rows apart, at no further ε.
    """
    from mipselect.cli import releasing
    from mipselect.regression.evaluation import evaluate_model, measurable_table
    from mipselect.regression.release import LARGEST, model_in
    from mipselect.tables.public_map import people_in_words
    from mipselect.tables.schema import TableSchema

    delivery, charge, table = arguments.delivery, arguments.charge, arguments.table
    checked_budget(arguments.epsilon, "--epsilon")
    stored = read_json(arguments.model, LARGEST)
    model = model_in(stored, str(arguments.model))
    with about(str(arguments.model)):
        target = measurable_table(model).target
    schema = None if arguments.schema is None else TableSchema.read(arguments.schema)
    source, name = table.source, Path(table.data).name
    unit_rule = arguments.question.unit_rule or "first"
    ledger = charge.opened()
    relation = charge.relation_of(ledger)
    read = [arguments.model, Path(table.data), *filter(None, [charge.ledger, arguments.schema])]
    check_output(delivery.output, read, replace=delivery.replace)
    unit = ROW if schema is None else schema.privacy_unit or ROW
    head = {
        "command": "evaluate",
        "model": str(arguments.model),
        **table.head,
        "target": target,
        **({} if schema is None else {"schema": str(arguments.schema)}),
        **({} if unit == ROW else {"unit_rule": unit_rule}),
        **stated(weight=None if schema is None else schema.weight_name),
        "mipselect": version("mipselect"),
    }
    promised = Guarantee(arguments.epsilon, relation=relation, private=charge.seed is None)
    # A file of `ModelRelease.save` names no table.
    seen = Path(str(stored.get("data"))).name == name
    doubts = [*promised.doubts(None), *[OF_THE_FIT.format(name)] * seen]
    notes = releasing.warnings(head, unit, ledger, doubts)

    def draw(paying: privacy.Ledger | None) -> Quality:
        with about(str(arguments.model)), Spinner(f"reading {table.data}"):
            return evaluate_model(
                model,
                source,
                epsilon=arguments.epsilon,
                schema=schema,
                relation=relation,
                unit_rule=unit_rule,
                ledger=paying,
                random_state=charge.seed,
            )

    def entries(quality: Quality) -> dict[str, Any]:
        guarantee = quality.guarantee
        told = {"guarantee": guarantee.to_dict(), "quality": quality.to_dict()}
        return {"private": guarantee.private, **told}

    def show(console: Console, quality: Quality) -> None:
        if not quality.guarantee.private:
            banner(console, NOT_PRIVATE)
        heading(console, f"{arguments.model.name}: {target}")
        rows = "the rows" if quality.rows is None else f"{quality.rows:,} rows"
        heading(console, f"Quality on {rows} of {name}:")
        for text in (*quality.lines, f"Guarantee: {quality.guarantee.of_unit(unit)}."):
            line(console, text)
        if unit != ROW:
            line(console, f"{people_in_words(unit, unit_rule)}.")

    asked = {**head, "protected_unit": unit, "notes": notes}
    releasing.charge_and_deliver(ledger, asked, draw, entries, show, delivery)
