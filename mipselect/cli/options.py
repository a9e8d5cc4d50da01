"""Options that several commands share, and the checks that need neither data nor solver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console

from mipselect.backends.discovery import NATIVE, solver_by_name
from mipselect.cli.declared import option, options
from mipselect.cli.output import Report, deliver
from mipselect.errors import InvalidInput, about
from mipselect.validation import (
    checked_integer,
    checked_positive,
    checked_time_limit,
    checked_tolerance,
    plain_digits,
    shown,
)

if TYPE_CHECKING:
    from mipselect.selectors.searched import SearchSettings

AUTO = "auto"
ONE_SWAP: Literal["one-swap"] = "one-swap"

NO_FILE = ("--output", "--replace")
"""Options of a delivery that a command without an output has not."""

SEARCH_PANEL = "Search"
PRIVACY_PANEL = "Privacy"


@options
class Delivery:
    """Form of a report, and the file that it is written to."""

    as_json: bool = option(
        "--json", "Print one JSON object and nothing else on standard output.", default=False
    )
    output: Path | None = option("--output", "Also write the JSON object to FILE.", metavar="FILE")
    replace: bool = option(
        "--replace",
        "Replace a file, whatever it holds. Without it none is replaced but an empty one, and "
        "JSON of mipselect that cost nothing.",
        default=False,
    )

    def deliver(self, report: Report, render: Callable[[Console], None]) -> None:
        """Print a report in its form and write it to its file; see `output.deliver`."""
        deliver(report, render, as_json=self.as_json, output=self.output, replace=self.replace)


@options
class SearchArguments:
    """Options of a certified search."""

    PANEL = SEARCH_PANEL

    pool_size: str | None = option(
        "--pool-size",
        "How many of the best supports top-r lists, all at most; one-swap is 2 + s(p-s).",
        metavar="R|one-swap|all",
        show_default=ONE_SWAP,
    )
    solver: str = option("--solver", "Back end, see 'mipselect solvers'.", default=AUTO)
    tolerance: float | None = option(
        "--tolerance",
        "τ in units of the sensitivity; it costs ε. Public: fix it before you see the data.",
        show_default="1e-5; of whole models 0.05",
    )
    time_limit: float | None = option(
        "--time-limit",
        "Give up a search, or a draw, after so long.",
        metavar="SECONDS",
        show_default="no limit",
    )

    def settings(self) -> SearchSettings:
        """Check what can be checked without data; raise `InvalidInput` naming the option."""
        from mipselect.selectors.searched import SearchSettings

        if self.solver not in (AUTO, NATIVE):
            with about("--solver"):
                solver_by_name(self.solver)
        if self.tolerance is not None:
            checked_tolerance(self.tolerance, "--tolerance")
        if self.time_limit is not None:
            checked_time_limit(self.time_limit, "--time-limit")
        return SearchSettings(
            pool_size=parse_pool_size(self.pool_size),
            solver=self.solver,
            tolerance=self.tolerance,
            time_limit=self.time_limit,
        )


def stated(**values: Any) -> dict[str, Any]:
    """Return the values that were given, for None stands for a default elsewhere."""
    return {name: value for name, value in values.items() if value is not None}


def require_positive(option: str, value: float) -> None:
    """Raise `InvalidInput` naming `option` unless `value` is finite and > 0."""
    checked_positive(value, option)


def check_seed(seed: int | None) -> None:
    """Raise `InvalidInput` for a seed that is none."""
    if seed is not None:
        checked_integer(seed, "--seed", 0)


def parse_pool_size(text: str | None) -> int | Literal["one-swap", "all"]:
    """Return a number of supports, or a word for one."""
    if text is None or text == ONE_SWAP:
        return ONE_SWAP
    if text == "all":
        return "all"
    try:
        size = int(plain_digits(text))
    except ValueError:
        size = 0
    if size < 1:
        raise InvalidInput(
            f"--pool-size must be an integer ≥ 1, {ONE_SWAP!r} or 'all', got {shown(text)}"
        )
    return size
