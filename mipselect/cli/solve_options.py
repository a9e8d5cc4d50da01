"""Arguments and help of `mipselect solve`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from mipselect.cli.declared import command_in, group, option, options
from mipselect.cli.options import (
    PRIVACY_PANEL,
    SEARCH_PANEL,
    Delivery,
    SearchArguments,
)
from mipselect.cli.table_options import (
    SCHEMA,
    TABLE_PANEL,
    DialectOptions,
    SourceOptions,
)
from mipselect.search.monolithic.forms import Formulation

EXAMPLES = """Examples:

mipselect solve diabetes

mipselect solve patients.csv --target score --support-size 4

mipselect solve paper-p100 --method mistakes

mipselect solve paper-p100 --pool-size 1000 --show 20 --output report.json

mipselect solve tiny-plain --formulation whole --solver scip
"""


class SolveMethod(StrEnum):
    """Goal of a search: the best supports, or the best at each distance from the best."""

    TOP_R = "top-r"
    MISTAKES = "mistakes"


@options
class SolveArguments:
    """Arguments of `solve`."""

    method: SolveMethod = option(
        "--method",
        "top-r: the best supports; mistakes: the best at each distance from the best.",
        default=SolveMethod.TOP_R,
        panel=SEARCH_PANEL,
    )
    formulation: Formulation = option(
        "--formulation",
        "cuts: the certified search; whole: one model for the optimum or for each level, as a "
        "second opinion, in the perspective or the big-m form.",
        default=Formulation.CUTS,
        panel=SEARCH_PANEL,
    )
    search: SearchArguments = group(SearchArguments)
    epsilon: float = option(
        "--epsilon",
        "Report how probable it is that top-r with this ε draws from outside of the pool.",
        default=1.0,
        panel=PRIVACY_PANEL,
    )
    source: SourceOptions = group(SourceOptions)
    target: str | None = option("--target", "Of a table: the column to predict.", panel=TABLE_PANEL)
    schema: Path | None = option(
        "--schema",
        f"Of a table. {SCHEMA}",
        metavar="FILE",
        show_default="numbers, within the ranges of their rows",
        panel=TABLE_PANEL,
    )
    dialect: DialectOptions = group(DialectOptions)
    show: int = option("--show", "Rows of the pool to print.", default=5)
    profile: bool = option(
        "--profile",
        "Report calls, successes and seconds of every strategy of the search.",
        default=False,
        panel=SEARCH_PANEL,
    )
    delivery: Delivery = group(Delivery)


@command_in("mipselect.cli.solve")
def solve(arguments: SolveArguments) -> None:
    """Find the best supports of INSTANCE and prove it. The report is SENSITIVE.

    A table in its place needs --target and --support-size; the rest has defaults.

    If the instance file says what is expected, the result is compared with it. A
    search that ends without its proof shows what it has, as not certified, and
    exits with 1.
    """
