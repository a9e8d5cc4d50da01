"""GLPK's glpsol as an executable. It has one thread and fixed tolerances.

Its tolerances are absolute: where coefficients are near 10⁴ it loses solutions and says "optimal",
though nothing else is wrong with the model. The search scales its masters, and proves what it is
told.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from mipselect.backends import MasterSolution, MipStatus, SolverStatus, rounded

from .executables import MODEL, SOLUTION, ExecutableMaster, executable_status

TOLERANCE = 1e-5
"""glpsol takes 1e-5 for integral, and has no option to take less."""

INFEASIBLE = re.compile(r"NO (PRIMAL|INTEGER) FEASIBLE SOLUTION")
NODES = re.compile(r"\(\d+; (\d+)\)$", re.MULTILINE)


class GlpkMaster(ExecutableMaster):
    """min η subject to Σ z = m, z binary, and the rows added so far."""

    def __init__(self, columns: int, cardinality: int, seed: int) -> None:
        super().__init__(columns, cardinality, TOLERANCE)
        self._seed = seed

    def command(self) -> list[str]:
        """Write the command; without a relative gap, as is glpsol's default."""
        return ["glpsol", "--lp", MODEL, "--seed", str(self._seed), "--write", SOLUTION]

    def answer(self, solution: str, log: str) -> MasterSolution:
        """Read lines "s mip rows columns ending objective" and "j number value" for each column."""
        lines = [line.split() for line in solution.splitlines()]
        (ending,) = (words for words in lines if words[:2] == ["s", "mip"])
        visited = NODES.findall(log)
        nodes = int(visited[-1]) if visited else 0
        if ending[4] == "o":
            values = np.array([float(words[2]) for words in lines if words[0] == "j"])
            chosen, bound = rounded(values[1:]), float(ending[5])
            return MasterSolution(MipStatus.OPTIMAL, chosen, bound, nodes, "optimal")
        proven = INFEASIBLE.search(log)
        status = MipStatus.INFEASIBLE if proven else MipStatus.FAILED
        return MasterSolution(status, None, -math.inf, nodes, proven[0].lower() if proven else "")


@dataclass(frozen=True)
class GlpkSolver:
    """The back end."""

    threads: int | None = None
    seed: int = 0

    @property
    def status(self) -> SolverStatus:
        """State of the executable: whether it is there."""
        return executable_status("glpk", "glpsol", "glpk-utils")

    def master(self, columns: int, cardinality: int) -> GlpkMaster:
        """Make a new master without cuts."""
        return GlpkMaster(columns, cardinality, self.seed)
