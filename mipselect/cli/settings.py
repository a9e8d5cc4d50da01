"""What is public about a release: the problem, the search and who did it; as JSON and as text."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from rich.console import Console

from mipselect.backends.discovery import NATIVE, solver_by_name
from mipselect.cli.options import AUTO
from mipselect.instance import Instance
from mipselect.methods import MistakesMethod, SearchOptions, SupportMethod, TopRMethod
from mipselect.search.options import DEFAULT_TOLERANCE
from mipselect.search.supports import number_of_listed
from mipselect.validation import listed


def tolerance_of(method: SupportMethod) -> float:
    """τ of its search in units of the sensitivity; zero where everything is enumerated."""
    search = _search(method)
    if search is None:
        return 0.0
    return DEFAULT_TOLERANCE if search.tolerance is None else search.tolerance


def settings_report(
    instance: Instance, method: SupportMethod, target_shift: float
) -> Mapping[str, Any]:
    """Part of the JSON object of a release. All of it is public."""
    search = _search(method)
    lists = isinstance(method, TopRMethod) or (
        isinstance(method, MistakesMethod) and method.test_epsilon is not None
    )
    return {
        "n": instance.n,
        "p": instance.p,
        "support_size": instance.support_size,
        "number_of_supports": instance.number_of_supports,
        "x_bound": instance.x_bound,
        "y_bound": instance.y_bound,
        "coef_bound": instance.coef_bound,
        "ridge": instance.ridge,
        "loss": instance.loss,
        "sensitivity": instance.sensitivity,
        "target_shift": target_shift,
        "features": list(instance.feature_names),
        "pool_size": number_of_listed(instance, search.pool_size) if search and lists else None,
        "tolerance": tolerance_of(method) if search else None,
        "solver": _solver(search.solver) if search else None,
        "mipselect": version("mipselect"),
    }


def print_settings(console: Console, settings: Mapping[str, Any]) -> None:
    """Print a `settings_report`."""

    def line(what: str, text: str) -> None:
        console.print(f"{what}: {text}", markup=False, soft_wrap=True)

    line(
        "Problem",
        "n = {n:,}, p = {p:,}, s = {support_size}, {loss} loss, x_bound {x_bound:g}, "
        "y_bound {y_bound:g}, coef_bound {coef_bound:g}, ridge {ridge:g}, "
        "target_shift {target_shift:g}, sensitivity {sensitivity:.6g}".format(**settings),
    )
    line("Features", listed(settings["features"]))
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


def _solver(name: str) -> Mapping[str, str]:
    if name in (AUTO, NATIVE):
        return {"name": NATIVE, "version": version("mipselect")}
    return {"name": name, "version": solver_by_name(name).status.version}
