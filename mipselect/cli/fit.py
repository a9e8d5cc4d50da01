"""`mipselect fit`: private features and coefficients of a table, as one release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mipselect.cli.arguments import MethodOptions
from mipselect.cli.fit_plan import FitOptions
from mipselect.cli.fit_table import FitTable
from mipselect.cli.fitting import deliver_fit, deliver_fit_plan
from mipselect.cli.ledger_entry import ledger_files, opened
from mipselect.cli.method_options import (
    Alpha,
    Blocks,
    Complexity,
    DryRun,
    LedgerFile,
    LedgerKeyFile,
    LedgerPart,
    MCMCRadius,
    MCMCSteps,
    MethodName,
    Seed,
    Sizes,
    TestEpsilon,
    TopK,
)
from mipselect.cli.options import (
    AUTO,
    PRIVACY_PANEL,
    AsJson,
    MethodKind,
    Output,
    PoolSize,
    SolverName,
    TimeLimit,
    Tolerance,
)
from mipselect.cli.output import check_output
from mipselect.cli.regressions import (
    ModelBound,
    ModelLoss,
    ModelOptions,
    Regression,
    RegressionName,
    SelectionShare,
)
from mipselect.cli.select import BOUNDS_PANEL
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
from mipselect.errors import InvalidInput

EXAMPLES = """Examples:

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --output model.json

mipselect fit patients.parquet --schema patients.schema.json \\
    --target los_days --support-size 5 --epsilon 2 --delta 1e-6 \\
    --regression boosted-adassp --always age,sex --ledger study.ledger

mipselect fit patients.csv --target score --support-size 3 --epsilon 2 \\
    --x-bound 1 --y-bound 2 --dry-run

mipselect predict model.json new_patients.parquet --output predictions.csv
"""


def fit(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A .csv, .csv.gz or .parquet file with a header; with --schema also .arrow, a "
            "folder or a pattern.",
        ),
    ],
    target: Annotated[str, typer.Option("--target", help="The column to predict.")],
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon",
            help="ε of features and coefficients together.",
            rich_help_panel=PRIVACY_PANEL,
        ),
    ],
    schema: SchemaFile = None,
    support_size: Annotated[
        int | None,
        typer.Option(
            "--support-size",
            help="How many features to pick.",
            show_default="none; or give --sizes",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            "--delta",
            help="δ of features and coefficients together, for the methods and regressions that "
            "need one.",
            show_default="0",
            rich_help_panel=PRIVACY_PANEL,
        ),
    ] = None,
    selection_share: SelectionShare = 0.5,
    relation: Annotated[
        str | None,
        typer.Option(
            "--relation",
            metavar="replace-one|add-remove",
            help="What ε is stated under; under add-remove the number of rows is private too.",
            show_default="that of the ledger, or replace-one",
            rich_help_panel=PRIVACY_PANEL,
        ),
    ] = None,
    regression: RegressionName = Regression.OBJECTIVE,
    model_loss: ModelLoss = None,
    model_bound: ModelBound = None,
    x_bound: Annotated[
        float | None,
        typer.Option(
            "--x-bound",
            help="Without --schema: features are clipped to ± this; their units.",
            rich_help_panel=BOUNDS_PANEL,
        ),
    ] = None,
    y_bound: Annotated[
        float | None,
        typer.Option(
            "--y-bound",
            help="Without --schema: the target is clipped to ± this; its units.",
            rich_help_panel=BOUNDS_PANEL,
        ),
    ] = None,
    target_shift: Annotated[
        float,
        typer.Option(
            "--target-shift",
            help="Without --schema: a public constant that --y-bound is meant around.",
            rich_help_panel=BOUNDS_PANEL,
        ),
    ] = 0.0,
    coef_bound: Annotated[
        float | None,
        typer.Option(
            "--coef-bound",
            help="Of the selection: largest length of the coefficients, of features and a target "
            "in [-1, 1].",
            rich_help_panel=BOUNDS_PANEL,
        ),
    ] = None,
    ridge: Annotated[
        float | None,
        typer.Option("--ridge", help="Of the selection: λ, in rows.", rich_help_panel=BOUNDS_PANEL),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="A,B,...",
            help="Without --schema: columns to choose from.",
            show_default="all but the target",
        ),
    ] = None,
    always: Always = None,
    never: Never = None,
    ranges: Ranges = None,
    no_intercept: NoIntercept = False,
    unit_rule: UnitRule = None,
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            help='Of the selection: squared, hinge for two classes, "huber(1.35)", '
            '"quantile(0.9)".',
            show_default="squared",
        ),
    ] = None,
    method: MethodName = MethodKind.EXPONENTIAL,
    ledger: LedgerFile = None,
    ledger_key: LedgerKeyFile = None,
    part: LedgerPart = None,
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
    all_terms: Annotated[
        bool,
        typer.Option(
            "--all-terms",
            help="Print the terms for values in no list too, and for missing ones of fields whose "
            "schema does not say that they may be missing.",
        ),
    ] = False,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Release a linear model of a table: which features, and their coefficients.

    Features are drawn with one part of ε, the coefficients of what was drawn with
    the rest, and a ledger is charged once for both. The file of --output has all
    that 'mipselect predict' needs, and nothing else of the data.

    With --schema, a public description of the table (see 'mipselect describe'),
    target, size and ε are enough. Without it the table holds numbers only, and
    --x-bound and --y-bound say between which ends they lie.
    """
    book = opened(ledger, part, ledger_key)
    options = FitOptions(
        method=method,
        of_the_method=MethodOptions(
            sizes=sizes,
            complexity=complexity,
            test_epsilon=test_epsilon,
            top_k=top_k,
            alpha=alpha,
            blocks=blocks,
            mcmc_steps=mcmc_steps,
            mcmc_radius=mcmc_radius,
            pool_size=pool_size,
            solver=None if solver == AUTO else solver,
            tolerance=tolerance,
            time_limit=time_limit,
        ),
        model=ModelOptions(regression, model_loss, model_bound),
        epsilon=epsilon,
        delta=delta,
        selection_share=selection_share,
        relation=relation or ("replace-one" if book is None else book.relation),
        seed=seed,
        ledger=book,
    )
    options.selection()
    if (support_size is None) == (sizes is None):
        raise InvalidInput("--support-size or --sizes must be given: one of them")
    problem: dict[str, Any] = {"coef_bound": coef_bound, "ridge": ridge, "loss": loss}
    given = {name: value for name, value in problem.items() if value is not None}
    if schema is None:
        refuse_without_schema(always, never, ranges, no_intercept, unit_rule)
        chosen = None if features is None else split_names("--features", features)
        table = FitTable.of_numbers(
            data, target, chosen, x_bound, y_bound, target_shift, read=not dry_run
        )
    else:
        refuse_with_schema(x_bound, y_bound, features, target_shift)
        question = asked(always, never, ranges, no_intercept, unit_rule)
        table = FitTable.of_schema(data, schema, target, question)
    check_output(output, [Path(data), *table.files, *ledger_files(ledger, ledger_key)])
    plan = table.plan(options, support_size, given)
    note_of_the_target(table.schema, target)
    if dry_run:
        deliver_fit_plan(table, plan, given, as_json, output)
    else:
        deliver_fit(table, plan, given, as_json, output, all_terms=all_terms)
