"""What the tests of the command line share."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TABLE = "a,b,c,y\n" + "".join(
    f"{(7 * i) % 5 - 2},{(3 * i) % 7 - 3},{0.5 * (i % 3)},{(7 * i) % 5 - 2 + 0.1 * i}\n"
    for i in range(20)
)
BOUNDS = ("--x-bound", "1", "--y-bound", "1", "--coef-bound", "1.5", "--ridge", "0.5")
INSTANCE = """
[instance]
support_size = 2
x_bound = 1.0
y_bound = 1.0
coef_bound = 1.5
ridge = 0.5
[data]
source = "table"
path = "data.csv"
target = "y"
"""

FORESEEN = ("protects little", "near chance: ")
"""Words of lines on standard error that speak against a draw, by public numbers alone."""

LISTENING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""Starts a program that can be interrupted also where the tests themselves cannot."""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def unforeseen(self) -> str:
        """Standard error without what comes with every draw by a schema, or by its ε and n."""
        lines = self.err.splitlines(keepends=True)
        return "".join(line for line in lines if not any(words in line for words in FORESEEN))

    @property
    def report(self) -> dict[str, Any]:
        """Standard output, which must be one JSON object and nothing else."""
        report = json.loads(self.out)
        assert isinstance(report, dict)
        assert self.out.endswith("}\n")
        return report

    def failed_with(self, code: int, *fragments: str) -> None:
        """One line on standard error, nothing on standard output, and this code."""
        assert (self.code, self.out) == (code, ""), self
        self._complains(*fragments)

    def _complains(self, *fragments: str) -> None:
        assert self.err.startswith("mipselect: error: "), self.err
        assert self.err.count("\n") == 1, self.err
        for fragment in fragments:
            assert fragment in self.err


Run = Callable[..., Outcome]
