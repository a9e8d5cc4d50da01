"""`mipselect select`: private supports straight from a table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from mipselect.cli.drawing import plan_draws
from mipselect.cli.options import (
    AUTO,
    AsJson,
    Method,
    Output,
    PoolSize,
    SolverName,
    TimeLimit,
    Tolerance,
    about,
    require_positive,
    search_options,
)
from mipselect.cli.output import check_output
from mipselect.cli.release import (
    Budget,
    Complexity,
    Delta,
    Draws,
    Epsilon,
    MethodName,
    Seed,
    Sizes,
    TestEpsilon,
    release_from,
    search_given,
)
from mipselect.cli.sizes import parse_sizes
from mipselect.cli.table_options import (
    Always,
    Never,
    NoIntercept,
    Ranges,
    SchemaFile,
    UnitRule,
    asked,
    split_names,
)
from mipselect.data.files import Problem, schema_problem, table_problem
from mipselect.errors import InvalidInput
from mipselect.losses import checked_loss
from mipselect.validation import checked_integer

EXAMPLES = """Examples:

mipselect select patients.csv --target score --support-size 3 --epsilon 1 \\
    --x-bound 1 --y-bound 2 --coef-bound 1.5 --ridge 10

mipselect select patients.csv --target score --sizes 1-8 --epsilon 1 \\
    --x-bound 1 --y-bound 2 --coef-bound 1.5 --ridge 10

mipselect select patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 3 --epsilon 1 --always age,sex
"""

BOUNDS_PANEL = (
    "Public bounds (choose them without looking at the data; all needed without --schema)"
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
        str,
        typer.Option("--loss", help='squared, hinge, "huber(1.35)", "quantile(0.9)".'),
    ] = "squared",
    method: MethodName = Method.EXPONENTIAL,
    sizes: Sizes = None,
    complexity: Complexity = None,
    draws: Draws = 1,
    budget: Budget = None,
    test_epsilon: TestEpsilon = None,
    delta: Delta = None,
    seed: Seed = None,
    pool_size: PoolSize = None,
    solver: SolverName = AUTO,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Release supports straight from a table, with differential privacy.

    With --schema, a public description of the table (see 'mipselect describe'),
    target, size and ε are enough. Without it the table holds numbers only and the
    bounds have no default: one derived from the data would leak.
    """
    search = search_options(
        pool_size=pool_size, solver=solver, tolerance=tolerance, time_limit=time_limit
    )
    plan = plan_draws(
        method=method,
        epsilon=epsilon,
        draws=draws,
        test_epsilon=test_epsilon,
        delta=delta,
        budget=budget,
        seed=seed,
        sizes=sizes,
        complexity=complexity,
        search=search,
        search_given=search_given(pool_size, solver, tolerance, time_limit),
    )
    if support_size is not None and sizes is not None:
        raise InvalidInput("--support-size and --sizes: give one of them, not both")
    if support_size is None and sizes is None:
        raise InvalidInput("--support-size, or --sizes to choose it privately, must be given")
    with about("--loss"):
        checked_loss(loss)
    head: dict[str, object] = {"command": "select", "data": data, "target": target}
    if schema is not None:
        _refuse_with_schema(x_bound, y_bound, features, target_shift)
        question = asked(always, never, ranges, no_intercept, unit_rule)
        check_output(output, [Path(data), schema])
        size = support_size or max(parse_sizes(sizes or ""))
        settings = {"support_size": size, "loss": loss}
        given = {"coef_bound": coef_bound, "ridge": ridge}
        settings |= {name: value for name, value in given.items() if value is not None}
        description = {"path": data, "schema": str(schema), "target": target, **question}
        problem = schema_problem(Path(data), Path(), description, settings)
        head["schema"] = str(schema)
    else:
        _refuse_without_schema(always, never, ranges, no_intercept, unit_rule)
        problem = _numeric_problem(
            Path(data),
            target=target,
            features=features,
            target_shift=target_shift,
            size=1 if support_size is None else support_size,
            loss=loss,
            bounds=_checked_bounds(
                {
                    "x_bound": x_bound,
                    "y_bound": y_bound,
                    "coef_bound": coef_bound,
                    "ridge": ridge,
                },
                method,
            ),
            output=output,
        )
    release_from(problem, plan, Path(data).name, head, as_json, output)


def _numeric_problem(
    data: Path,
    *,
    target: str,
    features: str | None,
    target_shift: float,
    size: int,
    loss: str,
    bounds: dict[str, float],
    output: Path | None,
) -> Problem:
    """A table of numbers as it is; with --sizes the method replaces `size` by the largest."""
    if not math.isfinite(target_shift):
        raise InvalidInput(f"--target-shift must be a finite number, got {target_shift}")
    columns = None if features is None else split_names("--features", features)
    check_output(output, [data])
    problem = table_problem(
        data,
        target=target,
        features=columns,
        target_shift=target_shift,
        settings={"support_size": size, "loss": loss, **bounds},
    )
    checked_integer(size, f"{data}: --support-size", 1, problem.X.shape[1])
    return problem


def _refuse_with_schema(
    x_bound: float | None, y_bound: float | None, features: str | None, target_shift: float
) -> None:
    given = {"--x-bound": x_bound, "--y-bound": y_bound, "--features": features}
    given["--target-shift"] = target_shift or None
    for option, value in given.items():
        if value is not None:
            raise InvalidInput(
                f"{option} does not apply with --schema: the schema has the ranges; see --range, "
                "--always and --never"
            )


def _refuse_without_schema(
    always: str | None,
    never: str | None,
    ranges: list[str] | None,
    no_intercept: bool,
    unit_rule: str | None,
) -> None:
    given: dict[str, object] = {"--always": always, "--never": never, "--range": ranges or None}
    given |= {"--no-intercept": no_intercept or None, "--unit-rule": unit_rule}
    for option, value in given.items():
        if value is not None:
            raise InvalidInput(f"{option} needs --schema (begin one with 'mipselect describe')")


def _checked_bounds(bounds: dict[str, float | None], method: Method) -> dict[str, float]:
    """Return the bounds by the names of `Instance`, all given and in their range."""
    options = {name: "--" + name.replace("_", "-") for name in bounds}
    given = {name: value for name, value in bounds.items() if value is not None}
    missing = [options[name] for name in bounds if name not in given]
    if missing:
        raise InvalidInput(
            f"{', '.join(missing)} must be given: the bounds are public assumptions, chosen "
            "without looking at the data; a default derived from the data would leak; with "
            "--schema they follow from what is public about the table"
        )
    for name, value in given.items():
        # Only the listing of few supports can do without a ridge; Instance refuses a negative one.
        if not (name == "ridge" and method is Method.EXPONENTIAL):
            require_positive(options[name], value)
    return given
