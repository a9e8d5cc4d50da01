"""Options that several commands share, and the checks that need neither data nor solver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from mipselect.backends.discovery import NATIVE, solver_by_name
from mipselect.errors import InvalidInput
from mipselect.methods import SearchSettings
from mipselect.validation import checked_positive, checked_time_limit, checked_tolerance, shown

AUTO = "auto"
ONE_SWAP: Literal["one-swap"] = "one-swap"

SEARCH_PANEL = "Search"
PRIVACY_PANEL = "Privacy"

InstanceName = Annotated[
    str,
    typer.Argument(
        metavar="INSTANCE",
        help="Name of a stored instance (see 'mipselect instances') or path of a .toml file.",
    ),
]
SolverName = Annotated[
    str,
    typer.Option(
        "--solver", help="Back end, see 'mipselect solvers'.", rich_help_panel=SEARCH_PANEL
    ),
]
PoolSize = Annotated[
    str | None,
    typer.Option(
        "--pool-size",
        metavar="R|one-swap|all",
        help="How many of the best supports top-r lists, all at most; one-swap is 2 + s(p-s).",
        show_default=ONE_SWAP,
        rich_help_panel=SEARCH_PANEL,
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        help="τ in units of the sensitivity; it costs ε. Public: fix it before you see the data.",
        show_default="1e-5",
        rich_help_panel=SEARCH_PANEL,
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        help="Give up a search, or a draw, after so long.",
        show_default="no limit",
        rich_help_panel=SEARCH_PANEL,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Also write the JSON object to FILE."),
]


class MethodKind(StrEnum):
    """Ways to release a support."""

    EXPONENTIAL = "exponential"
    TOP_R = "top-r"
    MISTAKES = "mistakes"
    SIS = "sis"
    KENDALL = "kendall"
    SAMPLE_AGGREGATE = "sample-aggregate"
    MCMC = "mcmc"


def search_options(
    *, pool_size: str | None, solver: str, tolerance: float | None, time_limit: float | None
) -> SearchSettings:
    """Check what can be checked without data; raise `InvalidInput` naming the option."""
    if solver not in (AUTO, NATIVE):
        with about("--solver"):
            solver_by_name(solver)
    if tolerance is not None:
        checked_tolerance(tolerance, "--tolerance")
    if time_limit is not None:
        checked_time_limit(time_limit, "--time-limit")
    return SearchSettings(
        pool_size=_parse_pool_size(pool_size),
        solver=solver,
        tolerance=tolerance,
        time_limit=time_limit,
    )


def require_positive(option: str, value: float) -> None:
    """Raise `InvalidInput` naming `option` unless `value` is finite and > 0."""
    checked_positive(value, option)


@contextmanager
def about(what: str) -> Iterator[None]:
    """Put the option or the file that it is about before a message about bad input."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{what}: {error}") from error


def refuse(method: MethodKind, given: dict[str, object]) -> None:
    """Raise `InvalidInput` if an option was given that `method` does not use."""
    for option, value in given.items():
        if value is not None:
            raise InvalidInput(f"{option} does not apply to --method {method.value}")


def _parse_pool_size(text: str | None) -> int | Literal["one-swap", "all"]:
    if text is None or text == ONE_SWAP:
        return ONE_SWAP
    if text == "all":
        return "all"
    try:
        size = int(text)
    except ValueError:
        size = 0
    if size < 1:
        raise InvalidInput(
            f"--pool-size must be an integer ≥ 1, {ONE_SWAP!r} or 'all', got {shown(text)}"
        )
    return size
