"""`mipselect select`: private supports straight from a table."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer

from mipselect.cli.arguments import MethodOptions, option_named
from mipselect.cli.dry_run import deliver_plan
from mipselect.cli.ledger_entry import ledger_files, opened
from mipselect.cli.method_options import (
    Alpha,
    Blocks,
    Budget,
    Complexity,
    Delta,
    Draws,
    DryRun,
    Epsilon,
    LedgerFile,
    LedgerKeyFile,
    LedgerPart,
    MCMCRadius,
    MCMCSteps,
    MethodName,
    Relation,
    Seed,
    Sizes,
    TestEpsilon,
    TopK,
)
from mipselect.cli.options import (
    AUTO,
    AsJson,
    MethodKind,
    Output,
    PoolSize,
    SolverName,
    TimeLimit,
    Tolerance,
    about,
    require_positive,
)
from mipselect.cli.output import check_output
from mipselect.cli.release import release_from
from mipselect.cli.releasing import Plan, plan_draws
from mipselect.cli.table_options import (
    Always,
    Never,
    NoIntercept,
    Ranges,
    SchemaFile,
    UnitRule,
    asked,
    note_of_the_target,
    refuse_with_schema,
    refuse_without_schema,
    split_names,
)
from mipselect.data.files import schema_problem, table_problem
from mipselect.data.outline import schema_outline, table_outline
from mipselect.errors import InvalidInput
from mipselect.losses import checked_loss
from mipselect.methods import ExponentialMethod, PrivateMethod, SupportMethod
from mipselect.tables.schema import TableSchema
from mipselect.validation import checked_integer

EXAMPLES = """Examples:

mipselect select patients.csv --target score --support-size 3 --epsilon 1 \\
    --x-bound 1 --y-bound 2 --coef-bound 1.5 --ridge 10

mipselect select patients.csv --target score --sizes 1-8 --epsilon 1 \\
    --x-bound 1 --y-bound 2 --coef-bound 1.5 --ridge 10

mipselect select patients.csv --target score --support-size 3 --epsilon 1 \\
    --method sis --x-bound 1 --y-bound 2

mipselect select patients.csv --target score --support-size 3 --epsilon 1 \\
    --method kendall --dry-run

mipselect select patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 3 --epsilon 1 --always age,sex
"""

BOUNDS_PANEL = (
    "Public bounds (those of the method; choose them without looking at the data; with --schema "
    "they have defaults)"
)


def _bound(name: str, meaning: str) -> object:
    return typer.Option(name, help=meaning, rich_help_panel=BOUNDS_PANEL)


def select(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A .csv, .csv.gz or .parquet file with a header; with --schema also .arrow, a "
            "folder or a pattern.",
        ),
    ],
    target: Annotated[str, typer.Option("--target", help="The column to predict.")],
    epsilon: Epsilon,
    schema: SchemaFile = None,
    support_size: Annotated[
        int | None,
        typer.Option(
            "--support-size", help="How many columns to pick.", show_default="none; or give --sizes"
        ),
    ] = None,
    x_bound: Annotated[
        float | None, _bound("--x-bound", "Features are clipped to ± this; their units.")
    ] = None,
    y_bound: Annotated[
        float | None, _bound("--y-bound", "The target is clipped to ± this; its units.")
    ] = None,
    coef_bound: Annotated[
        float | None, _bound("--coef-bound", "Largest length ‖β‖₂ of the coefficients.")
    ] = None,
    ridge: Annotated[
        float | None, _bound("--ridge", "λ of the penalty (λ/2n)‖β‖²; n and X set its scale.")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="A,B,...",
            help='Columns to choose from; "in quotes" a name with commas or outer blanks.',
            show_default="all but the target",
        ),
    ] = None,
    always: Always = None,
    never: Never = None,
    ranges: Ranges = None,
    no_intercept: NoIntercept = False,
    unit_rule: UnitRule = None,
    target_shift: Annotated[
        float,
        typer.Option(
            "--target-shift",
            help="Without --schema: a public constant to subtract from the target.",
        ),
    ] = 0.0,
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            help='squared, hinge, "huber(1.35)", "quantile(0.9)".',
            show_default="squared",
        ),
    ] = None,
    method: MethodName = MethodKind.EXPONENTIAL,
    draws: Draws = 1,
    budget: Budget = None,
    ledger: LedgerFile = None,
    ledger_key: LedgerKeyFile = None,
    part: LedgerPart = None,
    relation: Relation = None,
    delta: Delta = None,
    seed: Seed = None,
    dry_run: DryRun = False,
    sizes: Sizes = None,
    complexity: Complexity = None,
    test_epsilon: TestEpsilon = None,
    top_k: TopK = None,
    alpha: Alpha = None,
    blocks: Blocks = None,
    mcmc_steps: MCMCSteps = None,
    mcmc_radius: MCMCRadius = None,
    pool_size: PoolSize = None,
    solver: SolverName = AUTO,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Release supports straight from a table, with differential privacy.

    With --schema, a public description of the table (see 'mipselect describe'),
    target, size and ε are enough.

    Without it the table holds numbers only, and the bounds have no default: one
    derived from the data would leak. exponential, top-r and mistakes need all
    four, mcmc all but the ridge, sis the first two; kendall and sample-aggregate
    need none.
    """
    options = MethodOptions(
        sizes=sizes,
        complexity=complexity,
        test_epsilon=test_epsilon,
        delta=delta,
        relation=relation,
        top_k=top_k,
        alpha=alpha,
        blocks=blocks,
        mcmc_steps=mcmc_steps,
        mcmc_radius=mcmc_radius,
        pool_size=pool_size,
        solver=None if solver == AUTO else solver,
        tolerance=tolerance,
        time_limit=time_limit,
    )
    plan = plan_draws(
        method=method,
        epsilon=epsilon,
        options=options,
        draws=draws,
        budget=budget,
        seed=seed,
        ledger=opened(ledger, part, ledger_key),
    )
    if support_size is not None and sizes is not None:
        raise InvalidInput("--support-size and --sizes: give one of them, not both")
    if support_size is None and sizes is None:
        or_sizes = (
            ", or --sizes to choose it privately," if method is MethodKind.EXPONENTIAL else ""
        )
        raise InvalidInput(f"--support-size{or_sizes} must be given")
    bounds = {"x_bound": x_bound, "y_bound": y_bound, "coef_bound": coef_bound, "ridge": ridge}
    books = ledger_files(ledger, ledger_key)
    # With --sizes the method replaces it by the largest of them.
    size = 1 if support_size is None else support_size
    head = {"command": "select", "data": data, "target": target}
    if schema is None:
        refuse_without_schema(always, never, ranges, no_intercept, unit_rule)
        settings = {**_checked_loss(loss, plan), **_checked_bounds(bounds, plan)}
        if not math.isfinite(target_shift):
            raise InvalidInput(f"--target-shift must be a finite number, got {target_shift}")
        described: _Described = {
            "target": target,
            "features": None if features is None else split_names("--features", features),
            "target_shift": target_shift,
            "settings": {"support_size": size, **settings},
        }
        check_output(output, [Path(data), *books])
        if dry_run:
            outline = table_outline(Path(data), **described)
            checked_integer(size, f"{data}: --support-size", 1, outline.p)
        else:
            problem = table_problem(Path(data), **described)
            checked_integer(size, f"{data}: --support-size", 1, problem.X.shape[1])
    else:
        refuse_with_schema(x_bound, y_bound, features, target_shift)
        question = asked(always, never, ranges, no_intercept, unit_rule)
        question |= {"path": data, "schema": str(schema), "target": target}
        if isinstance(plan.method, ExponentialMethod) and plan.method.sizes is not None:
            size = max(plan.method.sizes)
        given = {name: value for name, value in bounds.items() if value is not None}
        refuse_bounds(given, plan.method, plan.name)
        settings = {"support_size": size, **_checked_loss(loss, plan), **given}
        check_output(output, [Path(data), schema, *books])
        if dry_run:
            outline = schema_outline(Path(data), Path(), question, settings)
        else:
            problem = schema_problem(Path(data), Path(), question, settings)
        head["schema"] = str(schema)
        note_of_the_target(TableSchema.read(schema), target)
    if dry_run:
        deliver_plan(outline, plan, Path(data).name, head, as_json, output)
    else:
        release_from(problem, plan, Path(data).name, head, as_json, output)


class _Described(TypedDict):
    """A table and what is public about it; see `table_problem`."""

    target: str
    features: list[str] | None
    target_shift: float
    settings: Mapping[str, Any]


def _checked_loss(loss: str | None, plan: Plan) -> dict[str, str]:
    """The loss, for a method that has one."""
    if not isinstance(plan.method, SupportMethod):
        if loss is not None:
            raise InvalidInput(f"--loss does not apply to --method {plan.name}")
        return {}
    if loss is None:
        return {"loss": "squared"}
    with about("--loss"):
        checked_loss(loss)
    return {"loss": loss}


def _checked_bounds(bounds: dict[str, float | None], plan: Plan) -> dict[str, float]:
    """Return the bounds that the method needs, all given and in their range, and no other."""
    needed = plan.method.bounds
    given = {name: value for name, value in bounds.items() if value is not None}
    refuse_bounds(given, plan.method, plan.name)
    missing = [option_named(name) for name in needed if name not in given]
    if plan.name == MethodKind.MCMC and "coef_bound" not in given and "coef_bound" in needed:
        missing[-1] += " (or --mcmc-radius)"
    if missing:
        raise InvalidInput(
            "--schema (begin one with 'mipselect describe') or, for a table of numbers, "
            f"{', '.join(missing)} must be given: the bounds are public assumptions, chosen "
            "without looking at the data; a default derived from the data would leak"
        )
    for name, value in given.items():
        # Only the listing of few supports can do without a ridge; Instance refuses a negative one.
        if not (name == "ridge" and isinstance(plan.method, ExponentialMethod)):
            require_positive(option_named(name), value)
    return given


def refuse_bounds(given: Collection[str], method: PrivateMethod, called: str) -> None:
    """Raise `InvalidInput` for a bound that a method does not know."""
    for name in given:
        if name not in method.bounds:
            why = " beside --mcmc-radius" if called == MethodKind.MCMC and name != "ridge" else ""
            raise InvalidInput(f"{option_named(name)} does not apply to --method {called}{why}")
