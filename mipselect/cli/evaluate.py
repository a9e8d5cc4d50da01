"""`mipselect evaluate`: how good a released model is on a table, as a private release."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mipselect.cli.charging import Result, charge_and_deliver, warnings
from mipselect.cli.declared import argument, command, group, option, options, required
from mipselect.cli.options import PRIVACY_PANEL, ChargeOptions, stated
from mipselect.cli.output import NOT_PRIVATE, Delivery, banner, check_output, heading, line
from mipselect.cli.progress import Spinner
from mipselect.cli.table_options import TABLE, SchemaOptions, TableArgument
from mipselect.disk import read_json
from mipselect.errors import about
from mipselect.privacy.guarantee import ROW, Guarantee
from mipselect.validation import checked_budget

if TYPE_CHECKING:
    from mipselect.privacy import Ledger

EXAMPLES = """Examples:

mipselect evaluate model.json next_year.parquet --epsilon 0.5 \\
    --ledger study.ledger

mipselect evaluate model.json visits.csv --schema visits.schema.json \\
    --epsilon 0.5 --output quality.json
"""


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
    notes = warnings(head, unit, ledger, doubts)

    def draw(paying: Ledger | None) -> Result:
        with about(str(arguments.model)), Spinner(f"reading {table.data}"):
            quality = evaluate_model(
                model,
                source,
                epsilon=arguments.epsilon,
                schema=schema,
                relation=relation,
                unit_rule=unit_rule,
                ledger=paying,
                random_state=charge.seed,
            )
        guarantee = quality.guarantee

        def show(console: Console) -> None:
            if not guarantee.private:
                banner(console, NOT_PRIVATE)
            heading(console, f"{arguments.model.name}: {target}")
            rows = "the rows" if quality.rows is None else f"{quality.rows:,} rows"
            heading(console, f"Quality on {rows} of {name}:")
            for text in (*quality.lines, f"Guarantee: {guarantee.of_unit(unit)}."):
                line(console, text)
            if unit != ROW:
                line(console, f"{people_in_words(unit, unit_rule)}.")

        report = {
            "private": guarantee.private,
            "guarantee": guarantee.to_dict(),
            "quality": quality.to_dict(),
        }
        verdict = "" if quality.beats_chance else quality.verdict
        return Result(report=report, show=show, warning=verdict)

    asked = {**head, "protected_unit": unit, "notes": notes}
    charge_and_deliver(ledger, asked, draw, delivery)
