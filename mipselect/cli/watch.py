"""Progress of a long search on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from mipselect.cli.output import warn
from mipselect.search.progress import Progress

SECONDS_BETWEEN_LINES = 10.0


class Watch:
    """Shows that a search is running; a context manager, and the search's progress callback.

    On a terminal a spinner with the elapsed time, elsewhere a plain line now and then.

    Parameters
    ----------
    what : str
        What is running, such as "diabetes".
    details : bool
        Show stages and counts too. They are sensitive; leave them out around a release.
    """

    def __init__(self, what: str, *, details: bool) -> None:
        self._what = what
        self._details = details
        self._start = self._last_line = time.monotonic()
        self._bar: Bar | None = None
        if sys.stderr.isatty():
            self._bar = Bar(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self._line(None), total=None)

    def __enter__(self) -> Watch:
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

    def __call__(self, progress: Progress) -> None:
        """Receive a report from the search."""
        if self._bar is not None:
            self._bar.update(self._task, description=self._line(progress))
            return
        now = time.monotonic()
        if now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            warn(f"{self._line(progress)}, {now - self._start:.0f} s")

    def _line(self, progress: Progress | None) -> str:
        if progress is None or not self._details:
            return f"searching {self._what}"
        return (
            f"{self._what} (sensitive): {progress.stage}, {progress.done}/{progress.total} done, "
            f"bound {progress.bound:.6g} of {progress.incumbent:.6g}"
        )
