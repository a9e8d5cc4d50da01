"""Tables of what `solve` and `demo` found; all of them are sensitive."""

from __future__ import annotations

import math
from statistics import fmean

from rich.console import Console
from rich.markup import escape

from mipselect.cli.output import SENSITIVE, banner, bounds_in_words, heading, line, table_of
from mipselect.cli.solved import INTERCEPT, Solved
from mipselect.search import MistakeLevels, SupportPool
from mipselect.search.certificate import Effort

DEFAULTS = "Coefficients are as short as by select --score loss; --coef-bound 10 shrinks them less."
REPEATED = "To repeat it, with these defaults: 'mipselect solve FILE.toml', a file here that says"


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
    if solved.table is not None:
        heading(console, REPEATED)
        line(console, solved.table.toml(solved.instance))


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
    if solved.table is not None:
        line(console, f"Ranges, within which columns are scaled: {solved.table.ranges}. {DEFAULTS}")


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
