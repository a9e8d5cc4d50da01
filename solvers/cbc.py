"""CBC as an executable."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from mipselect.backends import MASTER_GAP, MasterSolution, MipStatus, SolverStatus

from .executables import MODEL, SOLUTION, ExecutableMaster, executable_status

TOLERANCE = 1e-7
"""Tolerance on rows and on integrality; with less CBC sometimes loses solutions."""

NODES = re.compile(r"^Enumerated nodes:\s+(\d+)$", re.MULTILINE)


class CbcMaster(ExecutableMaster):
    """min η subject to Σ z = m, z binary, and the rows added so far."""

    def __init__(self, columns: int, cardinality: int, threads: int | None, seed: int) -> None:
        super().__init__(columns, cardinality, TOLERANCE)
        self._options = {
            # The masters are small: a node of theirs costs less than what is to spare nodes.
            "preprocess": "off",
            "cutsOnOff": "off",
            "heuristicsOnOff": "off",
            "ratioGap": 0.0,
            "allowableGap": MASTER_GAP,
            "primalTolerance": TOLERANCE,
            "dualTolerance": TOLERANCE,
            "integerTolerance": TOLERANCE,
            "randomSeed": seed + 1,
            "randomCbcSeed": seed + 1,
        } | ({} if threads is None else {"threads": threads})

    def command(self) -> list[str]:
        """Write the command; CBC works through its arguments in order."""
        options = [word for name, value in self._options.items() for word in (f"-{name}", value)]
        return ["cbc", MODEL, *map(str, options), "-solve", "-solution", SOLUTION]

    def answer(self, solution: str, log: str) -> MasterSolution:
        """Read the answer: the ending in the first line, then the columns that are not zero."""
        ending, *columns = solution.splitlines()
        found = NODES.search(log)
        nodes = int(found[1]) if found else 0
        detail = ending.partition(" - ")[0].strip()
        if "nfeasible" in detail:
            return MasterSolution(MipStatus.INFEASIBLE, None, -math.inf, nodes, detail)
        if detail != "Optimal":
            return MasterSolution(MipStatus.FAILED, None, -math.inf, nodes, detail)
        values = {name: float(value) for _, name, value, *_ in map(str.split, columns)}
        chosen = [j for j in range(self.columns) if values.get(f"z{j}", 0.0) > 0.5]
        bound = float(ending.split()[-1])
        return MasterSolution(
            MipStatus.OPTIMAL, np.array(chosen, dtype=np.intp), bound, nodes, detail
        )


@dataclass(frozen=True)
class CbcSolver:
    """The back end."""

    threads: int | None = None
    seed: int = 0

    @property
    def status(self) -> SolverStatus:
        """State of the executable: whether it is there."""
        return executable_status("cbc", "cbc", "coinor-cbc")

    def master(self, columns: int, cardinality: int) -> CbcMaster:
        """Make a new master without cuts."""
        return CbcMaster(columns, cardinality, self.threads, self.seed)
