"""`mipselect import-solution`: the answer of a solver to an exported model, computed anew."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.inputs import asked_of
from mipselect.cli.options import Delivery
from mipselect.cli.output import SENSITIVE, banner, check_output, heading, line, picked, table_of
from mipselect.cli.table_options import SourceOptions
from mipselect.errors import MipselectError, SolverFailure
from mipselect.exchange import ImportedSolution
from mipselect.exchange import import_solution as imported_solution
from mipselect.problem.instance import Instance
from mipselect.validation import checked_finite

EXAMPLES = """Examples:

mipselect import-solution diabetes diabetes.sol

mipselect import-solution diabetes diabetes.sol --bound 546.9 --json
"""

NOT_PROVEN = (
    "The lower bound is the solver's word, and no certificate: nothing here has proven it, and "
    "nothing can be released from it. 'mipselect solve' proves."
)
DISAGREES = (
    "The two differ: the model's cuts are weak here, or it was the model of another instance."
)
NO_BOUND = (
    "The file has no lower bound, and no word that the solution is optimal: --bound takes what "
    "the solver printed."
)


@options
class ImportArguments:
    """Arguments of `import-solution`."""

    source: SourceOptions = group(SourceOptions)
    solution: Path = argument(
        "SOLUTION", "What HiGHS, Gurobi, CPLEX, SCIP or CBC wrote of the exported model."
    )
    bound: float | None = option(
        "--bound",
        "Best bound that the solver printed, in units of the model.",
        show_default="the objective, if the file calls it optimal",
    )
    delivery: Delivery = group(Delivery)


@command
def import_solution(arguments: ImportArguments) -> None:
    """Compute the value of the support that another solver found. The report is SENSITIVE.

    SOLUTION is its answer to a model of 'export'. The value is computed from the
    data; the lower bound is the solver's word, and no certificate.
    """
    source, solution, delivery = arguments.source, arguments.solution, arguments.delivery
    if arguments.bound is not None:
        checked_finite([arguments.bound], "--bound", 1)
    given = asked_of(source, None)
    check_output(delivery.output, [*given.files, solution], replace=delivery.replace)
    instance = given.data().instance()
    try:
        imported = imported_solution(instance, solution, bound=arguments.bound)
    except SolverFailure as error:
        raise MipselectError(f"(sensitive) {solution}: {error}") from error
    support = imported.support.tolist()
    report = {
        "command": "import-solution",
        "sensitive": True,
        "warning": SENSITIVE,
        "instance": source.instance,
        "solution": str(solution),
        **picked(imported, "solver", "status"),
        "support": support,
        "names": [instance.feature_names[j] for j in support],
        **picked(imported, "value", "objective", "agrees", "claimed_bound", "certified"),
        "note": NO_BOUND if imported.claimed_bound is None else NOT_PROVEN,
    }

    def render(console: Console) -> None:
        banner(console, SENSITIVE)
        _show(console, solution, instance, imported)

    delivery.deliver(report, render)


def _show(console: Console, solution: Path, instance: Instance, imported: ImportedSolution) -> None:
    heading(console, f"{solution}: a solution by {imported.solver}")
    table = table_of("feature", "name", right=("feature",), fold=("name",))
    for j in imported.support.tolist():
        table.add_row(str(j), escape(instance.feature_names[j]))
    console.print(table)
    line(console, f"Value of this support, computed from the data: {imported.value:.10g}")
    if imported.objective is not None:
        line(console, f"What the solver says of it: {imported.objective:.10g}")
    if not imported.agrees:
        line(console, DISAGREES)
    if imported.status:
        line(console, f"Status, in the solver's words: {imported.status}")
    if imported.claimed_bound is None:
        line(console, NO_BOUND)
    else:
        claim = imported.claimed_bound
        line(console, f"Lower bound on every support, the solver's word: {claim:.10g}")
        line(console, NOT_PROVEN)
    line(console, "Certified: NO")
