"""Signs of life on standard error: a spinner on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from mipselect.cli.start import let_signals_raise, say

if TYPE_CHECKING:  # These take long to import.
    from rich.progress import Progress as Bar

    from mipselect.search.progress import Progress

SECONDS_BETWEEN_LINES = 10.0

STAGES = {
    "scoring": "scoring blocks of",
    "listing": "evaluating all supports of",
    "cells": "preparing an exact draw from",
    "draw": "drawing from",
}
"""The stages of an exact draw, which may be told, and blocks; how many cells there are may not."""


class Spinner:
    """A context manager: on a terminal a spinner, its words and the elapsed time.

    Parameters
    ----------
    description : str
        What it says first.
    """

    def __init__(self, description: str) -> None:
        self._start = self._last_line = time.monotonic()
        self._bar: Bar | None = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress as Bar
            from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

            self._bar = Bar(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(description, total=None)

    def __enter__(self) -> Self:
        let_signals_raise()
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def tick(self, line: str) -> None:
        """Show `line`, or print it, with the seconds so far, if it is time to."""
        if self._bar is not None:
            self._bar.update(self._task, description=line)
            return
        now = time.monotonic()
        if now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            say(f"{line}, {now - self._start:.0f} s")


class Watch(Spinner):
    """Shows that a search is running; a context manager, and the search's progress callback.

    On a terminal a spinner with the elapsed time, elsewhere a plain line now and then.

    Parameters
    ----------
    what : str
        What is running, such as "diabetes".
    details : bool
        Show counts and bounds too. They are sensitive; leave them out around a release.
    """

    def __init__(self, what: str, *, details: bool) -> None:
        self._what = what
        self._details = details
        super().__init__(f"searching {what}")

    def __call__(self, progress: Progress) -> None:
        """Receive a report from the search."""
        line = f"{STAGES.get(progress.stage, 'searching')} {self._what}"
        if progress.stage == "scoring":
            line += f": {progress.done:,} of {progress.total:,}"
        elif self._details and progress.stage not in STAGES:
            line = (
                f"{self._what} (sensitive): {progress.stage}, {progress.done}/{progress.total} "
                f"done, bound {progress.bound:.6g} of {progress.incumbent:.6g}"
            )
        self.tick(line)
