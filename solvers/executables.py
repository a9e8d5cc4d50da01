"""Masters for solvers that are executables: a model file, a process, a solution file.

Models and solutions are sensitive. They live in a folder that only this user can read and that is
removed however the solve ends; a process past its time limit is ended with all its children.
"""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import tempfile
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mipselect.backends import (
    Capability,
    FloatArray,
    Master,
    MasterSolution,
    MipStatus,
    SolverStatus,
)

MODEL, SOLUTION = "model.lp", "solution.txt"


def executable_status(name: str, executable: str, package: str) -> SolverStatus:
    """Return the state of the executable: on the path or not; its version is not asked for."""
    missing = shutil.which(executable) is None
    return SolverStatus(
        name,
        usable=not missing,
        reason=f"the executable {executable!r} is not on the path; on Debian or Ubuntu install it "
        f"with: apt-get install {package}"
        if missing
        else "",
        capabilities=frozenset({Capability.MILP}),
    )


class ExecutableMaster(Master):
    """A master that is written to a file and solved from scratch every time.

    A back end writes `command` and `answer`.

    Parameters
    ----------
    columns, cardinality : int
    tolerance : float
        How far the solver may leave a row or an integral variable off.
    """

    def __init__(self, columns: int, cardinality: int, tolerance: float) -> None:
        super().__init__(columns, cardinality, tolerance)
        self._names = [*(f"z{j}" for j in range(columns)), "eta"]
        self._rows: list[str] = []
        self.count(np.arange(columns), cardinality, cardinality)

    @abstractmethod
    def command(self) -> list[str]:
        """Write the command that solves `MODEL` and writes `SOLUTION`, in the working folder."""

    @abstractmethod
    def answer(self, solution: str, log: str) -> MasterSolution:
        """Read the answer in these two texts; it may raise ValueError or IndexError."""

    def add_row(self, coefficients: FloatArray, least: float, most: float) -> None:
        """Write the row with all digits of its numbers, as two rows if it has two sides."""
        terms = "\n".join(
            f"{float(coefficients[j]):+.17g} {self._names[j]}" for j in np.flatnonzero(coefficients)
        )
        sides = [("=", least)] if least == most else [(">=", least), ("<=", most)]
        self._rows += [f"{terms}\n{s} {v:.17g}" for s, v in sides if math.isfinite(v)]

    def run(self, *, cutoff: float, time_limit: float) -> MasterSolution:
        """Solve in a process of its own."""
        with tempfile.TemporaryDirectory(prefix="mipselect-") as name:
            folder = Path(name)
            (folder / MODEL).write_text("\n".join(self._model(cutoff)), encoding="ascii")
            try:
                code, log = _run(self.command(), folder, time_limit)
            except OSError as error:
                return _without_answer(MipStatus.FAILED, str(error))
            except subprocess.TimeoutExpired:
                return _without_answer(MipStatus.TIME_LIMIT, "the time limit has passed")
            last = next((line for line in reversed(log.splitlines()) if line.strip()), "")
            if code != 0:
                return _without_answer(MipStatus.FAILED, f"exit code {code}: {last}")
            try:
                return self.answer((folder / SOLUTION).read_text(encoding="utf-8"), log)
            except (OSError, ValueError, IndexError):
                return _without_answer(MipStatus.FAILED, f"its solution cannot be read: {last}")

    def _model(self, cutoff: float) -> Iterator[str]:
        """Write the model in CPLEX LP format; η is the first column, the rest are in order."""
        yield "Minimize\nobjective: eta\nSubject To"
        for k, row in enumerate(self._rows):
            yield f"row{k}:\n{row}"
        below = f"-inf <= eta <= {cutoff:.17g}" if math.isfinite(cutoff) else "eta free"
        yield f"Bounds\n{below}\nBinary"
        yield from self._names[:-1]
        yield "End\n"


def _without_answer(status: MipStatus, detail: str) -> MasterSolution:
    return MasterSolution(status, None, -math.inf, 0, detail)


def _run(command: list[str], folder: Path, time_limit: float) -> tuple[int, str]:
    """Run a command, and return its exit code and what it printed.

    Raises `TimeoutExpired` if it had to be ended.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        encoding="utf-8",
        errors="replace",
    )
    try:
        # Reading to the end wakes up at once; waiting for the exit alone sleeps up to 50 ms.
        log, _ = process.communicate(
            timeout=None if math.isinf(time_limit) else max(time_limit, 0.0)
        )
        return process.returncode, log
    finally:
        if process.poll() is None:
            # Its session holds its children too; where there are no sessions, it alone is ended.
            if hasattr(os, "killpg") and hasattr(signal, "SIGKILL"):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()
