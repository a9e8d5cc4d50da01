"""`mipselect solve`: what the search finds and proves; sensitive, every line of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mipselect.cli.expectation import compare
from mipselect.cli.options import (
    AUTO,
    SEARCH_PANEL,
    AsJson,
    InstanceName,
    Method,
    Output,
    PoolSize,
    SolverName,
    TimeLimit,
    Tolerance,
    refuse,
    search_options,
)
from mipselect.cli.output import check_output, deliver
from mipselect.cli.report import (
    levels_report,
    pool_report,
    print_levels,
    print_pool,
)
from mipselect.cli.watch import Watch
from mipselect.errors import InvalidInput, MipselectError, NotCertified, SolverFailure
from mipselect.files import expected, load_instance
from mipselect.search import mistake_levels, top_supports

EXAMPLES = """Examples:

mipselect solve diabetes

mipselect solve paper-p100 --method mistakes

mipselect solve paper-p100 --pool-size 1000 --show 20 --output report.json
"""


class SolveMethod(StrEnum):
    """What to search for."""

    TOP_R = "top-r"
    MISTAKES = "mistakes"


def solve(
    instance: InstanceName,
    method: Annotated[
        SolveMethod,
        typer.Option(
            "--method",
            help="top-r: the best supports; mistakes: the best at each distance from the best.",
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = SolveMethod.TOP_R,
    pool_size: PoolSize = None,
    solver: SolverName = AUTO,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    show: Annotated[int, typer.Option("--show", help="Rows of the pool to print.")] = 5,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Find the best supports of INSTANCE and prove it. The report is SENSITIVE.

    If the instance file says what is expected, the result is compared with it.
    """
    if method is SolveMethod.MISTAKES:
        refuse(Method.MISTAKES, {"--pool-size": pool_size})
    if show < 1:
        raise InvalidInput(f"--show must be an integer ≥ 1, got {show}")
    options = search_options(
        pool_size=pool_size, solver=solver, tolerance=tolerance, time_limit=time_limit
    )
    check_output(output)
    problem = load_instance(instance)
    wanted = expected(instance)
    try:
        with Watch(instance, details=True) as watch:
            keywords = {**options.keywords(), "progress": watch}
            if method is SolveMethod.TOP_R:
                pool = top_supports(problem, options.pool_size, **keywords)
                comparison = compare(problem, pool, wanted)
                report = pool_report(problem, pool, instance, comparison)
            else:
                levels = mistake_levels(problem, **keywords)
                comparison = compare(problem, levels, wanted)
                report = levels_report(problem, levels, instance, comparison)
    except (NotCertified, SolverFailure) as error:
        raise MipselectError(f"(sensitive) {error}") from error
    deliver(
        report,
        lambda console: (
            print_pool(console, problem, pool, instance, comparison, show)
            if method is SolveMethod.TOP_R
            else print_levels(console, problem, levels, instance, comparison)
        ),
        as_json=as_json,
        output=output,
    )
    if comparison is not None and not comparison.agrees:
        raise MipselectError(f"(sensitive) {instance}: {comparison.sentence}")
