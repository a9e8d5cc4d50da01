"""`mipselect evaluate`: how good a released model is on a table, as a private release."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect.cli.declared import argument, command, group, option, options, required
from mipselect.cli.ledger_entry import (
    ledger_entry,
    opened,
    print_charged,
    private_report,
    relation_of,
)
from mipselect.cli.options import PRIVACY_PANEL, ChargeOptions, Delivery, check_seed
from mipselect.cli.output import NOT_PRIVATE, banner, check_output, heading, line, show_quality
from mipselect.cli.progress import Spinner
from mipselect.cli.start import say
from mipselect.cli.table_options import TABLE, TableArgument
from mipselect.errors import about
from mipselect.json_objects import read_json
from mipselect.privacy.guarantee import ROW, Guarantee, checked_relation
from mipselect.validation import checked_budget

if TYPE_CHECKING:
    from mipselect.tables.schema import TableSchema

EXAMPLES = """Examples:

mipselect evaluate model.json next_year.parquet --epsilon 0.5 \\
    --ledger study.ledger

mipselect evaluate model.json visits.csv --schema visits.schema.json \\
    --epsilon 0.5 --output quality.json
"""


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
    unit_rule: str = option(
        "--unit-rule",
        "What becomes of several rows of one person, where the schema names csvw-eo:privacyUnit.",
        metavar="first|last|mean",
        default="first",
    )
    charge: ChargeOptions = group(ChargeOptions)
    delivery: Delivery = group(Delivery)

    @property
    def files(self) -> list[Path]:
        """All files that are read, which no output may replace."""
        schema = filter(None, [self.schema])
        return [self.model, Path(self.table.data), *schema, *self.charge.ledger.files]


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
    from mipselect.cli.cautions import warnings
    from mipselect.regression.evaluation import evaluate_model, measurable_table
    from mipselect.regression.release import LARGEST, model_in
    from mipselect.tables.public_map import people_in_words
    from mipselect.tables.schema import TableSchema

    delivery = arguments.delivery
    checked_budget(arguments.epsilon, "--epsilon")
    stored = read_json(arguments.model, LARGEST)
    model = model_in(stored, str(arguments.model))
    with about(str(arguments.model)):
        target = measurable_table(model).target
    schema = None if arguments.schema is None else TableSchema.read(arguments.schema)
    source = arguments.table.source
    check_seed(arguments.charge.seed)
    ledger = opened(arguments.charge.ledger)
    relation = checked_relation(relation_of(ledger, arguments.charge.relation), "--relation")
    check_output(delivery.output, arguments.files, replace=delivery.replace)
    unit = ROW if schema is None else schema.privacy_unit or ROW
    head = _head(arguments, target, schema, unit)
    private = arguments.charge.seed is None
    promised = Guarantee(arguments.epsilon, relation=relation, private=private)
    doubts = _of_the_fit(stored, arguments.table.data)
    notes = warnings(head, promised, unit, ledger, doubts=doubts)
    with ledger_entry(ledger, head) as noting:
        with about(str(arguments.model)), Spinner(f"reading {arguments.table.data}"):
            quality = evaluate_model(
                model,
                source,
                epsilon=arguments.epsilon,
                schema=schema,
                relation=relation,
                unit_rule=arguments.unit_rule,
                ledger=noting,
                random_state=arguments.charge.seed,
            )
        contents = {"quality": quality.to_dict()}
        report = private_report(head, quality.guarantee, unit, contents, notes, ledger)

        def show(console: Console) -> None:
            if not quality.guarantee.private:
                banner(console, NOT_PRIVATE)
            heading(console, f"{arguments.model.name}: {target}")
            show_quality(console, quality, Path(arguments.table.data).name)
            line(console, f"Guarantee: {quality.guarantee.of_unit(unit)}.")
            if unit != ROW:
                line(console, f"{people_in_words(unit, arguments.unit_rule)}.")
            print_charged(console, report["ledger"])

        delivery.deliver(report, show)
    if not quality.beats_chance:
        say(f"warning: {quality.verdict}")


def _head(
    arguments: EvaluateArguments, target: str, schema: TableSchema | None, unit: str
) -> dict[str, Any]:
    """Return the first entries of the report."""
    weight = None if schema is None else schema.weight_name
    return {
        "command": "evaluate",
        "model": str(arguments.model),
        **arguments.table.head,
        "target": target,
        **({} if schema is None else {"schema": str(arguments.schema)}),
        **({} if unit == ROW else {"unit_rule": arguments.unit_rule}),
        **({} if weight is None else {"weight": weight}),
        "mipselect": version("mipselect"),
    }


def _of_the_fit(stored: Mapping[str, Any], data: str) -> list[str]:
    """Say that the model was fitted to a table of this name; a file of `save` names no table."""
    fitted_to = stored.get("data")
    name = Path(data).name
    if not isinstance(fitted_to, str) or Path(fitted_to).name != name:
        return []
    return [
        f"the model was fitted to a table of this name, {name}: on the rows of the fit it looks "
        "better than it is; take other rows, or 'mipselect fit --quality-share', which keeps some "
        "apart"
    ]
