"""Tables whose supports are scored from blocks of rows: no range of a column is read or used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mipselect.cli.inputs import Input, NumberTable
from mipselect.errors import about
from mipselect.problem.block_options import BlockOptions
from mipselect.problem.data import Rows
from mipselect.problem.problem import Problem
from mipselect.problem.stored.files import StoredData
from mipselect.tables.frames import numeric_matrix
from mipselect.tables.schema import TableSchema
from mipselect.tables.table_file import TableFile


@dataclass(frozen=True)
class NumberTableInBlocks(NumberTable):
    """A table of numbers."""

    blocks: BlockOptions

    def problem(self) -> tuple[Problem, int | None]:
        """See `Input`."""
        columns, _ = super().problem()
        with about(str(self.path)):
            return self.blocks.problem_of_arrays(columns), None

    def data(self) -> StoredData:
        """See `Input`."""
        X, y, names = self.arrays()
        with about(str(self.path)):
            matrix = numeric_matrix(X)[0]
            columns = self.columns(matrix.shape[1], names)
            made = self.blocks.of_rows(columns, Rows(columns.layout.ordered(matrix), y))
        return StoredData.of_made(self.path, made, self.settings)


@dataclass(frozen=True)
class SchemaTableInBlocks(Input):
    """A table with a public schema, of whose fields types and categories are used.

    Attributes
    ----------
    source : TableFile
    schema : Path
    question : mapping
        Arguments of `BlockOptions.of_table`.
    unit_rule : str
    blocks : BlockOptions
    """

    source: TableFile
    schema: Path
    question: Mapping[str, Any]
    unit_rule: str
    blocks: BlockOptions

    @property
    def files(self) -> tuple[Path, ...]:
        """The table and its schema."""
        return (Path(self.source.path), self.schema)

    def problem(self) -> tuple[Problem, int | None]:
        """See `Input`."""
        schema = TableSchema.read(self.schema)
        return self.blocks.problem_of_table(self.source, schema, **self.question)

    def data(self) -> StoredData:
        """See `Input`."""
        schema = TableSchema.read(self.schema)
        made = self.blocks.of_table(self.source, schema, **self.question, unit_rule=self.unit_rule)
        return StoredData.of_made(Path(self.source.path), made, {})
