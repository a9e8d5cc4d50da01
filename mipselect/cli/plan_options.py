"""Arguments and help of `mipselect plan`."""

from __future__ import annotations

from pathlib import Path

from mipselect.cli.declared import command_in, group, option, options, required
from mipselect.cli.options import Delivery
from mipselect.cli.table_options import (
    MODEL_PANEL,
    SCHEMA,
    TABLE_PANEL,
    DivisionOptions,
    ModelOptions,
    Regularisation,
    SchemaOptions,
)
from mipselect.problem.scores import SCORES
from mipselect.selectors import BY_NAME

EXAMPLES = """Examples:

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5 --epsilon 0.5,1,2 --effect 0.13 --range los_days=0:30 \\
    --target-mean 6 --quality-share 0.2 --plot plan.svg
"""

GUESSES_PANEL = "Guesses about the rows"
SIMULATION_PANEL = "Simulation"


@options
class GuessOptions:
    """Guesses about the rows; see `Guesses`."""

    PANEL = GUESSES_PANEL

    effect: float = option(
        "--effect",
        "R² of the right columns together. In studies of behaviour 0.02 is small, 0.13 medium and "
        "0.26 large; physical measurements often explain more.",
        default=0.3,
    )
    correlation: float = option("--correlation", "Of any two fields, 0 to <1.", default=0.2)
    missing: float = option(
        "--missing",
        "Share of missing values in fields that are not required.",
        default=0.05,
    )
    spread: float = option(
        "--spread",
        "Standard deviation of numbers, in halves of their range.",
        default=0.25,
    )
    target_mean: float | None = option(
        "--target-mean", "Of the target, in its units.", show_default="middle of its range"
    )
    target_sd: float | None = option(
        "--target-sd", "Standard deviation of the target, in its units.", show_default="by --spread"
    )
    target_rate: float | None = option(
        "--target-rate",
        "Of a target of two classes: the share of the second one, between 0 and 1.",
        show_default="one half",
    )


@options
class SimulationOptions:
    """Simulation behind a plan."""

    PANEL = SIMULATION_PANEL

    tables: int = option(
        "--tables",
        "Simulated tables at most; more take longer and say it more exactly.",
        default=20,
    )
    seed: int = option("--seed", "The same seed, the same plan.", default=0)
    time_limit: float = option(
        "--time-limit",
        "Of the whole plan. What has no time left has fewer tables, or is left out and named.",
        default=16.0,
        metavar="SECONDS",
    )


@options
class PlanArguments:
    """Arguments of `plan`."""

    schema: Path = required("--schema", SCHEMA, metavar="FILE")
    target: str = required("--target", "The field to predict.")
    rows: int = required("--rows", "How many rows the table will have.")
    support_size: int = required("--support-size", "How many fields to pick.")
    epsilon: str = option(
        "--epsilon",
        "ε of a model of fit, or of one draw of select, each > 0.",
        default="0.5,1,2",
        metavar="E,E,...",
    )
    method: str = option(
        "--method",
        f"Of {', '.join(BY_NAME)}.",
        default="permute-and-flip",
        metavar="NAME,NAME,...",
    )
    score: str | None = option(
        "--score",
        "Of permute-and-flip and exponential, and of the fields of a model.",
        metavar="|".join(SCORES),
        show_default="that of select",
    )
    division: DivisionOptions = group(
        DivisionOptions,
        panel=MODEL_PANEL,
        help={
            "--delta": "δ of features and coefficients together, for the regressions that need "
            "one.",
            "--quality-share": "The share of the rows that is kept apart to say how good the model "
            "is; and how wide the interval of that would be.",
        },
        show_default={"--quality-share": "none"},
    )
    model: ModelOptions = group(ModelOptions)
    question: SchemaOptions = group(SchemaOptions, without=("--unit-rule",))
    regularisation: Regularisation = group(
        Regularisation,
        panel=TABLE_PANEL,
        help={"--coef-bound": "Of the loss.", "--ridge": "Of the loss."},
        show_default={"--coef-bound": "that of select", "--ridge": "that of select"},
    )
    guesses: GuessOptions = group(GuessOptions)
    simulation: SimulationOptions = group(SimulationOptions)
    plot: Path | None = option("--plot", "Draw the plan.", metavar="FILE.svg|png|pdf")
    delivery: Delivery = group(Delivery, without=("--output",))


@command_in("mipselect.cli.plan")
def plan(arguments: PlanArguments) -> None:
    """Say what to expect of a table before it is opened, at some ε and a number of rows.

    Tables are made up from the ranges and categories of the schema and from
    stated guesses; nothing of your data is read. As many columns matter as are
    picked.

    One table says what a draw of select would find of the right columns, beside
    what could be found without privacy and a uniform draw; and how good a model
    of fit would be: its R² on fresh rows (AUC for two classes), beside least
    squares without privacy. With --quality-share also how wide the interval
    would be that says how good it is. Where a field has no range, the model is
    left out. One line says whether to state typical ranges or to draw private
    ones. For other numbers of rows call it again.
    """
