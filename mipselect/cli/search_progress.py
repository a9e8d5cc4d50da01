"""Progress of a long search on standard error."""

from __future__ import annotations

from mipselect.cli.progress import Spinner
from mipselect.search.progress import Progress

STAGES = {
    "scoring": "scoring blocks of",
    "listing": "evaluating all supports of",
    "cells": "preparing an exact draw from",
    "draw": "drawing from",
}
"""The stages of an exact draw, which may be told, and blocks; how many cells there are may not."""


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
        exact = progress.stage in STAGES
        line = f"{STAGES.get(progress.stage, 'searching')} {self._what}"
        if progress.stage == "scoring":
            line += f": {progress.done:,} of {progress.total:,}"
        elif self._details and exact:
            cells = f", {progress.nodes:,} cells so far" if progress.nodes else ""
            line = f"{self._what} (sensitive): {STAGES[progress.stage]} it{cells}"
        elif self._details:
            line = (
                f"{self._what} (sensitive): {progress.stage}, {progress.done}/{progress.total} "
                f"done, bound {progress.bound:.6g} of {progress.incumbent:.6g}"
            )
        self.tick(line, description=line)
