"""`mipselect solve`: what the search finds and proves; sensitive, every line of it."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from mipselect.backends.discovery import NATIVE, known_solvers
from mipselect.backends.protocols import Capability
from mipselect.cli.expectation import compare
from mipselect.cli.inputs import (
    SumsAlways,
    SumsCoefBound,
    SumsNever,
    SumsNoIntercept,
    SumsRidge,
    SumsSize,
    asked_of,
)
from mipselect.cli.options import (
    AUTO,
    ONE_SWAP,
    PRIVACY_PANEL,
    SEARCH_PANEL,
    AsJson,
    InstanceName,
    MethodKind,
    Output,
    PoolSize,
    SolverName,
    TimeLimit,
    Tolerance,
    about,
    refuse,
    require_positive,
    search_options,
)
from mipselect.cli.output import check_output, deliver
from mipselect.cli.report import (
    levels_report,
    pool_report,
    print_levels,
    print_pool,
)
from mipselect.cli.search_progress import Watch
from mipselect.cli.usefulness import clipped, outside
from mipselect.errors import InvalidInput, MipselectError, NotCertified
from mipselect.instance import Instance
from mipselect.methods import SearchSettings
from mipselect.search import MistakeLevels, SupportPool, mistake_levels, top_supports
from mipselect.search.monolithic.formulations import Form
from mipselect.search.monolithic.whole import whole_levels, whole_optimum
from mipselect.validation import checked_integer

EXAMPLES = """Examples:

mipselect solve diabetes

mipselect solve paper-p100 --method mistakes

mipselect solve paper-p100 --pool-size 1000 --show 20 --output report.json

mipselect solve tiny-plain --formulation whole --solver scip
"""


class SolveMethod(StrEnum):
    """Goal of a search: the best supports, or the best at each distance from the best."""

    TOP_R = "top-r"
    MISTAKES = "mistakes"


class Formulation(StrEnum):
    """Way to search: by cuts, or by one whole model for the optimum or for each level."""

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
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon",
            help="Report how probable it is that top-r with this ε draws from outside of the pool.",
            rich_help_panel=PRIVACY_PANEL,
        ),
    ] = 1.0,
    support_size: SumsSize = None,
    coef_bound: SumsCoefBound = None,
    ridge: SumsRidge = None,
    always: SumsAlways = None,
    never: SumsNever = None,
    no_intercept: SumsNoIntercept = False,
    show: Annotated[int, typer.Option("--show", help="Rows of the pool to print.")] = 5,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Find the best supports of INSTANCE and prove it. The report is SENSITIVE.

    If the instance file says what is expected, the result is compared with it. A
    search that ends without its proof shows what it has, as not certified, and
    exits with 1.
    """
    if method is SolveMethod.MISTAKES:
        refuse(MethodKind.MISTAKES, {"--pool-size": pool_size})
    checked_integer(show, "--show", 1)
    require_positive("--epsilon", epsilon)
    options = search_options(
        pool_size=pool_size, solver=solver, tolerance=tolerance, time_limit=time_limit
    )
    if formulation is not Formulation.CUTS:
        _check_whole(options)
    given = asked_of(instance, support_size, None, coef_bound, ridge, always, never, no_intercept)
    check_output(output, given.files)
    unclipped = given.problem()
    problem = unclipped.instance()
    wanted = given.expected()
    refused = None
    try:
        with about(instance), Watch(instance, details=True) as watch:
            found = _search(problem, method, formulation, options, watch)
    except NotCertified as error:
        if error.partial is None:
            raise MipselectError(f"(sensitive) {instance}: {error}") from error
        found, refused = error.partial, error
    comparison = None if refused else compare(problem, found, wanted)
    clipping = clipped(unclipped, problem)
    if isinstance(found, SupportPool):
        left_out = outside(found, epsilon) if found.certified else None
        report = pool_report(problem, found, instance, comparison, clipping, left_out)
        show_report = partial(
            print_pool,
            instance=problem,
            pool=found,
            name=instance,
            comparison=comparison,
            clipping=clipping,
            outside=left_out,
            rows=show,
        )
    else:
        report = levels_report(problem, found, instance, comparison, clipping)
        show_report = partial(
            print_levels,
            instance=problem,
            levels=found,
            name=instance,
            comparison=comparison,
            clipping=clipping,
        )
    deliver(report, show_report, as_json=as_json, output=None if refused else output)
    if refused is not None:
        raise MipselectError(f"(sensitive) {instance}: {refused}") from refused
    if comparison is not None and not comparison.agrees:
        raise MipselectError(f"(sensitive) {instance}: {comparison.sentence}")


def _search(
    problem: Instance,
    method: SolveMethod,
    formulation: Formulation,
    options: SearchSettings,
    watch: Watch,
) -> SupportPool | MistakeLevels:
    keywords: dict[str, Any] = {**options.keywords(), "progress": watch}
    if formulation is Formulation.CUTS:
        if method is SolveMethod.MISTAKES:
            return mistake_levels(problem, **keywords)
        return top_supports(problem, options.pool_size, **keywords)
    keywords["form"] = None if formulation is Formulation.WHOLE else Form(formulation)
    whole = whole_levels if method is SolveMethod.MISTAKES else whole_optimum
    return whole(problem, **keywords)


def _check_whole(options: SearchSettings) -> None:
    """A whole model finds one support, by a solver that takes quadratic terms."""
    if options.solver in (AUTO, NATIVE):
        known = known_solvers().values()
        able = [status.name for status in known if Capability.MISOCP in status.capabilities]
        raise InvalidInput(
            f"--formulation other than cuts needs a MIP solver: --solver {' or '.join(able)}"
        )
    if options.pool_size not in (ONE_SWAP, 1):
        raise InvalidInput("a whole model finds one support: leave out --pool-size")
