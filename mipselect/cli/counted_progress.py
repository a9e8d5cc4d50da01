"""Progress of trials, and the time that the rest will take, on standard error."""

from __future__ import annotations

import time

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from mipselect.cli.progress import Ticker

SHORT_BAR = 10
"""Length of a short bar, in columns of the terminal."""


class CountedProgress(Ticker):
    """A context manager: a bar on a terminal, elsewhere a plain line now and then.

    Parameters
    ----------
    done, total : int
        Trials.
    """

    def __init__(self, done: int, total: int) -> None:
        self._what, self._done, self._total = "", done, total
        self._before, self._began = done, time.monotonic()
        super().__init__(
            SpinnerColumn(),
            # Where there is no room the words are wrapped, and no number is cut.
            TextColumn("{task.description}", markup=False, table_column=Column()),
            BarColumn(SHORT_BAR),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
            TextColumn("left:"),
            TimeRemainingColumn(table_column=Column(no_wrap=True)),
            description="",
            total=total,
            completed=done,
        )

    def begin(self, what: str) -> None:
        """Say what is run next."""
        self._what = what
        self._show()

    def advance(self, trials: int = 1) -> None:
        """Count trials that are done or given up."""
        self._done += trials
        self._show()

    def _show(self) -> None:
        self.tick(
            f"{self._done} of {self._total} trials, at {self._what}{self._left()}",
            description=self._what,
            completed=self._done,
        )

    def _left(self) -> str:
        """Say how long the rest takes, if the trials are alike; nothing before one is done."""
        now = self._done - self._before
        if not now:
            return ""
        seconds = (time.monotonic() - self._began) / now * (self._total - self._done)
        return f", about {seconds:.0f} s left"
