"""`mipselect plan`: what to expect of a table before it is opened."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from mipselect.cli import output
from mipselect.cli.declared import command, group, option, options, required
from mipselect.cli.output import Delivery, check_output, line, picked
from mipselect.cli.progress import Spinner
from mipselect.cli.start import say
from mipselect.cli.table_options import SCHEMA, SchemaOptions
from mipselect.documents.pictures import SUFFIXES, require_matplotlib
from mipselect.errors import InvalidInput
from mipselect.validation import checked_share, checked_time_limit, plain_digits

EXAMPLES = """Examples:

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5 --epsilon 0.5,1,2 --effect 0.13 --range los_days=0:30 \\
    --quality-share 0.2 --plot plan.svg
"""
GUESSES_PANEL = "Guesses about the rows"
SIMULATION_PANEL = "Simulation"


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
    quality_share: float | None = option(
        "--quality-share",
        "The share of the rows that is kept apart to say how good the model is; and how wide the "
        "interval of that would be.",
        metavar="A",
        show_default="none",
    )
    question: SchemaOptions = group(SchemaOptions, without=("--no-intercept", "--unit-rule"))
    effect: float = option(
        "--effect",
        "R² of the right columns together. In studies of behaviour 0.02 is small, 0.13 medium and "
        "0.26 large; physical measurements often explain more.",
        default=0.3,
        panel=GUESSES_PANEL,
    )
    target_rate: float | None = option(
        "--target-rate",
        "Of a target of two classes: the share of the second one, between 0 and 1.",
        show_default="one half",
        panel=GUESSES_PANEL,
    )
    tables: int = option(
        "--tables",
        "Simulated tables at most; more take longer and say it more exactly.",
        default=20,
        panel=SIMULATION_PANEL,
    )
    seed: int = option("--seed", "The same seed, the same plan.", default=0, panel=SIMULATION_PANEL)
    time_limit: float = option(
        "--time-limit",
        "Of the whole plan. What has no time left has fewer tables, or is left out and named.",
        default=16.0,
        metavar="SECONDS",
        panel=SIMULATION_PANEL,
    )
    plot: Path | None = option("--plot", "Draw the plan.", metavar="FILE.svg|png|pdf")
    delivery: Delivery = group(Delivery, without=("--output",))


@command
def plan(arguments: PlanArguments) -> None:
    """Say what to expect of a table before it is opened, at some ε and a number of rows.

    Tables are made up from the ranges and categories of the schema and from
    stated guesses; nothing of your data is read. As many columns matter as are
    picked.

    One table says which share of the right columns a draw of select would find
    (in brackets how often all of them), beside what could be found without
    privacy and a uniform draw; and how good a model of fit would be by its
    defaults: its R² on fresh rows (AUC for two classes; in brackets what one
    model in ten is below, and one above), beside least squares without privacy.
    With --quality-share also half of the width of the interval that would say how
    good it is (in brackets how many lie above chance). Where a field has no
    range, the model is left out. One line says whether to state typical ranges or
    to draw private ones. For other numbers of rows call it again.
    """
    from mipselect.planning import Question, plan_study
    from mipselect.tables import TableSchema

    path, plot, share = arguments.schema, arguments.plot, arguments.quality_share
    if plot is not None:
        check_output(plot, [path], "--plot", endings=SUFFIXES, replace=arguments.delivery.replace)
        require_matplotlib()
    question = Question(
        schema=TableSchema.read(path),
        epsilons=_numbers("--epsilon", arguments.epsilon),
        **picked(arguments, "target", "rows", "support_size", "effect", "target_rate", "seed"),
        **arguments.question.keywords,
    )
    limit = checked_time_limit(arguments.time_limit, "--time-limit")
    if share is not None:
        checked_share(share, "--quality-share", closed=False)
    say(f"this takes about {limit:g} s, or as long as one simulated table takes")
    with Spinner("planning"):
        made = plan_study(question, quality_share=share, tables=arguments.tables, time_limit=limit)
    if plot is not None:
        output.write_whole(plot, made.plot(plot.suffix), sensitive=False)

    def show(console: Console) -> None:
        """Print the table, and what its numbers are."""
        output.heading(console, f"{path}: {made.title}")
        epsilons = [f"ε = {epsilon:g}" for epsilon in question.epsilons]
        output.print_table(console, ("", *epsilons), made.rows, left=("",))
        for text in (*made.notes, *([] if plot is None else [f"Drawn in {plot}."])):
            line(console, text)

    report = {
        "command": "plan",
        "sensitive": False,
        "private": False,
        "randomness": "seeded",
        "simulated": True,
        "schema": str(path),
        **made.to_dict(),
        "tables": arguments.tables,
        "plot": None if plot is None else str(plot),
    }
    arguments.delivery.deliver(report, show)


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(plain_digits(item)) for item in text.split(",")]
    except ValueError:
        raise InvalidInput(f"{option} must be numbers between commas, got {text!r}") from None
