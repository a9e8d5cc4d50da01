"""`mipselect solve`: what the search finds and proves; sensitive, every line of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from mipselect.backends.discovery import NATIVE, known_solvers
from mipselect.backends.protocols import Capability
from mipselect.cli.declared import names_of, refuse
from mipselect.cli.inputs import InstanceFile, MomentsFile, SchemaTable, asked_of
from mipselect.cli.options import AUTO, ONE_SWAP, require_positive, stated
from mipselect.cli.output import (
    BOUNDS,
    SENSITIVE,
    banner,
    bounds_in_words,
    check_output,
    finite_or_none,
    heading,
    line,
    picked,
    table_of,
)
from mipselect.cli.progress import Watch
from mipselect.cli.solve_options import SolveArguments, SolveMethod
from mipselect.cli.table_options import DialectOptions
from mipselect.errors import InvalidInput, MipselectError, NotCertified, about
from mipselect.problem.instance import Instance
from mipselect.problem.stored import Expected, StoredData
from mipselect.search import MistakeLevels, SupportPool, mistake_levels, top_supports
from mipselect.search.certificate import Effort
from mipselect.search.monolithic.forms import Form, Formulation
from mipselect.search.options import SearchSettings
from mipselect.tables.instances import ScoredTable, table_within_its_rows
from mipselect.tables.schema import TableSchema
from mipselect.tables.stored_files import is_table
from mipselect.validation import checked_integer

INTERCEPT = "(intercept)"

RELATIVE = 1e-9
"""Largest effect of rounding, relative to a value."""

DEFAULTS = "Coefficients are as short as by select --score loss; --coef-bound 10 shrinks them less."


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
    given = _source(arguments)
    check_output(delivery.output, given.files, replace=delivery.replace)
    unclipped = given.data()
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
        given.ranges if isinstance(given, SchemaTable) else None,
    )
    show = partial(print_solved, solved=solved, rows=arguments.show)
    output = None if refused else delivery.output
    replace(delivery, output=output).deliver(solved_report(solved), show)
    if refused is not None:
        raise MipselectError(f"(sensitive) {instance}: {refused}") from refused
    if comparison is not None and not comparison.agrees:
        raise MipselectError(f"(sensitive) {instance}: {comparison.sentence}")


def _source(arguments: SolveArguments) -> InstanceFile | MomentsFile | SchemaTable:
    """Choose a table by its ending, else moments or an instance."""
    source = arguments.source
    if not is_table(source.instance):
        about_tables = {"--target", "--schema", *names_of(DialectOptions)}
        refuse(arguments, "is for a table; an instance has it in its file", about_tables)
        return asked_of(source, None)
    moments, question = source.moments, source.moments.question
    if arguments.target is None or moments.support_size is None:
        raise InvalidInput(
            f"{source.instance}: is a table, and needs --target and --support-size; 'mipselect "
            "select' and 'mipselect fit' release from it, with a --schema (begin one with "
            "'mipselect describe')"
        )
    target, files = arguments.target, [Path(source.instance)]
    table: Any = arguments.dialect.source(source.instance)
    if arguments.schema is not None:
        schema, ranges = TableSchema.read(arguments.schema), f"those of {arguments.schema}"
        files.append(arguments.schema)
    else:
        never = question.keywords.get("never", ())
        schema, table = table_within_its_rows(table, target, never)
        question = replace(question, never=None)
        ranges = "from the smallest to the largest value of each column, and so SENSITIVE"
    of_loss = stated(**asdict(moments.regularisation)) | {"intercept": not question.no_intercept}
    asked = question.question_about(schema, target)
    scored = ScoredTable(table, asked, moments.support_size, of_loss, None)
    return SchemaTable(files[0], scored, tuple(files), ranges)


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
    # Pyomo takes long to import.
    from mipselect.search.monolithic.whole import whole_levels, whole_optimum

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


@dataclass(frozen=True)
class Clipping:
    """The shares of every column and of the target that the bounds change; sensitive."""

    columns: tuple[float, ...]
    target: float


@dataclass(frozen=True)
class Outside:
    """The probability that top-r at ε draws a support that is not in its pool; sensitive."""

    epsilon: float
    probability: float


def outside(pool: SupportPool, epsilon: float) -> Outside:
    """Return the probability that top-r at ε draws a support that is not listed in its pool."""
    if not pool.number_unlisted:
        return Outside(epsilon, 0.0)
    scale = 2.0 * pool.sensitivity * (1.0 + pool.tolerance)
    with np.errstate(over="ignore"):
        logs = -epsilon * ((pool.values - pool.values[0]) / scale)
    unlisted = math.log(pool.number_unlisted) + float(logs[-1])
    listed = float(np.logaddexp.reduce(logs))
    return Outside(epsilon, math.exp(unlisted - float(np.logaddexp(unlisted, listed))))


def clipped(stored: StoredData, instance: Instance) -> Clipping | None:
    """Return the shares of the data that the bounds clip; None for a table already mapped."""
    if stored.mapped:
        return None
    pairs = zip(stored.X.T, instance.X.T, strict=True)
    columns = tuple(float(np.mean(before != after)) for before, after in pairs)
    if instance.classes is not None:
        return Clipping(columns, 0.0)
    return Clipping(columns, float(np.mean(np.abs(stored.y) > instance.y_bound)))


@dataclass(frozen=True)
class Comparison:
    """Agreement of a search with what its instance stores as expected; sensitive.

    Attributes
    ----------
    agrees : bool
    exact : bool
        To `RELATIVE`, not only within the certified tolerance.
    sentence : str
    """

    agrees: bool
    exact: bool
    sentence: str


def compared(
    instance: Instance, found: SupportPool | MistakeLevels, wanted: Expected | None
) -> Comparison | None:
    """Compare the best value, the best support (ties allowed) and, for levels, every level value.

    A search may stop at a value that is proven to be within its tolerance of the best, so that
    much is allowed above what is expected, and nothing below it.
    """
    if wanted is None:
        return None
    pairs = [("the best value", float(found.values[0]), wanted.value)]
    best = tuple(int(j) for j in found.supports[0])
    if best != wanted.support:
        tie = f"the value of the expected support {list(wanted.support)}"
        pairs.append((tie, instance.objective(wanted.support), float(found.values[0])))
    if isinstance(found, MistakeLevels) and wanted.level_values is not None:
        if len(wanted.level_values) != len(found):
            return _differs(f"{len(found)} levels instead of {len(wanted.level_values)}")
        for level, value in enumerate(wanted.level_values):
            pairs.append((f"the value of level {level}", float(found.values[level]), value))
    exact = True
    for what, value, right in pairs:
        rounding = RELATIVE * abs(right)
        if not -rounding <= value - right <= found.allowance + rounding:
            return _differs(f"{what} is {value!r} instead of {right!r}")
        exact = exact and value - right <= rounding
    how = f"to {RELATIVE:g} relative" if exact else "within the tolerance"
    return Comparison(agrees=True, exact=exact, sentence=f"agrees with [expected] {how}")


def _differs(how: str) -> Comparison:
    return Comparison(agrees=False, exact=False, sentence=f"DIFFERS from [expected]: {how}")


@dataclass(frozen=True, eq=False)
class Solved:
    """Supports that a search found, and what is known about them.

    Attributes
    ----------
    name : str
        Name of the instance.
    instance : Instance
    found : SupportPool or MistakeLevels
    clipping : Clipping or None
    comparison : Comparison or None
        With what the file of the instance expects.
    outside : Outside or None
        Supports outside of a certified pool.
    profile : bool
        Report what each strategy of the search did.
    ranges : str or None
        The source of the ranges of a table that was given in place of an instance.
    """

    name: str
    instance: Instance
    found: SupportPool | MistakeLevels
    clipping: Clipping | None
    comparison: Comparison | None = None
    outside: Outside | None = None
    profile: bool = False
    ranges: str | None = None

    @property
    def best(self) -> list[int]:
        """Features of the best support."""
        support: list[int] = self.found.supports[0].tolist()
        return support

    @property
    def has_units(self) -> bool:
        """True of a table with a schema, but for blocks: their coefficients have no units."""
        return self.instance.units is not None and self.instance.problem.blocks is None

    def names(self, support: list[int]) -> list[str]:
        """Return the names of features."""
        return [self.instance.feature_names[j] for j in support]


def solved_report(solved: Solved) -> Mapping[str, Any]:
    """Return the JSON object of a pool or of mistake levels; what is infinite is null."""
    found = solved.found
    own = _of_pool(solved, found) if isinstance(found, SupportPool) else _of_levels(found)
    more: dict[str, Any] = {}
    if solved.profile:
        more["profile"] = [asdict(own) for own in found.effort.strategies]
    if solved.ranges is not None:
        more["ranges"] = solved.ranges
    return {**_of_both(solved), **own, **more}


def effort_counts(effort: Effort) -> dict[str, Any]:
    """Return solver, seconds and counts of a search, without its strategies."""
    return {name: value for name, value in asdict(effort).items() if name != "strategies"}


def _of_pool(solved: Solved, pool: SupportPool) -> dict[str, Any]:
    return {
        "outside_pool": None if solved.outside is None else asdict(solved.outside),
        "method": "top-r",
        "pool_size": len(pool),
        "worst_listed_value": float(pool.values[-1]),
        "rest_bound": finite_or_none(pool.rest_bound),
        "supports": pool.supports.tolist(),
        "values": pool.values.tolist(),
    }


def _of_levels(levels: MistakeLevels) -> dict[str, Any]:
    return {
        "method": "mistakes",
        "levels": [
            {
                "level": i,
                "support": levels.supports[i].tolist(),
                "value": float(levels.values[i]),
                "bound": float(levels.bounds[i]),
                "size": levels.sizes[i],
            }
            for i in range(len(levels))
        ],
        "gap": finite_or_none(levels.gap),
        "gap_over_twice_sensitivity": finite_or_none(levels.gap / (2.0 * levels.sensitivity)),
    }


def _of_both(solved: Solved) -> dict[str, Any]:
    instance, found, best = solved.instance, solved.found, solved.best
    fit, public, in_units = instance.fit(best), instance.problem.public(), {}
    if solved.has_units:
        in_units = {"in_units": instance.fit_in_units(best).to_dict()}
    return {
        "command": "solve",
        "sensitive": True,
        "warning": SENSITIVE,
        "instance": solved.name,
        **picked(instance, "n", "p", "n_features", "support_size", "number_of_supports"),
        **{name: public[name] for name in ("loss", *BOUNDS)},
        "intercept": instance.intercept,
        **picked(found, "sensitivity", "tolerance", "certified"),
        "best": {
            "support": best,
            "names": solved.names(best),
            "value": float(found.values[0]),
            "proven_optimal": found.proves_optimum,
            "columns": [instance.column_names[c] for j in best for c in instance.groups[j]],
            "coef": fit.coef.tolist(),
            "always": [
                *(instance.column_names[c] for part in instance.always for c in part),
                *([INTERCEPT] if instance.intercept else []),
            ],
            "always_coef": fit.always.tolist(),
            **in_units,
            "multiplier": fit.multiplier,
        },
        "expected": None
        if solved.comparison is None
        else picked(solved.comparison, "agrees", "exact"),
        "clipped": None if solved.clipping is None else asdict(solved.clipping),
        "effort": effort_counts(found.effort),
    }


def print_solved(console: Console, solved: Solved, rows: int) -> None:
    """Print the problem, the best support, the first `rows` of a pool or all levels, the proof."""
    banner(console, SENSITIVE)
    _print_problem(console, solved)
    _print_best(console, solved)
    if isinstance(solved.found, SupportPool):
        _print_pool(console, solved, solved.found, rows)
    else:
        _print_levels(console, solved, solved.found)
    console.print("Certified: yes" if solved.found.certified else "Certified: NO")
    if (loose := _loose_tolerance(solved.found)) is not None:
        console.print(loose)
    if solved.comparison is not None:
        console.print(f"This result {solved.comparison.sentence}.", markup=False)
    if solved.profile:
        _print_profile(console, solved.found.effort)


def _loose_tolerance(found: SupportPool | MistakeLevels) -> str | None:
    """Say that a certificate proves next to nothing; None where τΔ is below the best value."""
    if found.proves_optimum or not found.certified or found.allowance < found.values[0]:
        return None
    return (
        f"That is within τ = {found.allowance:.4g}, more than the best value itself, and proves "
        "next to nothing: give a smaller --tolerance, or narrower bounds."
    )


def _print_profile(console: Console, effort: Effort) -> None:
    """Print calls, successes and seconds of every strategy of the search."""
    heading(console, "What each strategy of the search did")
    numbers = ("calls", "successes", "seconds")
    table = table_of("strategy", *numbers, right=numbers)
    for own in effort.strategies:
        table.add_row(own.name, f"{own.calls:,}", f"{own.successes:,}", f"{own.seconds:.3f}")
    console.print(table)


def _print_problem(console: Console, solved: Solved) -> None:
    instance, found = solved.instance, solved.found
    heading(console, solved.name)
    supports = instance.number_of_supports
    facts = {
        "n": f"{instance.n:,}",
        "p": f"{instance.p:,}",
        "features": f"{instance.n_features:,}",
        "s": str(instance.support_size),
        "supports": f"{supports:,}" if supports < 10**15 else f"about 10^{len(str(supports)) - 1}",
        "sensitivity Δ": f"{found.sensitivity:.6g}",
        "tolerance τ": f"{found.tolerance:g} Δ = {found.allowance:.3g}",
        "solver": found.effort.solver,
        "seconds": f"{found.effort.seconds:.2f}",
    }
    if instance.n_features == instance.p:
        del facts["features"]
    table = table_of(*facts, right=facts)
    table.add_row(*facts.values())
    console.print(table)
    intercept = "with an intercept" if instance.intercept else "without an intercept"
    if instance.problem.blocks is not None:
        intercept = "blocks are centred, which stands for an intercept"
    facts_in_words = [*bounds_in_words(instance.problem.public()), intercept]
    console.print(f"Problem: {', '.join(facts_in_words)}", markup=False)
    if solved.ranges is not None:
        line(console, f"Ranges, within which columns are scaled: {solved.ranges}. {DEFAULTS}")


def _print_best(console: Console, solved: Solved) -> None:
    instance, clipping, support = solved.instance, solved.clipping, solved.best
    heading(console, f"{_best_in_words(solved.found)}, value {solved.found.values[0]:.10g}")
    table = table_of(
        *("feature", "name", "coefficient", "clipped"),
        right=("feature", "coefficient", "clipped"),
        fold=("name",),
    )
    fit, names = instance.fit(support), instance.column_names
    chosen = [(str(j), c) for j in support for c in instance.groups[j]]
    always = [("always", c) for part in instance.always for c in part]
    coefficients = [*fit.coef.tolist(), *fit.always.tolist()]
    for (feature, c), coefficient in zip([*chosen, *always], coefficients, strict=False):
        share = "-" if clipping is None else f"{clipping.columns[c]:.1%}"
        table.add_row(feature, escape(names[c]), f"{coefficient:.6g}", share)
    if instance.intercept:
        table.add_row("always", INTERCEPT, f"{coefficients[-1]:.6g}", "-")
    console.print(table)
    if solved.has_units:
        heading(console, "The same in the units of the table")
        console.print(str(instance.fit_in_units(support)), markup=False)
    if clipping is None:
        return
    most = max(range(instance.p), key=clipping.columns.__getitem__)
    console.print(
        f"Clipped by the bounds: {clipping.target:.1%} of the target; of the columns "
        f"{fmean(clipping.columns):.1%} on average, at most {clipping.columns[most]:.1%} "
        f"({names[most]})",
        markup=False,
    )


def _best_in_words(found: SupportPool | MistakeLevels) -> str:
    if found.proves_optimum:
        return "The best support"
    if found.certified:
        return f"A support within τ = {found.allowance:.4g} of the best"
    return "The best support found"


def _print_pool(console: Console, solved: Solved, pool: SupportPool, rows: int) -> None:
    shown = min(rows, len(pool))
    heading(console, f"The {shown:,} best of {len(pool):,} listed supports")
    titles = ("rank", "value", "features", "names")
    table = table_of(*titles, right=("rank", "value"), fold=titles)
    for k in range(shown):
        support = pool.supports[k].tolist()
        table.add_row(
            str(k + 1),
            f"{pool.values[k]:.10g}",
            " ".join(map(str, support)),
            escape(", ".join(solved.names(support))),
        )
    console.print(table)
    console.print(f"Worst listed value: {pool.values[-1]:.10g}")
    if math.isinf(pool.rest_bound):
        console.print("Every support is listed.")
    else:
        console.print(f"Proven for each of the others: at least {max(pool.rest_bound, 0.0):.10g}")
    if solved.outside is not None:
        console.print(
            f"Probability that top-r with ε = {solved.outside.epsilon:g} draws from outside of "
            f"this pool: {solved.outside.probability:.4g}"
        )


def _print_levels(console: Console, solved: Solved, levels: MistakeLevels) -> None:
    heading(console, "The best support at each distance from the best")
    numbers = ("level", "value", "proven bound", "supports in level")
    table = table_of(*numbers, "names", right=numbers, fold=("names",))
    for i, size in enumerate(levels.sizes):
        table.add_row(
            str(i),
            f"{levels.values[i]:.10g}",
            f"{levels.bounds[i]:.10g}",
            f"{size:,}",
            escape(", ".join(solved.names(levels.supports[i].tolist()))),
        )
    console.print(table)
    if math.isfinite(levels.gap):
        ratio = levels.gap / (2.0 * levels.sensitivity)
        needs = "meets" if ratio > 1.0 else "does not meet"
        console.print(
            f"Gap between best and second best: at least {levels.gap:.6g} = {ratio:.4g} · 2Δ; "
            f"it {needs} the condition of mistakes, more than 2Δ."
        )
