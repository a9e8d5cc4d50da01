"""`mipselect fit`: private features and coefficients of a table, as one release.

What was typed becomes a `FitPlan`, which reads no row; its draw is a `FittedModel`.
"""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mipselect.cli.declared import command, given, group, option, options, refuse, required
from mipselect.cli.ledger_entry import check_ledger, opened, relation_of
from mipselect.cli.options import (
    METHODS_IN_WORDS,
    PRIVACY_PANEL,
    DrawOptions,
    MethodOptions,
    check_seed,
    option_named,
    stated,
)
from mipselect.cli.output import Delivery, check_output
from mipselect.cli.start import say
from mipselect.cli.table_options import (
    HAS_SCHEMA,
    LOSS_OF_CLASSES,
    LOSS_OF_NUMBERS,
    NEEDS_SCHEMA,
    DivisionOptions,
    ModelOptions,
    NumbersOptions,
    Regression,
    Regularisation,
    SchemaOptions,
    ScoreOptions,
    TableOptions,
)
from mipselect.errors import InvalidInput, about
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.guarantee import RELATIONS
from mipselect.selectors import BY_NAME
from mipselect.validation import (
    checked_choice,
    checked_delta,
    checked_integer,
    checked_positive,
    checked_scale,
    listed,
)

if TYPE_CHECKING:
    from mipselect.cli.fit_plan import FitPlan
    from mipselect.regression import SelectThenRegress
    from mipselect.regression.base import PrivateLinearModel
    from mipselect.reports.released import ReportedRelease
    from mipselect.tables.public_map import TableQuestion
    from mipselect.tables.schema import TableSchema

EXAMPLES = """Examples:

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --output model.json

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --delta 1e-6 \\
    --regression boosted-adassp --always age,sex --ledger study.ledger

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --quality-share 0.1

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
    numbers: NumbersOptions = group(
        NumbersOptions,
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
        without=("--draws", "--relation", "--delta"),
        help={"--method": METHODS_IN_WORDS},
    )
    delivery: Delivery = group(Delivery)


NO_RANGES = "ranges that nobody stated are drawn with a part of epsilon, and released"

FOR_DELTA = (
    "--delta is spent on --regression adassp, which has intervals; without it --regression "
    "objective has none and mostly predicts better"
)

METHOD = "permute-and-flip"
PLAIN = MethodOptions()
"""The method of a selection, and its options, unless others are asked for."""

RESIDUAL_BOUND = 0.25
ROUNDS = 8
"""Rounds of boosted AdaSSP, for a target in [-1, 1]; by experiment too."""


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
    from mipselect.cli.cautions import note_of_the_target
    from mipselect.cli.inputs import ProblemSource
    from mipselect.regression.ranges import ADVICE

    table, plan = arguments.table, plan_of(arguments)
    if plan.drawn.ranges is not None:
        say(f"note: {NO_RANGES}. {ADVICE}.")
    if plan.regression != arguments.model.way.value:
        say(f"note: {FOR_DELTA}.")
    note_of_the_target(plan.drawn.question.schema, table.target)
    source = ProblemSource(plan.problem, plan.data)
    plan.deliver(source, arguments.delivery, dry_run=arguments.drawing.dry_run)


def plan_of(arguments: FitArguments) -> FitPlan:
    """Check all that can be checked before a row is drawn from, and divide ε and δ.

    Raises
    ------
    InvalidInput
        Naming the option.
    BudgetExceeded, RelationMismatch
        From the ledger.
    """
    from mipselect.cli.arguments import (
        check_sizes,
        chosen_loss,
        default_method,
        refuse_bounds,
    )
    from mipselect.cli.fit_plan import FitPlan
    from mipselect.regression.plan import scores_blocks
    from mipselect.regression.ranges import PRIVATE, PUBLIC, WAYS
    from mipselect.selectors.exact_draws import asked_sizes
    from mipselect.selectors.problem import ProblemSelector
    from mipselect.tables.schema import TableSchema

    table, drawing, numbers = arguments.table, arguments.drawing, arguments.numbers
    budget, scores = arguments.budget, arguments.scores
    schema = None if table.schema is None else TableSchema.read(table.schema)
    ledger = opened(drawing.ledger)
    check_seed(drawing.seed)
    chosen = (arguments.support_size, drawing.of_the_method.sizes, arguments.features_of)
    if sum(each is not None for each in chosen) != 1:
        raise InvalidInput("--support-size, --sizes or --features-of must be given: one of them")
    # Ranges are drawn where it is asked, or none is given and there is no schema.
    private = all(bound is None for bound in (schema, numbers.x_bound, numbers.y_bound))
    if budget.ranges is not None:
        private = checked_choice(budget.ranges, "--ranges", WAYS) == PRIVATE
    name, relation = drawing.method or default_method(ledger), relation_of(ledger, budget.relation)
    two = schema is not None and len(schema.field(table.target, "target").category_names) == 2
    fitter, regression = fitter_of(
        arguments.model,
        budget.division,
        of_classes=two,
        fit_intercept=not arguments.question.no_intercept,
        method=name,
        of_the_method=drawing.of_the_method,
        epsilon=budget.epsilon,
        relation=relation,
        ranges=PRIVATE if private else PUBLIC,
    )
    selector, scales = fitter.selector, stated(**asdict(arguments.regularisation))
    of_loss = {**scales, **stated(loss=scores.loss)}
    if isinstance(selector, ProblemSelector):
        of_blocks = stated(block_rows=scores.block_rows, partitions=scores.partitions)
        selector.set_params(score=scores.score, **of_blocks, **of_loss).check(option_named)
    else:
        refuse(replace(scores, loss=None), f"does not apply to --method {name}")
    if private and not scores_blocks(selector):
        raise InvalidInput(
            "ranges that nobody stated can be drawn only where features are drawn from blocks: "
            "leave out --score loss, --loss and other methods, or state the ranges, by --schema or "
            "by --x-bound and --y-bound"
        )
    source, question = _table(arguments, schema, private=private)
    size, released = arguments.support_size, None
    read = [*table.files, *drawing.ledger.files]
    if arguments.features_of is not None:
        from mipselect.cli.release_file import released_features

        released = released_features(arguments.features_of, table.target)
        question, read = _about(question, released, table.data), [*read, arguments.features_of]
        size = len(question.without_ranges.features)
    check_output(arguments.delivery.output, read, replace=arguments.delivery.replace)
    p = len(question.without_ranges.features)
    if size is not None:
        checked_integer(size, f"{table.data}: --support-size", 1, p)
    check_sizes(selector, p, table.data)
    selector.set_params(n_features_to_select=size or max(asked_sizes(selector) or (1,)))
    drawn = fitter.plan_of_table(question, random.SystemRandom())
    if (blocks := drawn.blocks) is not None:
        blocks = replace(blocks, partition_seed=drawing.seed, order_seed=drawing.seed)
    plan = FitPlan(
        title=table.title,
        head={"command": "fit", **table.head},
        name=name,
        regression=regression,
        fitter=fitter,
        drawn=replace(drawn, blocks=blocks, of_loss=of_loss),
        delta=budget.division.delta or 0.0,
        path=table.data,
        source=source,
        seed=drawing.seed,
        ledger=ledger,
        released=released,
    )
    with about("--epsilon and --delta"):
        promise = drawn.promise
    check_ledger(ledger, promise)
    refuse_bounds(scales, plan.method, plan.method_name)
    chosen_loss(scores.loss, plan.method, plan.method_name)
    return plan


def fitter_of(
    model: ModelOptions,
    division: DivisionOptions,
    *,
    of_classes: bool,
    fit_intercept: bool,
    method: str = METHOD,
    of_the_method: MethodOptions = PLAIN,
    epsilon: float = 1.0,
    relation: str = "replace-one",
    ranges: str = "public",
) -> tuple[SelectThenRegress, str]:
    """Make what draws features and coefficients, which divides ε; δ is divided here.

    Returned is the regression too. For a δ that a number needs for nothing else it is AdaSSP, which
    has intervals, unless another model is asked for.

    Parameters
    ----------
    model : ModelOptions
    division : DivisionOptions
        δ of both together, and shares of ε and of the rows.
    of_classes : bool
        Whether the target has two classes.
    fit_intercept : bool
    method : str
    of_the_method : MethodOptions
        Without δ and relation, which both parts share.
    epsilon : float
        ε of all together.
    relation, ranges : str

    Raises
    ------
    InvalidInput
        Naming the option.
    """
    from mipselect.cli.arguments import flags_of, method_asked_for
    from mipselect.regression import SelectThenRegress
    from mipselect.regression.ranges import PRIVATE
    from mipselect.regression.shares import SHARE_OF_PRIVATE_RANGES, share_of_selection

    flags, delta = flags_of(BY_NAME[method]), division.delta
    untested = "--test-epsilon" in flags and "--test-epsilon" not in given(of_the_method)
    selection_in_need = "--delta" in flags and not untested
    if delta is not None and not (of_classes or given(model) or selection_in_need):
        model = replace(model, regression=Regression.ADASSP)
    way = model.way.value
    checked_positive(epsilon, "--epsilon")
    checked_choice(relation, "--relation", RELATIONS)
    if division.range_share is not None and model.way is Regression.TUKEY:
        raise InvalidInput(
            f"--range-share does not apply to --regression {way}: it takes ranges as they are"
        )
    share = share_of_selection(division.selection_share, in_blocks=True)
    if ranges == PRIVATE and share + SHARE_OF_PRIVATE_RANGES >= 1.0:
        raise InvalidInput(
            f"--selection-share must be below {1.0 - SHARE_OF_PRIVATE_RANGES:g}, for private "
            f"ranges cost {SHARE_OF_PRIVATE_RANGES:g} of epsilon; got {share:g}"
        )
    if ranges == PRIVATE and relation != "replace-one":
        raise InvalidInput(
            f"--relation {relation}: private ranges go with features from blocks of rows, under "
            "replace-one"
        )
    in_need = selection_in_need + model.needs_delta
    if delta is None and in_need:
        who = f"--regression {way}" if model.needs_delta else f"--method {method}"
        raise InvalidInput(f"--delta must be given for {who}")
    if delta is not None:
        with about("--delta"):
            checked_delta(delta)
        if not in_need:
            raise InvalidInput(
                f"--delta does not apply to --method {method} with --regression {way}: both are "
                "pure; --regression adassp takes it, and has intervals, of two classes as "
                "differences of shares"
            )
        delta = round_down(exact(delta) / in_need)
    of_draw: dict[str, Any] = {"delta": delta} if selection_in_need else {}
    if "--relation" in flags:
        of_draw["relation"] = relation
    selector = method_asked_for(method, epsilon, replace(of_the_method, **of_draw))
    if relation not in selector.guarantees:
        raise InvalidInput(
            f"--relation {relation}: --method {method} is private under "
            f"{', '.join(selector.guarantees)} only"
        )
    regressor = _estimator(
        model,
        of_classes=of_classes,
        delta=delta,
        relation=relation,
        fit_intercept=fit_intercept,
    )
    fitter = SelectThenRegress(
        selector,
        regressor,
        epsilon=epsilon,
        selection_share=division.selection_share,
        range_share=division.range_share,
        quality_share=division.quality_share,
        ranges=ranges,
    )
    return fitter.check(option_named), way


def _estimator(
    options: ModelOptions, *, of_classes: bool, delta: float | None, **shared: Any
) -> PrivateLinearModel:
    """Make the estimator of the coefficients, whose ε is still to be set.

    Raises
    ------
    InvalidInput
        For a loss that is none, or not of such a target.
    """
    from mipselect import regression
    from mipselect.regression.smooth_losses import regression_loss

    if options.needs_delta:
        shared["delta"] = delta
    match options.way:
        case Regression.ADASSP:
            return regression.AdaSSPRegressor(**shared)
        case Regression.BOOSTED:
            shared |= {"residual_bound": RESIDUAL_BOUND, "rounds": ROUNDS}
            return regression.BoostedAdaSSPRegressor(**shared)
        case Regression.TUKEY:
            return regression.TukeyRegressor(**shared)
    loss = options.loss or (LOSS_OF_CLASSES if of_classes else LOSS_OF_NUMBERS)
    with about("--model-loss"):
        if loss != LOSS_OF_CLASSES:
            regression_loss(loss)
            return regression.ObjectivePerturbationRegressor(loss=loss, **shared)
        if not of_classes:
            raise InvalidInput(f"{loss} is for a target of two classes; this one is a number")
        return regression.ObjectivePerturbationClassifier(**shared)


def _table(
    arguments: FitArguments, schema: TableSchema | None, *, private: bool
) -> tuple[Any, TableQuestion]:
    """Return what rows are read from and what is asked of them.

    Of a table with a schema nothing is read. One of numbers is read whole, but for a dry run its
    header alone.

    Raises
    ------
    InvalidInput
        For what is wrong with a bound, and then with the file.
    """
    import pyarrow as pa

    from mipselect.tables.numbers import header, read_table
    from mipselect.tables.public_map import TableQuestion
    from mipselect.tables.schema import TableSchema

    table, numbers = arguments.table, arguments.numbers
    if schema is not None:
        refuse(numbers, HAS_SCHEMA)
        return table.source, arguments.question.question_about(schema, table.target)
    refuse(arguments.question, NEEDS_SCHEMA)
    bounds = {"--x-bound": numbers.x_bound, "--y-bound": numbers.y_bound}
    for name, bound in bounds.items():
        if bound is not None:
            checked_scale(bound, name)
    if not private and None in bounds.values():
        raise InvalidInput(
            "--schema (begin one with 'mipselect describe') or, for a table of numbers, "
            "--x-bound and --y-bound must be given: the bounds are public assumptions, chosen "
            "without looking at the data; or none of them, or --ranges private, and ranges are "
            "drawn with a part of epsilon"
        )
    source: Any = None
    if arguments.drawing.dry_run:
        names = header(table.source, table.target, numbers.chosen)
    else:
        X, y, names = read_table(table.source, table.target, numbers.chosen)
        source = pa.table({**{name: X[:, j] for j, name in enumerate(names)}, table.target: y})
    with about(table.data):
        of_features, of_target = (None if b is None else (-b, b) for b in bounds.values())
        ranges = {**dict.fromkeys(names, of_features), table.target: of_target}
        return source, TableQuestion(TableSchema.of_numbers(ranges), table.target)


def _about(question: TableQuestion, released: ReportedRelease, data: str) -> TableQuestion:
    """Return the question about the features of a release and no other.

    Raises
    ------
    InvalidInput
        For a feature that the table has not, or that --never leaves out.
    """
    known = {encoder.field.name for encoder in question.without_ranges.features}
    names = (*released.drawn[0].feature_names, *released.always)
    for name in names:
        if name not in known.union(question.always):
            raise InvalidInput(
                f"{released.name}: its feature {name!r} is none of {data} here; features: "
                f"{listed(sorted(known))}"
            )
    return question.about({*names, *question.always, question.target})
