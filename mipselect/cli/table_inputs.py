"""Tables as inputs of `select`: of numbers with public bounds, or with a public schema."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mipselect.errors import about
from mipselect.problem.block_scores import BlockOptions
from mipselect.problem.problem import Problem
from mipselect.problem.stored.files import StoredData, problem_of
from mipselect.tables.instances import ScoredTable
from mipselect.tables.numbers import header, read_table
from mipselect.tables.table_file import TableFile
from mipselect.validation import checked_integer


@dataclass(frozen=True)
class NumberTable:
    """A table of numbers, with public bounds or scored from blocks of rows.

    Attributes
    ----------
    source : TableFile
    target : str
    features : list of str or None
        None is all columns but the target.
    target_shift : float
        A public constant to subtract from the target.
    settings : mapping
        The other arguments of `Instance`.
    size_named : str
        What messages call its support size.
    blocks : BlockOptions or None
        Score from blocks, which uses no range; None for the loss.
    """

    source: TableFile
    target: str
    features: list[str] | None
    target_shift: float
    settings: dict[str, Any]
    size_named: str
    blocks: BlockOptions | None = None

    @property
    def path(self) -> Path:
        """Path of the file."""
        return Path(self.source.path)

    def problem(self) -> tuple[Problem, int | None]:
        """See `TaskSource`."""
        names = header(self.source, self.target, self.features)
        self._check_size(len(names))
        shift, blocks = self.target_shift, self.blocks
        if blocks is None:
            return problem_of(self.settings, len(names), names, shift), None
        with about(str(self.path)):
            return problem_of(self.settings, len(names), names, blocks=blocks), None

    def data(self) -> StoredData:
        """See `TaskSource`."""
        arrays = read_table(self.source, self.target, self.features)
        self._check_size(arrays[0].shape[1])
        stored = StoredData.of_arrays(
            self.path,
            arrays,
            self.settings,
            target_shift=self.target_shift,
            blocks=self.blocks,
        )
        if self.blocks is None:
            return stored
        return StoredData.of_made(self.path, stored.drawn_from(), self.settings)

    def _check_size(self, p: int) -> None:
        checked_integer(self.settings["support_size"], f"{self.path}: {self.size_named}", 1, p)


@dataclass(frozen=True)
class SchemaTable:
    """A table with a public schema.

    Attributes
    ----------
    path : Path
        Path of the table.
    table : ScoredTable
    """

    path: Path
    table: ScoredTable

    def problem(self) -> tuple[Problem, int | None]:
        """See `TaskSource`."""
        return self.table.problem()

    def data(self) -> StoredData:
        """See `TaskSource`."""
        return StoredData.of_made(self.path, self.table.made(), self.table.of_loss)
