"""Options of `plan`: the question, guesses about the rows, and the simulation."""

from __future__ import annotations

from pathlib import Path

from mipselect.cli.declared import group, option, options, required
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
from mipselect.planning.chances import METHODS, USUAL
from mipselect.planning.guesses import Guesses
from mipselect.problem.scores import SCORES

GUESSES_PANEL = "Guesses about the rows"
EXPERIMENT_PANEL = "Simulation"


@options
class GuessOptions:
    """Guesses about the rows; see `Guesses`."""

    PANEL = GUESSES_PANEL

    effect: float = option(
        "--effect",
        "R² of the right columns together. In studies of behaviour 0.02 is small, 0.13 medium and "
        "0.26 large; physical measurements often explain more.",
        default=Guesses.effect,
    )
    correlation: float = option(
        "--correlation", "Of any two fields, 0 to <1.", default=Guesses.correlation
    )
    repeated: float = option(
        "--repeated",
        "R² of four fields that repeat each other, in tables of their own; 0: none.",
        default=Guesses.repeated,
    )
    missing: float = option(
        "--missing",
        "Share of missing values in fields that are not required.",
        default=Guesses.missing,
    )
    spread: float = option(
        "--spread",
        "Standard deviation of numbers, in halves of their range.",
        default=Guesses.spread,
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

    PANEL = EXPERIMENT_PANEL

    goal: float = option(
        "--goal", "Share of the right columns that a number of rows is sought for.", default=0.8
    )
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
    method: str | None = option(
        "--method",
        f"Of {', '.join(METHODS)}.",
        metavar="NAME,NAME,...",
        show_default=",".join(USUAL),
    )
    score: str | None = option(
        "--score",
        "Of the first line, which is compared with the loss.",
        metavar="|".join(SCORES),
        show_default="that of select",
    )
    division: DivisionOptions = group(
        DivisionOptions,
        panel=MODEL_PANEL,
        help={
            "--delta": "δ of features and coefficients together, for the regressions that need "
            "one.",
            "--quality-share": "The share of the rows that is kept apart to say how good a model "
            "is; and how wide the interval of that would be.",
        },
        show_default={"--quality-share": "none"},
    )
    model: ModelOptions = group(ModelOptions)
    question: SchemaOptions = group(SchemaOptions, without=("--unit-rule",))
    regularisation: Regularisation = group(
        Regularisation,
        panel=TABLE_PANEL,
        help={
            "--coef-bound": "Of the loss; half and twice of it are tried too.",
            "--ridge": "Of the loss; 10 and 100 times it are tried too.",
        },
        show_default={"--coef-bound": "that of select", "--ridge": "that of select"},
    )
    guesses: GuessOptions = group(GuessOptions)
    simulation: SimulationOptions = group(SimulationOptions)
    plot: Path | None = option("--plot", "Draw the plan.", metavar="FILE.svg|png|pdf")
    delivery: Delivery = group(Delivery, without=("--output",))
