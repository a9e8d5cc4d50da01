"""`ScoredTable`: a table with a schema, what is asked of it, and the score of its supports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mipselect.problem.block_options import BlockOptions
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.tables.mapping import known_rows
from mipselect.tables.question import TableQuestion


@dataclass(frozen=True)
class ScoredTable:
    """A table with a schema, the question about it, and the score of its supports.

    Attributes
    ----------
    source : path or table, or None
        None is one that is not there yet, of which the problem is known.
    question : TableQuestion
    support_size : int
    of_loss : mapping
        Settings of the loss: what was given of intercept, coef_bound, ridge and loss.
    blocks : BlockOptions or None
        Score from blocks of rows, for which types and categories of the schema are used and no
        range; None for the loss.
    """

    source: Any = field(repr=False)
    question: TableQuestion
    support_size: int
    of_loss: Mapping[str, Any]
    blocks: BlockOptions | None

    def problem(self) -> tuple[Problem, int | None]:
        """Return what is public, of a header that is right, and n if it is known; no row is read.

        Raises
        ------
        InvalidInput
        """
        question, size = self.question, self.support_size
        if self.blocks is not None:
            return self.blocks.problem_of_table(self.source, question, size)
        public = question.public
        problem = Problem.of_table(public, support_size=size, **self.of_loss)
        return problem, known_rows(self.source, public)

    def made(self) -> Instance | BlockScores:
        """Read the table; what is raised does not depend on the rows."""
        question, size = self.question, self.support_size
        if self.blocks is not None:
            return self.blocks.of_table(self.source, question, size)
        return Instance.of_table(self.source, question, support_size=size, **self.of_loss)
