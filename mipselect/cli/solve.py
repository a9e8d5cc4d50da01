"""`mipselect solve`: what the search finds and proves; sensitive, every line of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mipselect.cli.expectation import compare
from mipselect.cli.options import (
    AUTO,
    ONE_SWAP,
    SEARCH_PANEL,
    AsJson,
    InstanceName,
    Method,
    Output,
    PoolSize,
    SearchOptions,
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
from mipselect.search.backends import NATIVE, known_solvers
from mipselect.search.formulations import Form
from mipselect.search.protocols import Capability
from mipselect.search.whole import whole_levels, whole_optimum

EXAMPLES = """Examples:

mipselect solve diabetes

mipselect solve paper-p100 --method mistakes

mipselect solve paper-p100 --pool-size 1000 --show 20 --output report.json

mipselect solve tiny-plain --formulation whole --solver scip
"""


class SolveMethod(StrEnum):
    """What to search for."""

    TOP_R = "top-r"
    MISTAKES = "mistakes"


class Formulation(StrEnum):
    """How to search."""

    CUTS = "cuts"
    WHOLE = "whole"
    PERSPECTIVE = "perspective"
    BIG_M = "big-m"


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
    formulation: Annotated[
        Formulation,
        typer.Option(
            "--formulation",
            help="cuts: the certified search; whole: one model for the optimum or for each level, "
            "as a second opinion, in the perspective or the big-m form.",
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = Formulation.CUTS,
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
    if formulation is not Formulation.CUTS:
        _check_whole(options)
    check_output(output)
    problem = load_instance(instance)
    wanted = expected(instance)
    try:
        with Watch(instance, details=True) as watch:
            keywords = {**options.keywords(), "progress": watch}
            if formulation is not Formulation.CUTS:
                whole = Formulation.WHOLE
                keywords["form"] = None if formulation is whole else Form(formulation)
            if method is SolveMethod.TOP_R:
                pool = (
                    top_supports(problem, options.pool_size, **keywords)
                    if formulation is Formulation.CUTS
                    else whole_optimum(problem, **keywords)
                )
                comparison = compare(problem, pool, wanted)
                report = pool_report(problem, pool, instance, comparison)
            else:
                search = mistake_levels if formulation is Formulation.CUTS else whole_levels
                levels = search(problem, **keywords)
                comparison = compare(problem, levels, wanted)
                report = levels_report(problem, levels, instance, comparison)
    except (NotCertified, SolverFailure) as error:
        raise MipselectError(f"(sensitive) {instance}: {error}") from error
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


def _check_whole(options: SearchOptions) -> None:
    """A whole model finds one support, by a solver that takes quadratic terms."""
    if options.solver in (AUTO, NATIVE):
        known = known_solvers().values()
        able = [status.name for status in known if Capability.MISOCP in status.capabilities]
        raise InvalidInput(
            f"--formulation other than cuts needs a MIP solver: --solver {' or '.join(able)}"
        )
    if options.pool_size not in (ONE_SWAP, 1):
        raise InvalidInput("a whole model finds one support: leave out --pool-size")
