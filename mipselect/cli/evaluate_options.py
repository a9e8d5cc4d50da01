"""Arguments and help of `mipselect evaluate`."""

from __future__ import annotations

from pathlib import Path

from mipselect.cli.declared import argument, command_in, group, option, options, required
from mipselect.cli.options import PRIVACY_PANEL, ChargeOptions, Delivery
from mipselect.cli.table_options import TABLE, TableArgument

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


@command_in("mipselect.cli.evaluate")
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
