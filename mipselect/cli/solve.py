"""`mipselect solve`: what the search finds and proves; sensitive, every line of it.

`mipselect compare` asks whether several solvers give the same certified answers, and how fast.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console

from mipselect import search
from mipselect.cli import declared, output
from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.options import (
    SEARCH_PANEL,
    SearchArguments,
    check_solver,
    parse_pool_size,
    stated,
)
from mipselect.cli.output import SENSITIVE, Delivery, Report, heading, line, picked
from mipselect.cli.progress import Watch
from mipselect.cli.table_options import MOMENTS_PANEL, DialectOptions, SourceOptions
from mipselect.errors import InvalidInput, MipselectError, NotCertified, SolverFailure, about
from mipselect.privacy.public_fields import in_words, public_settings
from mipselect.validation import checked_integer

if TYPE_CHECKING:  # --help imports none of them.
    from mipselect.cli.inputs import ProblemSource
    from mipselect.problem.descriptions import Expected
    from mipselect.problem.instance import Instance
    from mipselect.search import MistakeLevels, SupportPool

    Found = SupportPool | MistakeLevels

EXAMPLES = """Examples:

mipselect solve diabetes

mipselect solve patients.csv --target score --support-size 4

mipselect solve paper-p100 --method mistakes

mipselect solve paper-p100 --pool-size 1000 --show 20 --output report.json

mipselect compare diabetes paper-p100 --solvers native,highs
"""

INTERCEPT = "(intercept)"

BOUNDS = ("loss", "x_bound", "y_bound", "coef_bound", "ridge")
"""Settings of a problem that are reported, by the keys of `Problem.public`."""

RELATIVE = 1e-9
"""Largest effect of rounding, relative to a value."""

RANGES = "from the smallest to the largest value of each column, and so SENSITIVE"
DEFAULTS = "Coefficients are as short as by select --score loss; --coef-bound 10 shrinks them less."


TOP_R, MISTAKES = "top-r", "mistakes"
"""Goals of a search: the best supports, or the best at each distance from the best."""


@options
class SolveArguments:
    """Arguments of `solve`."""

    method: str = option(
        "--method",
        "top-r: the best supports; mistakes: the best at each distance from the best.",
        default=TOP_R,
        panel=SEARCH_PANEL,
        choices=(TOP_R, MISTAKES),
    )
    search: SearchArguments = group(SearchArguments)
    source: SourceOptions = group(SourceOptions)
    target: str | None = option(
        "--target", "Of a table: the column to predict.", panel=MOMENTS_PANEL
    )
    dialect: DialectOptions = group(DialectOptions)
    show: int = option("--show", "Rows of the pool to print.", default=5)
    delivery: Delivery = group(Delivery)


@command
def solve(arguments: SolveArguments) -> None:
    """Find the best supports of INSTANCE and prove it. The report is SENSITIVE.

    A table in its place needs --target and --support-size; the rest has defaults,
    and the TOML that repeats the search is printed.

    If the instance file says what is expected, the result is compared with it. A
    search that ends without its proof shows what it has, as not certified, and
    exits with 1.
    """
    method, name, delivery = arguments.method, arguments.source.instance, arguments.delivery
    if method == MISTAKES and arguments.search.pool_size is not None:
        raise InvalidInput("--pool-size does not apply to --method mistakes")
    checked_integer(arguments.show, "--show", 1)
    source = _source(arguments)
    output.check_output(delivery.output, source.files, replace=delivery.replace)
    instance, wanted, refused = source.data().instance(), source.expected(), None
    if arguments.search.device is not None:
        instance = instance.on_device(arguments.search.device)
    try:
        with about(name), Watch(name, details=True) as watch:
            found = _search(instance, method, arguments.search, watch)
    except NotCertified as error:
        if error.partial is None:
            raise MipselectError(f"(sensitive) {name}: {error}") from error
        found, refused = error.partial, error
    comparison = None if refused else compared(instance, found, wanted)
    effort = asdict(found.effort)
    profile = effort.pop("strategies")
    report = {
        "command": "solve",
        "sensitive": True,
        "warning": SENSITIVE,
        "instance": name,
        **picked(instance, "n", "p", "n_features", "support_size", "number_of_supports"),
        **{key: instance.problem.public()[key] for key in BOUNDS},
        "intercept": instance.layout.intercept,
        **picked(found, "sensitivity", "tolerance", "certified"),
        "best": _best(instance, found),
        "expected": None if comparison is None else picked(comparison, "agrees", "exact"),
        "effort": effort,
        "profile": profile,
        "method": method,
        **found.to_dict(),
    }
    if arguments.target is not None:
        report |= {"ranges": RANGES, "toml": _toml(arguments, instance)}

    def render(console: Console) -> None:
        output.banner(console, SENSITIVE)
        _print_problem(console, report, instance, found)
        _print_best(console, report, instance, found)
        if isinstance(found, search.SupportPool):
            _print_pool(console, report, instance, arguments.show)
        else:
            _print_levels(console, report, instance)
        console.print("Certified: yes" if found.certified else "Certified: NO")
        if found.certified and found.values[0] <= found.allowance and not found.proves_optimum:
            console.print(
                f"That is within τ = {found.allowance:.4g}, more than the best value itself, and "
                "proves next to nothing: give a smaller --tolerance, or narrower bounds."
            )
        if comparison is not None:
            line(console, f"This result {comparison.sentence}.")
        if "toml" in report:
            heading(console, f"To repeat it, with these defaults: 'mipselect solve {name}', and in")
            line(console, f"mipselect.toml\n{report['toml']}")

    replace(delivery, output=None if refused else delivery.output).deliver(report, render)
    if refused is not None:
        raise MipselectError(f"(sensitive) {name}: {refused}") from refused
    if comparison is not None and not comparison.agrees:
        raise MipselectError(f"(sensitive) {name}: {comparison.sentence}")


def _toml(arguments: SolveArguments, instance: Instance) -> str:
    """Write the section of mipselect.toml that repeats the search of a table."""
    from mipselect.cli.commands import OF_ONE_RUN

    public = instance.problem.public()
    scales = {f"--{key.replace('_', '-')}": public[key] for key in ("coef_bound", "ridge")}
    typed = declared.given(arguments) | scales
    options = {name.removeprefix("--"): of for name, of in typed.items()}
    kept = {name: of for name, of in options.items() if name not in OF_ONE_RUN}
    lines = (f"{name} = {json.dumps(of, default=str)}" for name, of in kept.items())
    return "\n".join(["[solve]", *lines])


def _source(arguments: SolveArguments) -> ProblemSource:
    """Choose a table by its ending, else moments or an instance."""
    from mipselect.cli.inputs import ProblemSource, asked_of
    from mipselect.tables.instances import ScoredTable, table_within_its_rows
    from mipselect.tables.sources import is_table

    source = arguments.source
    if not is_table(source.instance):
        about_tables = {"--target", *declared.names_of(DialectOptions)}
        declared.refuse(arguments, "is for a table; an instance has it in its file", about_tables)
        return asked_of(source, None)
    question, size = source.question, source.support_size
    if arguments.target is None or size is None:
        raise InvalidInput(
            f"{source.instance}: is a table, and needs --target and --support-size; 'mipselect "
            "select' and 'mipselect fit' release from it, with a --schema (begin one with "
            "'mipselect describe')"
        )
    target, table = arguments.target, arguments.dialect.source(source.instance)
    schema, rows = table_within_its_rows(table, target, question.keywords.get("never", ()))
    of_loss = stated(**asdict(source.bounds)) | {"intercept": not question.no_intercept}
    asked = replace(question, never=None).question_about(schema, target)
    scored = ScoredTable(rows, asked, size, of_loss, None)
    files = [Path(source.instance)]
    return ProblemSource.of_made(source.instance, scored.problem, scored.made, files)


def _search(instance: Instance, method: str, asked: SearchArguments, watch: Watch) -> Found:
    keywords = {**picked(asked, "solver", "tolerance", "time_limit"), "progress": watch}
    if method == MISTAKES:
        return search.mistake_levels(instance, **keywords)
    return search.top_supports(instance, parse_pool_size(asked.pool_size), **keywords)


class Comparison(NamedTuple):
    """Whether a search agrees with what is expected, and to `RELATIVE`; sensitive."""

    agrees: bool
    exact: bool
    sentence: str


def compared(instance: Instance, found: Found, wanted: Expected | None) -> Comparison | None:
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
    differs = ""
    if isinstance(found, search.MistakeLevels) and wanted.level_values is not None:
        if len(wanted.level_values) != len(found):
            differs = f"{len(found)} levels instead of {len(wanted.level_values)}"
        levels = zip(found.values.tolist(), wanted.level_values, strict=False)
        pairs += [(f"the value of level {k}", *pair) for k, pair in enumerate(levels)]
    exact = True
    for what, value, right in pairs:
        rounding = RELATIVE * abs(right)
        if not -rounding <= value - right <= found.allowance + rounding:
            differs = differs or f"{what} is {value!r} instead of {right!r}"
        exact = exact and value - right <= rounding
    if differs:
        return Comparison(False, False, f"DIFFERS from [expected]: {differs}")
    how = f"to {RELATIVE:g} relative" if exact else "within the tolerance"
    return Comparison(True, exact, f"agrees with [expected] {how}")


def _best(instance: Instance, found: Found) -> dict[str, Any]:
    """Return the best support and its coefficients, as part of a JSON object."""
    best = found.supports[0].tolist()
    layout, fit, in_units = instance.layout, instance.fit(best), {}
    # Coefficients of blocks have no units.
    if instance.problem.units is not None and instance.problem.blocks is None:
        in_units = {"in_units": instance.fit_in_units(best).to_dict()}
    return {
        "support": best,
        "names": [instance.feature_names[j] for j in best],
        "value": float(found.values[0]),
        "proven_optimal": found.proves_optimum,
        "columns": [layout.column_names[c] for j in best for c in layout.groups[j]],
        "coef": fit.coef.tolist(),
        "always": [
            *(layout.column_names[c] for part in layout.always for c in part),
            *([INTERCEPT] if layout.intercept else []),
        ],
        "always_coef": fit.always.tolist(),
        **in_units,
        "multiplier": fit.multiplier,
    }


def _print_problem(console: Console, report: Report, instance: Instance, found: Found) -> None:
    """Print the problem and what the search took."""
    heading(console, report["instance"])
    told = [in_words(*each) for each in public_settings(report, hides_n=False).items()]
    if instance.problem.blocks is not None:
        told.append("blocks are centred, which stands for an intercept")
    else:
        told.append("with an intercept" if instance.layout.intercept else "without an intercept")
    line(console, f"Problem: {'; '.join(told)}")
    supports, effort = report["number_of_supports"], found.effort
    many = f"{supports:,}" if supports < 10**15 else f"about 10^{len(str(supports)) - 1}"
    line(console, f"Search: {many} supports by {effort.solver} in {effort.seconds:.2f} s")
    if "ranges" in report:
        line(console, f"Ranges, within which columns are scaled: {report['ranges']}. {DEFAULTS}")


def _print_best(console: Console, report: Report, instance: Instance, found: Found) -> None:
    """Print the best support and its coefficients."""
    best = report["best"]
    what = "The best support found"
    if found.proves_optimum:
        what = "The best support"
    elif found.certified:
        what = f"A support within τ = {found.allowance:.4g} of the best"
    heading(console, f"{what}, value {best['value']:.10g}")
    of = [str(j) for j in best["support"] for _ in instance.layout.groups[j]]
    of += ["always"] * len(best["always"])
    names, coefs = best["columns"] + best["always"], best["coef"] + best["always_coef"]
    output.print_table(
        console,
        ("feature", "name", "coefficient"),
        zip(of, names, (f"{coef:.6g}" for coef in coefs), strict=True),
        left=("name",),
    )
    if "in_units" in best:
        heading(console, "The same in the units of the table")
        console.print(str(instance.fit_in_units(best["support"])), markup=False)


def _names(instance: Instance, support: Sequence[int]) -> str:
    return ", ".join(instance.feature_names[j] for j in support)


def _print_pool(console: Console, report: Report, instance: Instance, rows: int) -> None:
    """Print the best supports of a pool, and what is proven about all others."""
    shown, bound = min(rows, report["pool_size"]), report["rest_bound"]
    heading(console, f"The {shown:,} best of {report['pool_size']:,} listed supports")
    listed = []
    for k, support in enumerate(report["supports"][:shown]):
        features, names = " ".join(map(str, support)), _names(instance, support)
        listed.append((k + 1, f"{report['values'][k]:.10g}", features, names))
    titles = ("rank", "value", "features", "names")
    output.print_table(console, titles, listed, left=titles[2:])
    console.print(f"Worst listed value: {report['worst_listed_value']:.10g}")
    if bound is None:
        console.print("Every support is listed.")
    else:
        console.print(f"Proven for each of the others: at least {max(bound, 0.0):.10g}")


def _print_levels(console: Console, report: Report, instance: Instance) -> None:
    """Print the best of each level, and what the gap allows."""
    heading(console, "The best support at each distance from the best")
    titles, rows = ("level", "value", "proven bound", "supports in level", "names"), []
    for one in report["levels"]:
        value = f"{one['value']:.10g}"
        bound = "none" if one["bound"] is None else f"{one['bound']:.10g}"
        rows.append((one["level"], value, bound, one["size"], _names(instance, one["support"])))
    output.print_table(console, titles, rows, left=("names",))
    if report["gap"] is not None:
        ratio = report["gap_over_twice_sensitivity"]
        needs = "meets" if ratio > 1.0 else "does not meet"
        console.print(
            f"Gap between best and second best: at least {report['gap']:.6g} = {ratio:.4g} · 2Δ; "
            f"it {needs} the condition of mistakes, more than 2Δ."
        )


ALL = "all"


@options
class CompareArguments:
    """Arguments of `compare`."""

    instances: list[str] = argument("INSTANCE", "Names of stored instances or .toml files.")
    solvers: str = option(
        "--solvers",
        "all: every solver that can be used here, see 'mipselect solvers'.",
        default=ALL,
        metavar="NAME,NAME|all",
        panel=SEARCH_PANEL,
    )
    search: SearchArguments = group(SearchArguments, without=("--pool-size", "--solver"))
    delivery: Delivery = group(Delivery)


@dataclass(frozen=True, eq=False)
class FoundBySolver:
    """Levels that one solver certified, and its lower bound on every support.

    `remark` says why there are no levels.
    """

    solver: str
    levels: MistakeLevels | None
    bound: float
    remark: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as part of a JSON object; what is infinite is null."""
        levels, report = self.levels, picked(self, "solver", "remark")
        bound = self.bound if math.isfinite(self.bound) else None
        report |= {"certified": levels is not None, "bound": bound}
        if levels is None:
            return report
        effort = asdict(levels.effort)
        del effort["strategies"]
        return report | {
            "optimum": float(levels.values[0]),
            "support": levels.supports[0].tolist(),
            **levels.to_dict(),
            "tolerance": levels.tolerance,
            "effort": effort,
        }


@command
def compare(arguments: CompareArguments) -> None:
    """Find the mistake levels of each INSTANCE with several solvers. The report is SENSITIVE.

    Fails if two answers contradict each other or what the file expects, or if one
    is not certified.
    """
    from mipselect.problem.descriptions import expected, files_of
    from mipselect.problem.stored import load_instance

    delivery, names = arguments.delivery, arguments.instances
    solvers = _solvers(arguments.solvers)
    read = [path for name in names for path in files_of(name)]
    output.check_output(delivery.output, read, replace=delivery.replace)
    rounds, conflicts, failures = [], [], []
    for name, instance, wanted in [(name, load_instance(name), expected(name)) for name in names]:
        answers = [_ask(instance, solver, arguments.search, name) for solver in solvers]
        against = []
        for answer in answers:
            if answer.levels is not None:
                stored = compared(instance, answer.levels, wanted)
                if stored is not None and not stored.agrees:
                    against.append(f"{answer.solver} {stored.sentence}")
            else:
                failures.append(f"{name}: {answer.solver} certified nothing: {answer.remark}")
        against += contradictions(answers)
        conflicts += [f"{name}: {against[0]}"] if against else []
        rounds.append(
            {
                "instance": name,
                **picked(instance, "n", "p", "n_features", "support_size", "sensitivity"),
                "contradictions": against,
                "answers": [answer.to_dict() for answer in answers],
            }
        )
    report = {
        "command": "compare",
        "sensitive": True,
        "warning": SENSITIVE,
        "compared": len(rounds),
        "agree": not conflicts,
        "certified": not failures,
        "instances": rounds,
    }

    def render(console: Console) -> None:
        output.banner(console, SENSITIVE)
        for one in rounds:
            _print_round(console, one)
        if not conflicts:
            console.print("No answer contradicts another.")

    delivery.deliver(report, render)
    if wrong := conflicts + failures:
        raise MipselectError(f"(sensitive) {wrong[0]}")


def _solvers(named: str) -> list[str]:
    """Return the solvers that are named; raise `InvalidInput` for one that is not there."""
    from mipselect.backends import available_solvers

    usable = available_solvers()
    solvers = list(usable if named == ALL else dict.fromkeys(named.split(",")))
    for name in solvers:
        check_solver(name)
    if len(solvers) < 2:
        raise InvalidInput(
            f"comparing needs two answers, and {named!r} gives {len(solvers)}; "
            f"solvers are {', '.join(usable)}"
        )
    return solvers


def _ask(instance: Instance, solver: str, limits: SearchArguments, name: str) -> FoundBySolver:
    """Let one solver search for the levels of an instance."""
    keywords = picked(limits, "tolerance", "time_limit")
    try:
        with Watch(f"{name} with {solver}", details=True) as watch:
            levels = search.mistake_levels(instance, solver=solver, progress=watch, **keywords)
    except NotCertified as error:
        return FoundBySolver(solver, None, min(error.bound, error.incumbent), str(error))
    except SolverFailure as error:
        return FoundBySolver(solver, None, -math.inf, str(error))
    return FoundBySolver(solver, levels, float(levels.bounds.min()))


def contradictions(answers: Sequence[FoundBySolver]) -> list[str]:
    """Write a sentence for every bound above the value of a support that another answer has.

    Every support that one answer names lies in some level of the other, whose bound must not be
    above its value. As the bounds of a certified answer are within its tolerance of its values,
    certified values that are further apart than the tolerance are found by this too.
    """
    found = []
    for proving, naming in permutations(answers, 2):
        if naming.levels is None:
            continue
        for support, value in zip(naming.levels.supports, naming.levels.values, strict=True):
            what, bound = "every support", proving.bound
            if proving.levels is not None:
                level = proving.levels.level_of(support)
                if level < len(proving.levels):
                    what, bound = f"level {level}", float(proving.levels.bounds[level])
            if bound > value + RELATIVE * abs(value):
                found.append(
                    f"{proving.solver} proves {what} to be at {bound:.12g} or above, and "
                    f"{naming.solver} has a support in it of value {value:.12g}"
                )
    return found


def _print_round(console: Console, one: Mapping[str, Any]) -> None:
    """Print what each solver spent and found of an instance, and what contradicts what."""
    size = f"p = {one['p']:,}"
    if one["n_features"] != one["p"]:
        size += f" columns, {one['n_features']:,} features"
    heading(console, f"{one['instance']}: n = {one['n']:,}, {size}, s = {one['support_size']}")
    spent, rows = ("masters", "iterations", "cuts", "solver_nodes"), []
    for answer in one["answers"]:
        row = [answer["solver"], "yes" if answer["certified"] else "NO"]
        if effort := answer.get("effort"):
            row += [f"{answer['optimum']:.10g}", *(effort[name] for name in spent)]
            row.append(f"{effort['seconds']:.3f}")
        rows.append(row)
    titles = ("solver", "certified", "optimum", *spent[:3], "nodes", "seconds")
    output.print_table(console, titles, rows, left=titles[:1])
    for answer in one["answers"]:
        if answer["remark"]:
            line(console, f"{answer['solver']}: {answer['remark']}")
    for sentence in one["contradictions"]:
        console.print(f"CONTRADICTION: {sentence}", markup=False, style="bold red")
