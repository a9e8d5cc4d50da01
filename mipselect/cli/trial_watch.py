"""How far the trials of `mipselect bench` are, on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.table import Column

from mipselect.cli.output import warn
from mipselect.cli.watch import SECONDS_BETWEEN_LINES

SHORT_BAR = 10
"""In columns of the terminal."""


class TrialWatch:
    """A context manager: a bar on a terminal, elsewhere a plain line now and then.

    Parameters
    ----------
    done, total : int
        Trials.
    """

    def __init__(self, done: int, total: int) -> None:
        self._what, self._done, self._total = "", done, total
        self._last_line = time.monotonic()
        self._bar: Bar | None = None
        if sys.stderr.isatty():
            self._bar = Bar(
                SpinnerColumn(),
                # Where there is no room the words are wrapped, and no number is cut.
                TextColumn("{task.description}", markup=False, table_column=Column()),
                BarColumn(SHORT_BAR),
                MofNCompleteColumn(table_column=Column(no_wrap=True)),
                TimeElapsedColumn(table_column=Column(no_wrap=True)),
                TextColumn("left:"),
                TimeRemainingColumn(table_column=Column(no_wrap=True)),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("", total=total, completed=done)

    def __enter__(self) -> TrialWatch:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, what: str) -> None:
        """Say what is run next."""
        self._what = what
        self._show()

    def advance(self, trials: int = 1) -> None:
        """Count trials that are done or given up."""
        self._done += trials
        self._show()

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, description=self._what, completed=self._done)
            return
        now = time.monotonic()
        if now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            warn(f"{self._done} of {self._total} trials, at {self._what}")
