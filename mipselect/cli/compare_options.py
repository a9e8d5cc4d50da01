"""Arguments and help of `mipselect compare`."""

from __future__ import annotations

from enum import StrEnum

from mipselect.cli.declared import argument, command_in, group, option, options
from mipselect.cli.options import SEARCH_PANEL, Delivery, SearchArguments

ALL = "all"


EXAMPLES = """Examples:

mipselect compare diabetes paper-p100 --solvers native,highs

mipselect compare tiny-plain --formulation both --json
"""


class Formulations(StrEnum):
    """Ways of solving that are compared."""

    CUTS = "cuts"
    WHOLE = "whole"
    BOTH = "both"


@options
class CompareArguments:
    """Arguments of `compare`."""

    instances: list[str] = argument("INSTANCE", "Names of stored instances or .toml files.")
    solvers: str = option(
        "--solvers",
        "all: every solver that can be used here; the others are skipped.",
        default=ALL,
        metavar="NAME,NAME|all",
        panel=SEARCH_PANEL,
    )
    formulation: Formulations = option(
        "--formulation",
        "cuts: the search with its masters; whole: one model for each level.",
        default=Formulations.CUTS,
        panel=SEARCH_PANEL,
    )
    search: SearchArguments = group(SearchArguments, without=("--pool-size", "--solver"))
    delivery: Delivery = group(Delivery)


@command_in("mipselect.cli.compare")
def compare(arguments: CompareArguments) -> None:
    """Find the mistake levels of each INSTANCE with several solvers. The report is SENSITIVE.

    Fails if two answers contradict each other or what the file expects, if one is
    not certified, or if nothing was compared. What cannot be solved in a way that
    was asked for, such as a loss without whole models, is skipped and named.
    """
