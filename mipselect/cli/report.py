"""Reports of `solve` on a pool or on levels, as JSON and as tables. All of them are sensitive."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect.cli.expectation import Comparison
from mipselect.cli.output import SENSITIVE, banner, heading
from mipselect.cli.usefulness import Clipping, Outside
from mipselect.instance import Instance
from mipselect.search import MistakeLevels, SupportPool

INTERCEPT = "(intercept)"


def pool_report(
    instance: Instance,
    pool: SupportPool,
    name: str,
    comparison: Comparison | None,
    clipping: Clipping | None,
    outside: Outside | None,
) -> Mapping[str, Any]:
    """The JSON object of a pool; an infinite bound is null."""
    return {
        **_common_report(instance, pool, name, comparison, clipping),
        "outside_pool": None if outside is None else asdict(outside),
        "method": "top-r",
        "pool_size": len(pool),
        "worst_listed_value": float(pool.values[-1]),
        "rest_bound": _or_none(pool.rest_bound),
        "supports": pool.supports.tolist(),
        "values": pool.values.tolist(),
    }


def levels_report(
    instance: Instance,
    levels: MistakeLevels,
    name: str,
    comparison: Comparison | None,
    clipping: Clipping | None,
) -> Mapping[str, Any]:
    """The JSON object of mistake levels; an infinite gap is null."""
    return {
        **_common_report(instance, levels, name, comparison, clipping),
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
        "gap": _or_none(levels.gap),
        "gap_over_twice_sensitivity": _or_none(levels.gap / (2.0 * levels.sensitivity)),
    }


def print_pool(
    console: Console,
    instance: Instance,
    pool: SupportPool,
    name: str,
    comparison: Comparison | None,
    clipping: Clipping | None,
    outside: Outside | None,
    rows: int,
) -> None:
    """Print a pool: the problem, the best support, the first rows, and what is proven."""
    banner(console, SENSITIVE)
    _print_problem(console, instance, pool, name, clipping)
    heading(console, f"The {min(rows, len(pool)):,} best of {len(pool):,} listed supports")
    table = Table()
    for title in ("rank", "value", "features", "names"):
        right = title in ("rank", "value")
        table.add_column(title, justify="right" if right else "left", overflow="fold")
    for k in range(min(rows, len(pool))):
        table.add_row(
            str(k + 1),
            f"{pool.values[k]:.10g}",
            " ".join(map(str, pool.supports[k])),
            _names(instance, pool.supports[k].tolist()),
        )
    console.print(table)
    console.print(f"Worst listed value: {pool.values[-1]:.10g}")
    if math.isinf(pool.rest_bound):
        console.print("Every support is listed.")
    else:
        console.print(f"Proven for each of the others: at least {pool.rest_bound:.10g}")
    if outside is not None:
        console.print(
            f"Probability that top-r with ε = {outside.epsilon:g} draws from outside of this pool: "
            f"{outside.probability:.4g}"
        )
    _print_verdict(console, pool, comparison)


def print_levels(
    console: Console,
    instance: Instance,
    levels: MistakeLevels,
    name: str,
    comparison: Comparison | None,
    clipping: Clipping | None,
) -> None:
    """Print mistake levels: the problem, the best support, every level, and the gap."""
    banner(console, SENSITIVE)
    _print_problem(console, instance, levels, name, clipping)
    heading(console, "The best support at each distance from the best")
    table = Table()
    for title in ("level", "value", "proven bound", "supports in level"):
        table.add_column(title, justify="right")
    table.add_column("names", overflow="fold")
    for i, size in enumerate(levels.sizes):
        table.add_row(
            str(i),
            f"{levels.values[i]:.10g}",
            f"{levels.bounds[i]:.10g}",
            f"{size:,}",
            _names(instance, levels.supports[i].tolist()),
        )
    console.print(table)
    if math.isfinite(levels.gap):
        ratio = levels.gap / (2.0 * levels.sensitivity)
        needs = "meets" if ratio > 1.0 else "does not meet"
        console.print(
            f"Gap between best and second best: at least {levels.gap:.6g} = {ratio:.4g} · 2Δ; "
            f"it {needs} the condition of mistakes, more than 2Δ."
        )
    _print_verdict(console, levels, comparison)


def _common_report(
    instance: Instance,
    found: SupportPool | MistakeLevels,
    name: str,
    comparison: Comparison | None,
    clipping: Clipping | None,
) -> dict[str, Any]:
    best = found.supports[0].tolist()
    fit = instance.fit(best)
    return {
        "command": "solve",
        "sensitive": True,
        "warning": SENSITIVE,
        "instance": name,
        "n": instance.n,
        "p": instance.p,
        "n_features": instance.n_features,
        "support_size": instance.support_size,
        "number_of_supports": instance.number_of_supports,
        "sensitivity": found.sensitivity,
        "tolerance": found.tolerance,
        "certified": found.certified,
        "best": {
            "support": best,
            "names": [instance.feature_names[j] for j in best],
            "value": float(found.values[0]),
            "proven_optimal": found.proves_optimum,
            "columns": [instance.column_names[c] for j in best for c in instance.groups[j]],
            "coef": fit.coef.tolist(),
            "always": _names_always_in(instance),
            "always_coef": fit.always.tolist(),
            **_in_units(instance, best),
            "multiplier": fit.multiplier,
        },
        "expected": None
        if comparison is None
        else {"agrees": comparison.agrees, "exact": comparison.exact},
        "clipped": None if clipping is None else asdict(clipping),
        "effort": asdict(found.effort),
    }


def _print_problem(
    console: Console,
    instance: Instance,
    found: SupportPool | MistakeLevels,
    name: str,
    clipping: Clipping | None,
) -> None:
    heading(console, name)
    facts = Table()
    grouped = instance.n_features != instance.p
    for title in ("n", "p", "features", "s", "supports", "sensitivity Δ", "tolerance τ", "solver"):
        if title != "features" or grouped:
            facts.add_column(title, justify="right")
    facts.add_column("seconds", justify="right")
    supports = instance.number_of_supports
    facts.add_row(
        f"{instance.n:,}",
        f"{instance.p:,}",
        *([f"{instance.n_features:,}"] if grouped else []),
        str(instance.support_size),
        f"{supports:,}" if supports < 10**15 else f"about 10^{len(str(supports)) - 1}",
        f"{found.sensitivity:.6g}",
        f"{found.tolerance:g} Δ",
        found.effort.solver,
        f"{found.effort.seconds:.2f}",
    )
    console.print(facts)
    support = found.supports[0].tolist()
    heading(console, f"{_best_in_words(found)}, value {found.values[0]:.10g}")
    best = Table()
    best.add_column("feature", justify="right")
    best.add_column("name", overflow="fold")
    best.add_column("coefficient", justify="right")
    best.add_column("clipped", justify="right")
    fit, names = instance.fit(support), instance.column_names
    chosen = [(str(j), c) for j in support for c in instance.groups[j]]
    always = [("always", c) for part in instance.always for c in part]
    coefficients = [*fit.coef.tolist(), *fit.always.tolist()]
    for (feature, c), coefficient in zip([*chosen, *always], coefficients, strict=False):
        share = "-" if clipping is None else f"{clipping.columns[c]:.1%}"
        best.add_row(feature, escape(names[c]), f"{coefficient:.6g}", share)
    if instance.intercept:
        best.add_row("always", INTERCEPT, f"{coefficients[-1]:.6g}", "-")
    console.print(best)
    if instance.units is not None:
        heading(console, "The same in the units of the table")
        console.print(str(instance.fit_in_units(support)), markup=False)
    if clipping is None:
        return
    most = max(range(instance.p), key=clipping.columns.__getitem__)
    console.print(
        f"Clipped by the bounds: {clipping.target:.1%} of the target; of the columns "
        f"{fmean(clipping.columns):.1%} on average, at most {clipping.columns[most]:.1%} "
        f"({instance.column_names[most]})",
        markup=False,
    )


def _best_in_words(found: SupportPool | MistakeLevels) -> str:
    if found.proves_optimum:
        return "The best support"
    if found.certified:
        return f"A support within {found.tolerance:g} Δ of the best"
    return "The best support found"


def _in_units(instance: Instance, support: list[int]) -> dict[str, Any]:
    """Part of the JSON object for a table with a schema."""
    if instance.units is None:
        return {}
    rule = instance.fit_in_units(support)
    return {"in_units": {"intercept": rule.intercept, "by_column": dict(rule.by_column)}}


def _print_verdict(
    console: Console, found: SupportPool | MistakeLevels, comparison: Comparison | None
) -> None:
    console.print("Certified: yes" if found.certified else "Certified: NO")
    if comparison is not None:
        console.print(f"This result {comparison.sentence}.", markup=False)


def _names_always_in(instance: Instance) -> list[str]:
    """Return the names of the columns that are always in, in the order of their coefficients."""
    names = [instance.column_names[c] for part in instance.always for c in part]
    return [*names, *([INTERCEPT] if instance.intercept else [])]


def _names(instance: Instance, support: list[int]) -> str:
    return escape(", ".join(instance.feature_names[j] for j in support))


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
