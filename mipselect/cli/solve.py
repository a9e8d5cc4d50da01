"""`mipselect solve`: what the search finds and proves; sensitive, every line of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from rich.console import Console
from rich.markup import escape

from mipselect.arrays import FloatArray
from mipselect.backends.discovery import NATIVE, known_solvers
from mipselect.backends.protocols import Capability
from mipselect.cli.declared import names_of, refuse
from mipselect.cli.inputs import MomentsFile, SensitiveInstance, TableToSolve, asked_of
from mipselect.cli.options import (
    AUTO,
    ONE_SWAP,
    require_positive,
    stated,
)
from mipselect.cli.output import SENSITIVE, banner, check_output, heading, picked, table_of
from mipselect.cli.progress import Watch
from mipselect.cli.solve_options import SolveArguments, SolveMethod
from mipselect.cli.solved import Solved, clipped, compared, outside, print_solved, solved_report
from mipselect.cli.table_options import (
    DialectOptions,
)
from mipselect.errors import InvalidInput, MipselectError, NotCertified, about
from mipselect.mechanisms.supports.base import unrank
from mipselect.mechanisms.supports.exact import score_within
from mipselect.problem.block_scores import BlockOptions, BlockScores
from mipselect.problem.instance import Instance
from mipselect.problem.scores import R2
from mipselect.problem.stored.descriptions import OF_THE_ROWS
from mipselect.search import MistakeLevels, SupportPool, mistake_levels, top_supports
from mipselect.search.monolithic.forms import Form, Formulation
from mipselect.search.monolithic.whole import whole_levels, whole_optimum
from mipselect.search.options import SearchSettings
from mipselect.search.progress import ProgressCallback, Run
from mipselect.search.supports import number_of_listed
from mipselect.tables.stored_files import is_table
from mipselect.validation import checked_integer, plural


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
    comparison = None if refused else compared(problem, found, wanted)
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
    from mipselect.cli.solve import ListedScores

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


@dataclass(frozen=True, eq=False)
class ListedScores:
    """The supports with the largest scores.

    Attributes
    ----------
    name : str
        Name of the instance.
    scores : BlockScores
    supports : list of tuple of int
        The best first; ties in lexicographic order.
    values : ndarray of shape (R,)
        F(S) of each.
    """

    name: str
    scores: BlockScores
    supports: list[tuple[int, ...]]
    values: FloatArray = field(repr=False)

    @classmethod
    def of(
        cls, name: str, scores: BlockScores, search: SearchSettings, progress: ProgressCallback
    ) -> Self:
        """Score all supports, and list as many as a pool has.

        Raises
        ------
        NotCertified
            If the time limit passes first.
        """
        count = number_of_listed(scores.problem, search.pool_size)
        score_within(scores, Run.start(search.time_limit, progress))
        order = np.argsort(-scores.counts, kind="stable")[:count]
        p, s = scores.n_features, scores.support_size
        supports = [unrank(number, p, s) for number in order.tolist()]
        return cls(name, scores, supports, scores.all_scores[order])

    @property
    def shares(self) -> FloatArray:
        """Mean u(S) of a block, between 0 and 1."""
        blocks = self.scores.settings.blocks
        shares: FloatArray = self.values / blocks.count(self.scores.n)
        return shares

    def names(self, support: tuple[int, ...]) -> list[str]:
        """Return the names of features."""
        return [self.scores.feature_names[j] for j in support]

    def report(self) -> Mapping[str, Any]:
        """Return it as a JSON object."""
        scores, best = self.scores, self.supports[0]
        return {
            "command": "solve",
            "sensitive": True,
            "warning": SENSITIVE,
            "instance": self.name,
            **picked(scores, "n", "n_features", "support_size", "number_of_supports"),
            **picked(scores.problem, "p", "score"),
            "sensitivity": scores.sensitivity,
            **scores.settings.blocks.public(),
            "method": "listing",
            "pool_size": len(self.supports),
            "best": {
                "support": list(best),
                "names": self.names(best),
                "score": float(self.values[0]),
                "share": float(self.shares[0]),
            },
            "supports": [list(support) for support in self.supports],
            "scores": self.values.tolist(),
        }

    def show(self, console: Console, rows: int) -> None:
        """Print the first `rows`."""
        banner(console, SENSITIVE)
        heading(console, self.name)
        scores, shown = self.scores, min(rows, len(self.supports))
        blocks = scores.settings.blocks
        console.print(
            f"n = {scores.n:,}, {scores.n_features:,} features, s = {scores.support_size}, "
            f"{scores.number_of_supports:,} supports; R² within blocks of {blocks.rows} rows, in "
            f"{plural(blocks.partitions, 'partition')}; one row moves a score by at most 1; "
            "blocks are centred, which stands for an intercept"
        )
        heading(console, f"The {shown:,} best of {scores.number_of_supports:,} supports")
        titles = ("rank", "score", "share of the best", "features", "names")
        table = table_of(*titles, right=titles[:3], fold=titles)
        for k, support in enumerate(self.supports[:shown]):
            table.add_row(
                str(k + 1),
                f"{self.values[k]:.10g}",
                f"{self.shares[k]:.1%}",
                " ".join(map(str, support)),
                escape(", ".join(self.names(support))),
            )
        console.print(table)
        console.print("Every support was scored.")
