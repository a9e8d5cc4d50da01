"""Progress of a long search on standard error."""

from __future__ import annotations

from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from mipselect.cli.ticker import Ticker
from mipselect.search.progress import Progress


class Watch(Ticker):
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
        super().__init__(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            description=f"searching {what}",
            total=None,
        )

    def __call__(self, progress: Progress) -> None:
        """Receive a report from the search."""
        line = f"searching {self._what}"
        if self._details:
            line = (
                f"{self._what} (sensitive): {progress.stage}, {progress.done}/{progress.total} "
                f"done, bound {progress.bound:.6g} of {progress.incumbent:.6g}"
            )
        self.tick(line, description=line)
