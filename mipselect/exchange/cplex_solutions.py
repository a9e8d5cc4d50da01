"""Solution files of CPLEX, which are XML: read by expat, without entities and document types."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from mipselect.exchange.solutions import Solution, Unreadable, add_column, number
from mipselect.validation import shown

OPTIMAL = ("1", "101", "102")
"""Status values: optimal; integer optimal; integer optimal within its tolerance."""

WITHOUT_SOLUTION = ("3", "103", "108", "114", "118", "119")
"""Infeasible, unbounded, or ended without an integer solution."""


@dataclass
class _Document:
    """Header and columns of the one solution in a file, as they come."""

    parser: expat.XMLParserType
    inside: list[str] = field(default_factory=list)
    header: dict[str, str] = field(default_factory=dict)
    columns: dict[str, float] = field(default_factory=dict)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        line = self.parser.CurrentLineNumber
        if not self.inside and tag != "CPLEXSolution":
            several = "holds several solutions: write one" if tag == "CPLEXSolutions" else (
                f"is {shown(tag)}, not a CPLEXSolution"
            )  # fmt: skip
            raise Unreadable(several, line)
        self.inside.append(tag)
        match self.inside:
            case ["CPLEXSolution", "header"]:
                self.header = attributes
            case ["CPLEXSolution", "variables", "variable"]:
                if not {"name", "value"} <= set(attributes):
                    raise Unreadable("has a variable without a name or without a value", line)
                add_column(self.columns, line, attributes["name"], attributes["value"])

    def end(self, tag: str) -> None:
        """End an element."""
        self.inside.pop()

    def refuse(self, *declaration: object) -> None:
        """Refuse a document type: CPLEX writes none, and it may define what grows without end."""
        raise Unreadable("declares a document type, which CPLEX does not", 1)


def cplex_solution(text: str) -> Solution:
    """Read an XML document of one solution; raise `Unreadable` for anything else."""
    parser = expat.ParserCreate("utf-8")
    document = _Document(parser)
    parser.StartElementHandler = document.start
    parser.EndElementHandler = document.end
    parser.StartDoctypeDeclHandler = document.refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        why = expat.errors.messages[error.code]
        raise Unreadable(f"is no XML ({why}): it was cut off, or changed", error.lineno) from error
    header = document.header
    status = header.get("solutionStatusValue", "")
    if status in WITHOUT_SOLUTION or not document.columns:
        raise Unreadable("has no solution: the solver found none, or no variables were written", 0)
    objective = header.get("objectiveValue")
    return Solution(
        "CPLEX",
        header.get("solutionStatusString", ""),
        status in OPTIMAL,
        None if objective is None else number(objective, 0),
        document.columns,
        complete=False,
    )
