"""Public side of a release: the problem, the search and its software, as JSON and as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console

from mipselect.backends.discovery import NATIVE, solver_by_name
from mipselect.cli.arguments import flags_of
from mipselect.cli.options import AUTO
from mipselect.cli.output import bounds_in_words, dimension
from mipselect.parameters import parameters_of
from mipselect.privacy.guarantee import ROW
from mipselect.problem.problem import Problem
from mipselect.problem.scores import BLOCKS, LOSS, R2
from mipselect.search.options import SearchSettings
from mipselect.search.supports import number_of_listed
from mipselect.selectors import MistakesSelector, TopRSelector
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import ExactDrawSelector, asked_sizes
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.people import people_in_words
from mipselect.validation import listed, plural, sizes_in_words

if TYPE_CHECKING:
    from mipselect.selectors import MCMCSelector


def settings_report(problem: Problem, method: PrivateSelector, n: int | None) -> dict[str, Any]:
    """Describe the public settings of a release for its JSON object; null is what does not apply.

    Parameters
    ----------
    problem : Problem
    method : PrivateSelector
    n : int or None
        The number of rows; None where it is private, or not known before a row is read.
    """
    asked, search = method.problem(problem), _search(method)
    public = asked.public()
    if "always" in public:
        public["always_counts"] = method.looks_at_always
    sizes = asked_sizes(method)
    known = n is not None and isinstance(method, ProblemSelector)
    return {
        "n": n,
        **public,
        "sizes": None if sizes is None else list(sizes),
        "complexity": _complexity(method),
        "number_of_supports": sum(
            math.comb(asked.n_features, size) for size in sizes or [asked.support_size]
        ),
        "sensitivity": asked.sensitivity(n) if known and n is not None else None,
        "pool_size": _pool_size(asked, method),
        "tolerance": search.proven_tolerance if search else None,
        "solver": _solver(search.solver) if search else None,
        **_of_rows(method, asked),
        "mipselect": version("mipselect"),
    }


def unit_of(settings: Mapping[str, Any]) -> str:
    """Return the unit that a guarantee is about: "row", or the field of the privacy unit."""
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
    parts += bounds_in_words(settings)
    if settings["sensitivity"] is not None:
        parts.append(f"sensitivity {settings['sensitivity']:.6g}")
    line("Problem", ", ".join(parts))
    if "unit_rule" in settings:
        line("People", people_in_words(unit_of(settings), settings["unit_rule"]))
    if (score := settings.get("score", LOSS)) != LOSS:
        line("Score", _score_in_words(score, settings))
    if "weight_bound" in settings:
        line(
            "Weights",
            f"rows count by {settings['weight']}, clipped to 0 and {settings['weight_bound']:g}; "
            "0 where it is missing",
        )
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


SCORES_OF_BLOCKS = {
    BLOCKS: ("least squares on blocks", "for any number of supports and several sizes"),
    R2: ("R² within blocks", "for supports that can all be listed"),
}
"""Scores in words, and what each is for."""


def _score_in_words(score: str, settings: Mapping[str, Any]) -> str:
    what, why = SCORES_OF_BLOCKS[score]
    blocks = "whose number of rows follows from n and ε"
    if settings["block_rows"] is not None:
        partitions = plural(settings["partitions"], "partition")
        blocks = f"of {settings['block_rows']} rows, in {partitions}"
    for_it = " to draw features" if "regression" in settings else ""
    return f"{what} {blocks}, {why}; no ranges were used{for_it}"


OF_ROWS = ("top_k", "alpha", "blocks", "mcmc_steps", "mcmc_radius")
"""Recorded options of the methods without a certified search: named as on the command line."""


def _of_rows(method: PrivateSelector, asked: Problem) -> Mapping[str, Any]:
    told: dict[str, Any] = dict.fromkeys(OF_ROWS)
    for name, about in parameters_of(method).items():
        key = (about.flag or "").removeprefix("--").replace("-", "_")
        if key in told:
            told[key] = getattr(method, name)
    if "--mcmc-radius" in flags_of(type(method)):
        told["mcmc_radius"] = cast("MCMCSelector", method).radius_of(asked)
    return told


def _search(method: PrivateSelector) -> SearchSettings | None:
    return method.search if isinstance(method, TopRSelector | MistakesSelector) else None


def _complexity(method: PrivateSelector) -> float | None:
    """Return a of the prior over sizes, where there is a choice between sizes."""
    if not isinstance(method, ExactDrawSelector) or method.sizes is None:
        return None
    return method.complexity if len(method.sizes) > 1 else None


def _solver(name: str) -> Mapping[str, str]:
    if name in (AUTO, NATIVE):
        return {"name": NATIVE, "version": version("mipselect")}
    return {"name": name, "version": solver_by_name(name).status.version}


def _pool_size(problem: Problem, method: PrivateSelector) -> int | None:
    match method:
        case TopRSelector():
            return number_of_listed(problem, method.search.pool_size)
        case MistakesSelector() if method.test_epsilon is not None:
            return number_of_listed(problem, method.search.pool_size)
        case _:
            return None
