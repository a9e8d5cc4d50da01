"""`mipselect fit`: private features and coefficients of a table, as one release."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from mipselect.cli.arguments import asked_score
from mipselect.cli.declared import command, given, group, option, options, refuse, required
from mipselect.cli.fit_options import FitOptions, model_of_numbers
from mipselect.cli.fit_table import FitTable
from mipselect.cli.fitting import FitPlan
from mipselect.cli.ledger_entry import relation_of
from mipselect.cli.method_options import METHODS_IN_WORDS, DrawOptions
from mipselect.cli.options import PRIVACY_PANEL, Delivery, stated
from mipselect.cli.output import check_output
from mipselect.cli.regressions import DivisionOptions, ModelOptions
from mipselect.cli.release_file import ReleasedFeatures
from mipselect.cli.releasing import default_method
from mipselect.cli.streams import say
from mipselect.cli.table_options import (
    BOUNDS_PANEL,
    HAS_SCHEMA,
    NEEDS_SCHEMA,
    NumbersOptions,
    Regularisation,
    SchemaOptions,
    ScoreOptions,
    TableOptions,
    note_of_the_target,
    of_two_classes,
)
from mipselect.cli.task import Task, deliver_task
from mipselect.errors import InvalidInput
from mipselect.problem.scores import LOSS
from mipselect.regression.ranges import ADVICE, PRIVATE, WAYS
from mipselect.selectors import BY_NAME
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.schema import TableSchema
from mipselect.validation import checked_choice

NO_RANGES = "ranges that nobody stated are drawn with a part of epsilon, and released"

FOR_DELTA = (
    "--delta is spent on --regression adassp, which has intervals; without it --regression "
    "objective has none and mostly predicts better"
)

EXAMPLES = """Examples:

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --output model.json

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --delta 1e-6 \\
    --regression boosted-adassp --always age,sex --ledger study.ledger

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --quality-share 0.1

mipselect fit patients.csv --target score --support-size 3 --epsilon 2 \\
    --x-bound 1 --y-bound 2 --dry-run

mipselect fit patients.csv --target score --support-size 3 --epsilon 2

mipselect fit patients.csv --target score --features-of fields.json \\
    --epsilon 2

mipselect predict model.json new_patients.parquet --output predictions.csv
"""


@options
class BudgetOptions:
    """Budget of features and coefficients together, and its division."""

    PANEL = PRIVACY_PANEL

    epsilon: float = required("--epsilon", "ε of features and coefficients together.")
    division: DivisionOptions = group(DivisionOptions)
    ranges: str | None = option(
        "--ranges",
        "private: draw the ranges of drawn fields and of the target that nobody stated, and "
        "release them with the model. They cost a fifth of ε, and do well where rows times ε is "
        "5,000 or more; stated ranges do better, even twenty times too wide.",
        metavar="public|private",
        show_default="public; private without --schema, --x-bound and --y-bound",
    )
    relation: str | None = option(
        "--relation",
        "What ε is stated under; under add-remove the number of rows is private too.",
        metavar="replace-one|add-remove",
        show_default="that of the ledger, or replace-one",
    )


@options
class FitNumbersOptions(NumbersOptions):
    """Public side of a table of numbers, of whose target both ends are bounds."""

    target_shift: float = option(
        "--target-shift",
        "Without --schema: a public constant that --y-bound is meant around.",
        default=0.0,
        panel=BOUNDS_PANEL,
    )


@options
class FitArguments:
    """Arguments of `fit`."""

    table: TableOptions = group(TableOptions)
    support_size: int | None = option(
        "--support-size",
        "How many features to pick.",
        show_default="none; or give --sizes or --features-of",
    )
    features_of: Path | None = option(
        "--features-of",
        "Take the features of a release, which 'select' or 'fit' wrote with --output: nothing is "
        "drawn of them, and all of ε is for the coefficients.",
        metavar="RELEASE.json",
        show_default="features are drawn",
    )
    budget: BudgetOptions = group(BudgetOptions)
    model: ModelOptions = group(ModelOptions)
    numbers: FitNumbersOptions = group(
        FitNumbersOptions,
        help={
            "--x-bound": "Without --schema: features are clipped to ± this; their units.",
            "--y-bound": "Without --schema: the target is clipped to ± this; its units.",
            "--features": "Without --schema: columns to choose from.",
        },
    )
    regularisation: Regularisation = group(
        Regularisation,
        help={
            "--coef-bound": "Of the selection: largest length of the coefficients, of features and "
            "a target in [-1, 1].",
            "--ridge": "Of the selection: λ, in rows.",
        },
    )
    question: SchemaOptions = group(SchemaOptions)
    scores: ScoreOptions = group(
        ScoreOptions,
        help={
            "--loss": 'Of the selection: squared, hinge for two classes, "huber(1.35)", '
            '"quantile(0.9)".'
        },
        show_default={
            "--score": "block-r2 where supports can be listed, else blocks; loss with "
            "--coef-bound, --ridge, --loss, or under add-remove"
        },
    )
    drawing: DrawOptions = group(
        DrawOptions,
        without=("--draws", "--budget", "--relation", "--delta"),
        help={"--method": METHODS_IN_WORDS},
    )
    all_terms: bool = option(
        "--all-terms",
        "Print the terms for values in no list too, and for missing ones of fields whose schema "
        "does not say that they may be missing, and numbers in place of 'open'.",
        default=False,
    )
    delivery: Delivery = group(Delivery)


@command
def fit(arguments: FitArguments) -> None:
    """Release a linear model of a table: which features, and their coefficients.

    Features are drawn with one part of ε, from blocks of rows as by 'mipselect
    select', the coefficients of what was drawn with the rest, and a ledger is
    charged once for both. The file of --output has all
    that 'mipselect predict' needs, and nothing else of the data.

    With --schema, a public description of the table (see 'mipselect describe'),
    target, size and ε are enough. Without it the table holds numbers only, and
    --x-bound and --y-bound say between which ends they lie; without them too, or
    with --ranges private, the ranges of what was drawn are drawn as well.
    """
    table, drawing, delivery = arguments.table, arguments.drawing, arguments.delivery
    schema = None if table.schema is None else TableSchema.read(table.schema)
    options = _options(arguments, schema)
    options.selection()
    size, released = arguments.support_size, None
    chosen = (size, drawing.of_the_method.sizes, arguments.features_of)
    if sum(each is not None for each in chosen) != 1:
        raise InvalidInput("--support-size, --sizes or --features-of must be given: one of them")
    source = _source(arguments, schema, private=options.private_ranges)
    read = [*table.files, *drawing.ledger.files]
    if arguments.features_of is not None:
        released = ReleasedFeatures.read(arguments.features_of, table.target)
        source, read = source.about(released), [*read, arguments.features_of]
        size = len(source.question.without_ranges.features)
    check_output(delivery.output, read, replace=delivery.replace)
    drawn = source.plan(options, size)
    if drawn.ranges is not None:
        say(f"note: {NO_RANGES}. {ADVICE}.")
    if options.model.way is not arguments.model.way:
        say(f"note: {FOR_DELTA}.")
    note_of_the_target(source.question.schema, table.target)
    plan = FitPlan(options, drawn, source, arguments.all_terms, released)
    task = Task(
        title=table.title,
        head={"command": "fit", **table.head},
        source=plan,
        plan=plan,
        asked=given(arguments.question),
    )
    deliver_task(task, delivery, dry_run=drawing.dry_run)


def _options(arguments: FitArguments, schema: TableSchema | None) -> FitOptions:
    """Open the ledger and check what does not depend on the table."""
    budget, drawing = arguments.budget, arguments.drawing
    ledger = drawing.ledger.opened()
    method = drawing.method or default_method(ledger)
    relation = relation_of(ledger, budget.relation)
    scales = stated(**asdict(arguments.regularisation))
    private = _ranges_are_private(arguments)
    of_rows = not private and (bool(scales) or relation != "replace-one")
    in_blocks = _in_blocks(arguments.scores, method, of_rows=of_rows)
    if private and not in_blocks:
        raise InvalidInput(
            "ranges that nobody stated can be drawn only where features are drawn from blocks: "
            "leave out --score loss, --loss and other methods, or state the ranges, by --schema or "
            "by --x-bound and --y-bound"
        )
    model = arguments.model
    if schema is None or not of_two_classes(schema, arguments.table.target):
        model = model_of_numbers(model, budget.division.delta, method, drawing.of_the_method)
    return FitOptions(
        method=method,
        of_the_method=drawing.of_the_method,
        model=model,
        epsilon=budget.epsilon,
        division=budget.division,
        private_ranges=private,
        in_blocks=in_blocks,
        scores=arguments.scores,
        scales=scales,
        relation=relation,
        seed=drawing.seed,
        ledger=ledger,
    )


def _ranges_are_private(arguments: FitArguments) -> bool:
    """Tell whether ranges are drawn: where it is asked, or none is given and there is no schema."""
    asked, numbers = arguments.budget.ranges, arguments.numbers
    if asked is not None:
        return checked_choice(asked, "--ranges", WAYS) == PRIVATE
    stated = (arguments.table.schema, numbers.x_bound, numbers.y_bound)
    return all(bound is None for bound in stated)


def _in_blocks(scores: ScoreOptions, method: str, *, of_rows: bool) -> bool:
    """Tell whether features are drawn from blocks; refuse scores that the method has not."""
    if not issubclass(BY_NAME[method], ProblemSelector):
        refuse(replace(scores, loss=None), f"does not apply to --method {method}")
        return False
    return asked_score(scores, stated=of_rows) != LOSS


def _source(arguments: FitArguments, schema: TableSchema | None, *, private: bool) -> FitTable:
    """Read a table of numbers, but for a dry run its header alone; of a schema nothing else."""
    if schema is not None:
        refuse(arguments.numbers, HAS_SCHEMA)
        return FitTable.of_schema(arguments.table, schema, arguments.question)
    refuse(arguments.question, NEEDS_SCHEMA)
    read = not arguments.drawing.dry_run
    return FitTable.of_numbers(arguments.table, arguments.numbers, read=read, private=private)
