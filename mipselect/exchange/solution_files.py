"""Solution files of MIP solvers, read strictly: what a file says, and nothing believed of it.

| solver | file | how it begins |
| --- | --- | --- |
| HiGHS | ``writeSolution``: raw, sparse and pretty | ``Model status``, ``Columns`` |
| Gurobi | ``.sol`` | ``# Solution for model`` |
| CPLEX | ``.sol``, XML | ``<?xml`` |
| SCIP | ``write solution`` | ``solution status:`` |
| CBC | ``solution`` | ``Optimal - objective value`` |

A file whose last line has no end was cut off. Where a format lists all columns, or says how many,
a file with fewer is refused too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from mipselect import disk
from mipselect.errors import InvalidInput
from mipselect.exchange.cplex_solutions import cplex_solution
from mipselect.exchange.solutions import Solution, Unreadable, add_column, number

MOST_BYTES = 2**28

KNOWN = (
    "HiGHS (raw, sparse or pretty), Gurobi (.sol), CPLEX (.sol, XML), SCIP (write solution) and "
    "CBC (solution)"
)
CUT_OFF = "ends in the middle of a line: it was cut off"
NO_SOLUTION = "has no solution: the solver found none"
CBC_ENDING = re.compile(r"^(?P<ending>\S.*?) - objective value\s+(?P<value>\S+)$")

PRETTY_ERROR = 5e-6
"""Relative error of a number with six digits."""


def read_solution(path: str | Path) -> Solution:
    """Read the file that a solver wrote.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    InvalidInput
        With the line that is wrong; the message is marked as sensitive.
    """
    path = Path(path)
    text = disk.small_text(path, MOST_BYTES)
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    reader = next((read for begins, read in READERS if begins(first)), None)
    if reader is None:
        raise InvalidInput(f"{path}: is no solution file of a known solver: {KNOWN}")
    try:
        if not text.endswith("\n") and reader is not _cplex:
            raise Unreadable(CUT_OFF, len(lines))
        return reader(lines)
    except Unreadable as error:
        where = f" line {error.line}" if error.line else ""
        raise InvalidInput(f"{path}: (sensitive){where} {error}") from error


def _words(lines: Iterable[tuple[int, str]], *counts: int) -> Iterable[tuple[int, list[str]]]:
    """Split lines that are not empty into words, of which there must be one of these numbers."""
    for k, line in lines:
        words = line.split()
        if not words:
            continue
        if len(words) not in counts:
            wanted = " or ".join(map(str, counts))
            raise Unreadable(f"has {len(words)} words where {wanted} were expected", k)
        yield k, words


def _highs_raw(lines: list[str]) -> Solution:
    """Read the status and the columns: as many as "# Columns N" says, or for -N those not zero.

    From version 1.16 on a bound and a gap stand between the objective and the columns.
    """
    head = {line.strip(): k for k, line in enumerate(lines)}
    if "# Primal solution values" not in head:
        raise Unreadable("has no section '# Primal solution values'", 0)
    at = head["# Primal solution values"] + 1
    if at < len(lines) and lines[at].strip() != "Feasible":
        raise Unreadable(NO_SOLUTION, at + 1)
    first = at + 2
    while first < len(lines) and lines[first].startswith(("Objective_bound ", "MIP_rel_gap ")):
        first += 1
    if first >= len(lines):
        raise Unreadable("ends before its columns: it was cut off", 0)
    status = lines[1].strip()
    objective = re.fullmatch(r"Objective (\S+)", lines[at + 1].strip())
    counted = re.fullmatch(r"# Columns (-?\d{1,9})(?: sparse)?", lines[first].strip())
    if objective is None or counted is None:
        raise Unreadable("is not 'Objective' with '# Columns' below it", at + 2)
    count, sparse = abs(int(counted[1])), counted[1].startswith("-")
    body = list(enumerate(lines, start=1))[first + 1 : first + 1 + count]
    if len(body) < count:
        raise Unreadable(f"has {len(body):,} of {count:,} columns: it was cut off", 0)
    columns: dict[str, float] = {}
    for k, words in _words(body, 3 if sparse else 2):
        add_column(columns, k, *words[:2])
    if len(columns) < count:
        raise Unreadable(f"has {len(columns):,} of {count:,} columns", 0)
    return Solution(
        "HiGHS", status, status == "Optimal", number(objective[1], at + 2), columns,
        complete=not sparse,
    )  # fmt: skip


def _highs_pretty(lines: list[str]) -> Solution:
    """Read a table: index, perhaps a status, lower, upper, primal, perhaps dual, type, name."""
    numbered = list(enumerate(lines, start=1))
    ends = [k for k, line in numbered if line.strip() == "Rows"]
    told = {
        found[1]: found[2]
        for line in lines
        if (found := re.fullmatch(r"(Model status|Objective value): *(.*?) *", line))
    }
    if not ends or len(told) < 2:
        raise Unreadable("has no model status and objective value at its end: it was cut off", 0)
    if "Type" not in lines[1].split():
        raise Unreadable("has no column 'Type': it holds no mixed-integer solution", 2)
    columns: dict[str, float] = {}
    for k, words in _words(numbered[2 : ends[0] - 1], 6, 7, 8):
        numbers = words[1:-2] if _is_number(words[1]) else words[2:-2]
        if not words[0].isdigit() or len(numbers) not in (3, 4):
            raise Unreadable("is no row of a table of columns", k)
        add_column(columns, k, words[-1], numbers[2])
    status, objective = told["Model status"], number(told["Objective value"], len(lines))
    return Solution(
        "HiGHS", status, status == "Optimal", objective, columns,
        complete=True, objective_error=PRETTY_ERROR * abs(objective),
    )  # fmt: skip


def _gurobi(lines: list[str]) -> Solution:
    """Read comments, of which one may have the objective, then every column with its value."""
    objective, columns = None, dict[str, float]()
    for k, line in enumerate(lines, start=1):
        if line.startswith("#"):
            found = re.fullmatch(r"# Objective value = (\S+)\s*", line)
            objective = number(found[1], k) if found else objective
            continue
        for _, words in _words([(k, line)], 2):
            add_column(columns, k, *words)
    return Solution("Gurobi", "", False, objective, columns, complete=True)


def _scip(lines: list[str]) -> Solution:
    """Read status and objective, then columns that are not zero: name, value, (obj:coefficient)."""
    status, objective, columns = "", None, dict[str, float]()
    for k, line in enumerate(lines, start=1):
        if found := re.fullmatch(r"(solution status|objective value):\s*(.*?)\s*", line):
            if found[1] == "solution status":
                status = found[2]
            else:
                objective = number(found[2], k)
            continue
        if line.strip() == "no solution available":
            raise Unreadable(NO_SOLUTION, k)
        for _, words in _words([(k, line)], 3):
            if not words[2].startswith("(obj:"):
                raise Unreadable("has no '(obj:' after a name and a number", k)
            add_column(columns, k, *words[:2])
    if objective is None:
        raise Unreadable("has no line 'objective value:': it was cut off", 0)
    optimal = status in ("optimal solution found", "optimal")
    return Solution("SCIP", status, optimal, objective, columns, complete=False)


def _cbc(lines: list[str]) -> Solution:
    """Read how the solver ended, then columns that are not zero: index, name, value, cost."""
    found = CBC_ENDING.fullmatch(lines[0].strip())
    if found is None:
        raise Unreadable(NO_SOLUTION, 1)
    status, columns = found["ending"], dict[str, float]()
    if re.search("nfeasible|nbounded|no integer solution", status):
        raise Unreadable(NO_SOLUTION, 1)
    for k, words in _words(enumerate(lines[1:], start=2), 4, 5):
        if words[0] == "**":
            raise Unreadable("has '**': CBC says that this column breaks its bounds", k)
        if len(words) != 4 or not words[0].isdigit():
            raise Unreadable("is not an index, a name and two numbers", k)
        add_column(columns, k, *words[1:3])
    optimal = status.startswith("Optimal")
    objective = number(found["value"], 1)
    return Solution("CBC", status, optimal, objective, columns, complete=False)


def _cplex(lines: list[str]) -> Solution:
    return cplex_solution("\n".join(lines))


def _is_number(word: str) -> bool:
    return re.fullmatch(r"[+-]?(\d.*|\.\d+|inf)", word) is not None


READERS: tuple[tuple[Callable[[str], bool], Callable[[list[str]], Solution]], ...] = (
    (lambda first: first.startswith(("<?xml", "<CPLEX")), _cplex),
    (lambda first: first.strip() == "Model status", _highs_raw),
    (lambda first: first.strip() == "Columns", _highs_pretty),
    (lambda first: first.startswith(("# Solution", "# Objective")), _gurobi),
    (lambda first: first.startswith(("solution status:", "objective value:")), _scip),
    (lambda first: re.match(r"Optimal\b|Stopped on|Infeasible\b|Unbounded\b|Integer infeas", first)
     is not None, _cbc),
)  # fmt: skip
"""Tests of how each format begins, and its reader."""
