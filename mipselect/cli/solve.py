"""`mipselect solve`: what the search finds and proves; sensitive, every line of it."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Any

from mipselect.backends.discovery import NATIVE, known_solvers
from mipselect.backends.protocols import Capability
from mipselect.cli.agreement import compare
from mipselect.cli.declared import names_of, refuse
from mipselect.cli.inputs import MomentsFile, SensitiveInstance, TableToSolve, asked_of
from mipselect.cli.options import (
    AUTO,
    ONE_SWAP,
    require_positive,
    stated,
)
from mipselect.cli.output import check_output
from mipselect.cli.progress import Watch
from mipselect.cli.solve_options import SolveArguments, SolveMethod
from mipselect.cli.solved import Solved, clipped, outside, solved_report
from mipselect.cli.solved_tables import print_solved
from mipselect.cli.table_options import (
    DialectOptions,
)
from mipselect.errors import InvalidInput, MipselectError, NotCertified, about
from mipselect.problem.block_options import BlockOptions
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.problem.scores import R2
from mipselect.problem.stored.sources import OF_THE_ROWS
from mipselect.search import MistakeLevels, SupportPool, mistake_levels, top_supports
from mipselect.search.monolithic.forms import Form, Formulation
from mipselect.search.monolithic.whole import whole_levels, whole_optimum
from mipselect.search.options import SearchSettings
from mipselect.tables.stored_files import is_table
from mipselect.validation import checked_integer


def solve(arguments: SolveArguments) -> None:
    """Run the command."""
    method, instance, delivery = arguments.method, arguments.source.instance, arguments.delivery
    if method is SolveMethod.MISTAKES and arguments.search.pool_size is not None:
        raise InvalidInput("--pool-size does not apply to --method mistakes")
    checked_integer(arguments.show, "--show", 1)
    require_positive("--epsilon", arguments.epsilon)
    options = arguments.search.settings()
    if arguments.formulation is not Formulation.CUTS:
        _check_whole(options)
    draw = arguments.scores.of_blocks(epsilon=arguments.epsilon, time_limit=options.time_limit)
    given = _source(arguments, draw)
    check_output(delivery.output, given.files, replace=delivery.replace)
    unclipped = given.data()
    if unclipped.problem.score == R2:
        _deliver_scores(arguments, options, unclipped.drawn_from())
        return
    problem = unclipped.instance()
    wanted = given.expected()
    refused = None
    try:
        with about(instance), Watch(instance, details=True) as watch:
            found = _search(problem, method, arguments.formulation, options, watch)
    except NotCertified as error:
        if error.partial is None:
            raise MipselectError(f"(sensitive) {instance}: {error}") from error
        found, refused = error.partial, error
    comparison = None if refused else compare(problem, found, wanted)
    left_out = None
    if isinstance(found, SupportPool) and found.certified:
        left_out = outside(found, arguments.epsilon)
    solved = Solved(
        instance,
        problem,
        found,
        clipped(unclipped, problem),
        comparison,
        left_out,
        arguments.profile,
        given if isinstance(given, TableToSolve) else None,
    )
    show = partial(print_solved, solved=solved, rows=arguments.show)
    output = None if refused else delivery.output
    replace(delivery, output=output).deliver(solved_report(solved), show)
    if refused is not None:
        raise MipselectError(f"(sensitive) {instance}: {refused}") from refused
    if comparison is not None and not comparison.agrees:
        raise MipselectError(f"(sensitive) {instance}: {comparison.sentence}")


def _source(
    arguments: SolveArguments, draw: BlockOptions
) -> SensitiveInstance | MomentsFile | TableToSolve:
    """Choose a table by its ending, else moments or an instance."""
    source = arguments.source
    if not is_table(source.instance):
        about_tables = {"--target", "--schema", *names_of(DialectOptions)}
        refuse(arguments, "is for a table; an instance has it in its file", about_tables)
        given = asked_of(source, None, draw)
        return given if isinstance(given, MomentsFile) else SensitiveInstance(given.name, draw)
    refuse(arguments.scores, "is for an instance: write it into the TOML that is printed without")
    moments, question = source.moments, source.moments.question
    if arguments.target is None or moments.support_size is None:
        raise InvalidInput(
            f"{source.instance}: is a table, and needs --target and --support-size; 'mipselect "
            "select' and 'mipselect fit' release from it, with a --schema (begin one with "
            "'mipselect describe')"
        )
    sizes = {"support_size": moments.support_size, **stated(**asdict(moments.regularisation))}
    schema = {"ranges": OF_THE_ROWS}
    if arguments.schema is not None:
        schema = {"schema": str(arguments.schema)}
    data = {
        "source": "table",
        "path": source.instance,
        "target": arguments.target,
        **schema,
        **arguments.dialect.keywords,
        **question.keywords,
        "intercept": not question.no_intercept,
    }
    return TableToSolve(sizes, data)


def _deliver_scores(
    arguments: SolveArguments, options: SearchSettings, scores: Instance | BlockScores
) -> None:
    """List the supports that block R² puts first; there is nothing to be searched."""
    from mipselect.cli.listed_scores import ListedScores

    assert isinstance(scores, BlockScores)
    name, delivery = arguments.source.instance, arguments.delivery
    given = {
        "--method mistakes": arguments.method is SolveMethod.MISTAKES,
        "--formulation": arguments.formulation is not Formulation.CUTS,
        "--solver": options.solver != AUTO,
        "--tolerance": options.tolerance is not None,
        "--profile": arguments.profile,
    }
    for named in (named for named, asked in given.items() if asked):
        raise InvalidInput(
            f"{named} is for a search, and with score 'block-r2' all supports are listed"
        )
    try:
        with about(name), Watch(name, details=True) as watch:
            listed = ListedScores.of(name, scores, options, watch)
    except NotCertified as error:
        raise MipselectError(f"(sensitive) {name}: {error}") from error
    show = partial(listed.show, rows=arguments.show)
    delivery.deliver(listed.report(), show)


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
    """Refuse a whole model of several supports, or without a solver that takes quadratic terms."""
    if options.solver in (AUTO, NATIVE):
        known = known_solvers().values()
        able = [status.name for status in known if Capability.MISOCP in status.capabilities]
        raise InvalidInput(
            f"--formulation other than cuts needs a MIP solver: --solver {' or '.join(able)}"
        )
    if options.pool_size not in (ONE_SWAP, 1):
        raise InvalidInput("a whole model finds one support: leave out --pool-size")
