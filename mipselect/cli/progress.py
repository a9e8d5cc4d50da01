"""Signs of life on standard error: a spinner on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.text import Text

from mipselect.cli.start import let_signals_raise, say

if TYPE_CHECKING:  # It takes long to import.
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
    """A context manager: on a terminal a spinner with its words.

    Parameters
    ----------
    description : str
        What it says first.
    """

    def __init__(self, description: str) -> None:
        self._start = self._last_line = time.monotonic()
        shown = Console(stderr=True).status(Text(description))
        self._status = shown if sys.stderr.isatty() else None

    def __enter__(self) -> Self:
        let_signals_raise()
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def tick(self, line: str) -> None:
        """Show `line` with the seconds so far; without a terminal print them, if it is time to."""
        now = time.monotonic()
        said = f"{line}, {now - self._start:.0f} s"
        if self._status is not None:
            self._status.update(Text(said))
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            say(said)


class Watch(Spinner):
    """Shows that a search is running; a context manager, and the search's progress callback.

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
