"""Public side of a release: the problem, the search and its software, as JSON and as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from rich.console import Console

from mipselect.backends.discovery import NATIVE, solver_by_name
from mipselect.cli.facts import Facts
from mipselect.cli.options import AUTO
from mipselect.cli.sizes import dimension, sizes_in_words
from mipselect.methods import (
    ExponentialMethod,
    MCMCMethod,
    MistakesMethod,
    PrivateMethod,
    SampleAggregateMethod,
    SearchSettings,
    SISMethod,
    TopRMethod,
)
from mipselect.privacy.guarantee import ROW
from mipselect.validation import listed


def tolerance_of(method: PrivateMethod) -> float:
    """τ of its search in units of the sensitivity; zero for exact draws, which have none."""
    search = _search(method)
    return 0.0 if search is None else search.proven_tolerance


def settings_report(facts: Facts, method: PrivateMethod) -> Mapping[str, Any]:
    """Part of the JSON object of a release, all of it public; null is what does not apply."""
    search = _search(method)
    sizes = method.sizes if isinstance(method, ExponentialMethod) else None
    return {
        "n": facts.n,
        "p": facts.p,
        "support_size": facts.support_size,
        "sizes": None if sizes is None else list(sizes),
        "complexity": _complexity(method),
        "number_of_supports": sum(
            math.comb(facts.n_features, size) for size in sizes or [facts.support_size]
        ),
        "x_bound": list(facts.x_bound) if isinstance(facts.x_bound, Sequence) else facts.x_bound,
        "y_bound": facts.y_bound,
        "coef_bound": facts.coef_bound,
        "ridge": facts.ridge,
        "loss": facts.loss,
        "sensitivity": facts.sensitivity,
        "target_shift": facts.target_shift,
        "features": None if facts.feature_names is None else list(facts.feature_names),
        "n_features": facts.n_features,
        **facts.table,
        "pool_size": facts.pool_size,
        "tolerance": tolerance_of(method) if search else None,
        "solver": _solver(search.solver) if search else None,
        **_of_rows(method, facts),
        "mipselect": version("mipselect"),
    }


def unit_of(settings: Mapping[str, Any]) -> str:
    """Whose rows a promise is about: "row", or the field of the privacy unit of a table."""
    unit: str = settings.get("protected_unit", ROW)
    return unit


def print_settings(console: Console, settings: Mapping[str, Any]) -> None:
    """Print a `settings_report`."""

    def line(what: str, text: str) -> None:
        console.print(f"{what}: {text}", markup=False, soft_wrap=True)

    size = f"s = {settings['support_size']}"
    if settings["sizes"] is not None:
        size = f"s of {sizes_in_words(settings['sizes'])}"
    if settings["complexity"] is not None:
        size += f" with complexity {settings['complexity']:g}"
    parts = [] if settings["n"] is None else [f"n = {settings['n']:,}"]
    parts += [dimension(settings["p"], settings["n_features"]), size]
    if settings["loss"] is not None:
        parts.append(f"{settings['loss']} loss")
    for name in ("x_bound", "y_bound", "coef_bound", "ridge", "target_shift"):
        value = settings[name]
        if isinstance(value, list):
            parts.append(f"{name} {min(value):g} to {max(value):g} by feature")
        elif value is not None:
            parts.append(f"{name} {value:g}")
    if settings["sensitivity"] is not None:
        parts.append(f"sensitivity {settings['sensitivity']:.6g}")
    line("Problem", ", ".join(parts))
    if settings["features"] is not None:
        line("Features", listed(settings["features"]))
    if "always" in settings:
        always = [*settings["always"], *(["an intercept"] if settings["intercept"] else [])]
        remark = ""
        if settings["always"] and not settings["always_counts"]:
            remark = f"; no score depends on {listed(settings['always'])}"
        line("Always in", (listed(always) if always else "nothing") + remark)
    used = [f"{name} {settings[name]}" for name in OF_ROWS if settings[name] is not None]
    if settings["pool_size"] is not None:
        used.append(f"pool of {settings['pool_size']:,}")
    if settings["solver"] is not None:
        used.append(
            "tolerance {tolerance:g}, solver {solver[name]} {solver[version]}".format(**settings)
        )
    line("Search", "; ".join([*used, f"mipselect {settings['mipselect']}"]))


OF_ROWS = ("top_k", "alpha", "blocks", "mcmc_steps", "mcmc_radius")
"""What the methods without a certified search were told, by the names of the options."""


def _of_rows(method: PrivateMethod, facts: Facts) -> Mapping[str, Any]:
    told: dict[str, Any] = dict.fromkeys(OF_ROWS)
    match method:
        case SISMethod():
            told["top_k"] = method.top_k
        case SampleAggregateMethod():
            told |= {"top_k": method.top_k, "alpha": method.alpha, "blocks": method.n_blocks}
        case MCMCMethod():
            told |= {"mcmc_steps": method.n_steps, "mcmc_radius": facts.mcmc_radius}
    return told


def _search(method: PrivateMethod) -> SearchSettings | None:
    return method.search if isinstance(method, TopRMethod | MistakesMethod) else None


def _complexity(method: PrivateMethod) -> float | None:
    """a of the prior over sizes, where there is a choice between sizes."""
    if not isinstance(method, ExponentialMethod) or method.sizes is None:
        return None
    return method.complexity if len(method.sizes) > 1 else None


def _solver(name: str) -> Mapping[str, str]:
    if name in (AUTO, NATIVE):
        return {"name": NATIVE, "version": version("mipselect")}
    return {"name": name, "version": solver_by_name(name).status.version}
