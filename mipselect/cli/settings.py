"""What is public about a release: the problem, the search and who did it; as JSON and as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from rich.console import Console

from mipselect.backends.discovery import NATIVE, solver_by_name
from mipselect.cli.options import AUTO
from mipselect.cli.sizes import sizes_in_words
from mipselect.instance import Instance
from mipselect.methods import (
    ExponentialMethod,
    MistakesMethod,
    SearchOptions,
    SupportMethod,
    TopRMethod,
)
from mipselect.search.options import DEFAULT_TOLERANCE
from mipselect.search.supports import number_of_listed
from mipselect.validation import listed


def tolerance_of(method: SupportMethod) -> float:
    """τ of its search in units of the sensitivity; zero for exact draws, which have none."""
    search = _search(method)
    if search is None:
        return 0.0
    return DEFAULT_TOLERANCE if search.tolerance is None else search.tolerance


def settings_report(
    instance: Instance, method: SupportMethod, target_shift: float
) -> Mapping[str, Any]:
    """Part of the JSON object of a release. All of it is public.

    Parameters
    ----------
    instance : Instance
        With the largest size that may be drawn.
    method : SupportMethod
    target_shift : float
    """
    search = _search(method)
    sizes = method.sizes if isinstance(method, ExponentialMethod) else None
    lists = isinstance(method, TopRMethod) or (
        isinstance(method, MistakesMethod) and method.test_epsilon is not None
    )
    return {
        "n": instance.n,
        "p": instance.p,
        "support_size": instance.support_size,
        "sizes": None if sizes is None else list(sizes),
        "complexity": _complexity(method),
        "number_of_supports": sum(
            math.comb(instance.n_features, size) for size in sizes or [instance.support_size]
        ),
        "x_bound": instance.x_bound,
        "y_bound": instance.y_bound,
        "coef_bound": instance.coef_bound,
        "ridge": instance.ridge,
        "loss": instance.loss,
        "sensitivity": instance.sensitivity,
        "target_shift": target_shift,
        "features": list(instance.feature_names),
        "n_features": instance.n_features,
        **_of_a_table(instance),
        "pool_size": number_of_listed(instance, search.pool_size) if search and lists else None,
        "tolerance": tolerance_of(method) if search else None,
        "solver": _solver(search.solver) if search else None,
        "mipselect": version("mipselect"),
    }


def _of_a_table(instance: Instance) -> Mapping[str, Any]:
    """What else is public about a table with a schema."""
    if instance.units is None:
        return {}
    return {
        "protected_unit": instance.units.unit,
        "always": list(instance.units.always_names),
        "intercept": instance.intercept,
        "target": instance.units.target_name,
        "target_scale": instance.units.target_scale,
        "target_offset": instance.units.target_offset,
        "classes": None if instance.classes is None else list(instance.classes),
    }


def print_settings(console: Console, settings: Mapping[str, Any]) -> None:
    """Print a `settings_report`."""

    def line(what: str, text: str) -> None:
        console.print(f"{what}: {text}", markup=False, soft_wrap=True)

    size = f"s = {settings['support_size']}"
    if settings["sizes"] is not None:
        size = f"s of {sizes_in_words(settings['sizes'])}"
    if settings["complexity"] is not None:
        size += f" with complexity {settings['complexity']:g}"
    line(
        "Problem",
        "n = {n:,}, p = {p:,}, {size}, {loss} loss, x_bound {x_bound:g}, "
        "y_bound {y_bound:g}, coef_bound {coef_bound:g}, ridge {ridge:g}, "
        "target_shift {target_shift:g}, sensitivity {sensitivity:.6g}".format(
            size=size, **settings
        ),
    )
    line("Features", listed(settings["features"]))
    if "protected_unit" in settings:
        always = [*settings["always"], *(["an intercept"] if settings["intercept"] else [])]
        line("Always in", listed(always) if always else "nothing")
        line("Protected", f"one {settings['protected_unit']}, with all that stands in it")
    search = []
    if settings["pool_size"] is not None:
        search.append(f"pool of {settings['pool_size']:,}")
    if settings["solver"] is not None:
        search.append(
            "tolerance {tolerance:g}, solver {solver[name]} {solver[version]}".format(**settings)
        )
    line("Search", "; ".join([*search, f"mipselect {settings['mipselect']}"]))


def _search(method: SupportMethod) -> SearchOptions | None:
    return method.search if isinstance(method, TopRMethod | MistakesMethod) else None


def _complexity(method: SupportMethod) -> float | None:
    """a of the prior over sizes, where there is a choice between sizes."""
    if not isinstance(method, ExponentialMethod) or method.sizes is None:
        return None
    return method.complexity if len(method.sizes) > 1 else None


def _solver(name: str) -> Mapping[str, str]:
    if name in (AUTO, NATIVE):
        return {"name": NATIVE, "version": version("mipselect")}
    return {"name": name, "version": solver_by_name(name).status.version}
