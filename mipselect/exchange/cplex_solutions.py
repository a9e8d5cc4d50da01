"""Solution files of CPLEX, which are XML: read by expat, without entities and document types."""

from __future__ import annotations

from xml.parsers import expat

from mipselect.exchange.solutions import Solution, Unreadable, add_column, number
from mipselect.validation import shown

OPTIMAL = ("1", "101", "102")
"""Status values: optimal; integer optimal; integer optimal within its tolerance."""

DEEPEST = 3
"""Depth to which elements are nested."""

WITHOUT_SOLUTION = ("3", "103", "108", "114", "118", "119")
"""Infeasible, unbounded, or ended without an integer solution."""


def cplex_solution(text: str) -> Solution:
    """Read an XML document of one solution; raise `Unreadable` for anything else."""
    parser = expat.ParserCreate("utf-8")
    inside, header, columns = list[str](), dict[str, str](), dict[str, float]()

    def start(tag: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        if not inside and tag == "CPLEXSolutions":
            raise Unreadable("holds several solutions: write one", line)
        if not inside and tag != "CPLEXSolution":
            raise Unreadable(f"is {shown(tag)}, not a CPLEXSolution", line)
        inside.append(tag)
        if len(inside) > DEEPEST:
            raise Unreadable("has elements inside of elements that CPLEX does not nest", line)
        match inside:
            case ["CPLEXSolution", "header"]:
                header.update(attributes)
            case ["CPLEXSolution", "variables", "variable"]:
                if not {"name", "value"} <= set(attributes):
                    raise Unreadable("has a variable without a name or without a value", line)
                add_column(columns, line, attributes["name"], attributes["value"])

    def refuse(*declaration: object) -> None:
        """Refuse a document type: CPLEX writes none, and it may define what grows without end."""
        raise Unreadable("declares a document type, which CPLEX does not", 1)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: inside.pop()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        why = expat.errors.messages[error.code]
        raise Unreadable(f"is no XML ({why}): it was cut off, or changed", error.lineno) from error
    status = header.get("solutionStatusValue", "")
    if status in WITHOUT_SOLUTION or not columns:
        raise Unreadable("has no solution: the solver found none, or no variables were written", 0)
    objective = header.get("objectiveValue")
    return Solution(
        "CPLEX",
        header.get("solutionStatusString", ""),
        status in OPTIMAL,
        None if objective is None else number(objective, 0),
        columns,
        complete=False,
    )
