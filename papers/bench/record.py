"""Trials that a file has, and those that are missing; and whether they are of the same run."""

from __future__ import annotations

from collections.abc import Sequence

from mipselect.errors import InvalidInput

from .trial_file import DONE, NOT_CERTIFIED, Row, TrialFile
from .trials import Cell


class Record:
    """The rows of a file that belong to certain cells.

    Parameters
    ----------
    file : TrialFile
        Rows about other things are left alone.
    cells : sequence of Cell

    Raises
    ------
    InvalidInput
        Naming the first line about one of the cells that was made from other data or settings.
    """

    def __init__(self, file: TrialFile, cells: Sequence[Cell]) -> None:
        self._file = file
        self._done: dict[Cell, dict[int, Row]] = {cell: {} for cell in cells}
        self._refused: dict[Cell, Row] = {}
        prints = {cell.data.identity: cell.data.fingerprint for cell in cells}
        known = {(cell.data.identity, cell.selector, cell.epsilon): cell for cell in cells}
        for number, row in file.rows:
            n = None if row["data_seed"] is None else row["n"]
            identity = (row["instance"], n, row["data_seed"])
            if prints.get(identity, row["fingerprint"]) != row["fingerprint"]:
                raise self._other(number, f"{row['instance']} had other data or settings")
            cell = known.get((identity, row["selector"], row["epsilon"]))
            if cell is None:
                continue
            if row["options"] != cell.options:
                raise self._other(
                    number,
                    f"{cell.selector} had the options {row['options']!r}, now {cell.options!r}",
                )
            if row["base_seed"] != cell.base_seed:
                raise self._other(
                    number, f"--seed was {row['base_seed']}, now it is {cell.base_seed}"
                )
            self._keep(cell, row)

    def add(self, cell: Cell, row: Row) -> None:
        """Append a row to the file."""
        self._file.append(row)
        self._keep(cell, row)

    def missing(self, cell: Cell, time_limit: float | None) -> list[int]:
        """Return the trials that are to be run.

        None if the search was not certified with as much time; a selector that failed is tried
        again.
        """
        missing = [trial for trial in range(cell.trials) if trial not in self._done[cell]]
        refused = self._refused.get(cell)
        if refused is not None and refused["status"] == NOT_CERTIFIED:
            had = refused["time_limit"]
            if had is None or (time_limit is not None and time_limit <= had):
                return []
        return missing

    def count(self, cell: Cell) -> int:
        """Count the trials of a cell."""
        return sum(trial < cell.trials for trial in self._done[cell])

    def refused(self, cell: Cell) -> Row | None:
        """Return the row that says why there are no trials, if there are none."""
        return None if self.count(cell) else self._refused.get(cell)

    def rows(self, cell: Cell) -> list[Row]:
        """Return the trials of a cell, in order, or else the row that says why there are none."""
        if refused := self.refused(cell):
            return [refused]
        done = self._done[cell]
        return [done[trial] for trial in range(cell.trials) if trial in done]

    def _keep(self, cell: Cell, row: Row) -> None:
        if row["status"] == DONE:
            self._done[cell][row["trial"]] = row
        else:
            self._refused[cell] = row

    def _other(self, number: int, why: str) -> InvalidInput:
        return InvalidInput(
            f"{self._file.path}, line {number}, is of another run: {why}; give another --output"
        )
