"""Options that several commands share, and the checks that need neither data nor solver."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from mipselect import privacy
from mipselect.cli.declared import group, option, options, required
from mipselect.errors import InvalidInput, about
from mipselect.privacy.guarantee import checked_relation
from mipselect.selectors import BY_NAME
from mipselect.validation import checked_integer, plain_digits, shown

AUTO = "auto"
ONE_SWAP: Literal["one-swap"] = "one-swap"

SEARCH_PANEL = "Search"
PRIVACY_PANEL = "Privacy"

METHODS_IN_WORDS = (
    "permute-and-flip and exponential draw exactly from all supports, the first closer to the best "
    "ones at the same ε; top-r and mistakes search for the best ones; sis, kendall and "
    "sample-aggregate draw from scores of columns; mcmc walks, private if it has mixed. What else "
    "one takes is shown by '--method NAME --help'."
)


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
    device: str | None = option(
        "--device", "Device of PyTorch that multiplies columns, as cuda.", show_default="NumPy"
    )
    tolerance: float | None = option(
        "--tolerance",
        "τ in units of the sensitivity; it costs ε. Public: fix it before you see the data.",
        show_default="1e-5",
    )
    time_limit: float | None = option(
        "--time-limit",
        "Give up a search, or a draw, after so long.",
        metavar="SECONDS",
        show_default="no limit",
    )


@options
class ChargeOptions:
    """Relation under which ε is stated, ledger that pays it, and seed, of one release."""

    PANEL = PRIVACY_PANEL

    relation: str | None = option(
        "--relation",
        "What ε is stated under; under add-remove the number of rows is private too.",
        metavar="replace-one|add-remove",
        show_default="that of the ledger, or replace-one",
    )
    ledger: Path | None = option(
        "--ledger",
        "Charge this ledger before anything is drawn; 'mipselect ledger create' makes one.",
        metavar="FILE",
        show_default="nothing remembers the release",
    )
    seed: int | None = option("--seed", "Reproducible draws, for tests: the result is NOT PRIVATE.")

    def __post_init__(self) -> None:
        if self.seed is not None:
            checked_integer(self.seed, "--seed", 0)

    def opened(self) -> privacy.Ledger | None:
        """Open the ledger; None where none was given.

        Raises
        ------
        InvalidInput, LedgerBroken
        """
        return None if self.ledger is None else privacy.Ledger.open(self.ledger)

    def relation_of(self, ledger: privacy.Ledger | None) -> str:
        """Return the relation that was given, or else that of the ledger, or replace-one."""
        known = "replace-one" if ledger is None else ledger.relation
        return checked_relation(self.relation or known, "--relation")

    def source(self) -> random.Random:
        """Begin the source of all random choices."""
        return random.SystemRandom() if self.seed is None else random.Random(self.seed)


@options
class DrawOptions:
    """A draw: its ε, the method that draws a support, and the ledger that it is charged to.

    What a method takes is `further`: the command line asks the method for its options.
    """

    PANEL = PRIVACY_PANEL

    epsilon: float = required("--epsilon", "ε of the draw, > 0.")

    method: str | None = option(
        "--method",
        f"{METHODS_IN_WORDS} A ledger of ρ is charged ε²/8 for exponential, and four times as much "
        "for permute-and-flip, which is not of bounded range.",
        show_default="permute-and-flip; with a ledger of ρ exponential",
        choices=BY_NAME,
    )
    charge: ChargeOptions = group(ChargeOptions)
    dry_run: bool = option(
        "--dry-run",
        "State the problem, the cost and the guarantee; read no row and draw nothing.",
        default=False,
    )
    further: Mapping[str, Any] = field(default_factory=dict)


def check_solver(name: str) -> None:
    """Raise `InvalidInput` for a solver that cannot be used here."""
    from mipselect.backends import NATIVE, solver_by_name

    if name not in (AUTO, NATIVE):
        with about("--solver"):
            solver_by_name(name)


def stated(**values: Any) -> dict[str, Any]:
    """Return the values that were given, for None stands for a default elsewhere."""
    return {name: value for name, value in values.items() if value is not None}


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


PART = re.compile(r"\s*([0-9]{1,7})\s*(?:-\s*([0-9]{1,7})\s*)?")
"""One size, or the first and the last of a range; no table has columns for more digits."""


def parse_sizes(text: str) -> tuple[int, ...]:
    """Parse sizes, each once and rising; raise `InvalidInput` if the text has anything else."""
    sizes: set[int] = set()
    for part in text.split(","):
        found = PART.fullmatch(part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last:
            raise InvalidInput(f"--sizes must be sizes ≥ 1 such as 1-8 or 1,3,5, got {shown(text)}")
        sizes.update(range(first, last + 1))
    return tuple(sorted(sizes))


PARSED: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "--sizes": (parse_sizes, "S-S|S,S,..."),
    "--pool-size": (parse_pool_size, "R|one-swap|all"),
}
"""Options of methods whose text stands for something else, with what it may look like."""


def option_named(field: str) -> str:
    """Write the name of a field as an option: --coef-bound for coef_bound."""
    return "--" + field.replace("_", "-")
