"""`StoredData`: a problem and its data as they are stored or drawn, before clipping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput, about
from mipselect.frames import numeric_matrix, numeric_vector
from mipselect.problem.block_options import BlockOptions
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.data import ClippedRows, Rows
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.scores import R2
from mipselect.problem.stored.settings import problem_of
from mipselect.problem.stored.sources import Loaded, shifted
from mipselect.problem.sums import ExactSums


@dataclass(frozen=True, eq=False)
class StoredData:
    """A problem and its data as they are stored or drawn: before clipping, but for a table's.

    Attributes
    ----------
    path : Path
        Path of the file.
    problem : Problem
    data : Rows, ExactSums or BlockScores
        `ClippedRows` of a table with a schema, whose public map leaves nothing to clip.
    settings : mapping
        Arguments of `Instance` that were given.
    data_seed : int or None
        Seed of the recipe that drew the data; None if they come from elsewhere.
    """

    path: Path
    problem: Problem
    data: Rows | ExactSums | BlockScores = field(repr=False)
    settings: Mapping[str, Any]
    data_seed: int | None = None

    @classmethod
    def of_arrays(
        cls,
        path: Path,
        arrays: Loaded,
        settings: Mapping[str, Any],
        data_seed: int | None = None,
        target_shift: float = 0.0,
        blocks: BlockOptions | None = None,
    ) -> StoredData:
        """Put arrays, with a public shift of y, under the problem that settings describe.

        Raises
        ------
        InvalidInput
            With `path`.
        """
        X, y, names = arrays
        with about(str(path)):
            matrix = numeric_matrix(X)[0]
            n, p = matrix.shape
            problem = problem_of(settings, p, names, target_shift, n=n, blocks=blocks)
            y = shifted(y, target_shift)
        return cls(path, problem, Rows(problem.layout.ordered(matrix), y), settings, data_seed)

    @classmethod
    def of_made(
        cls, path: Path, made: Instance | BlockScores, settings: Mapping[str, Any]
    ) -> StoredData:
        """Hold what was made of a table."""
        data = made if isinstance(made, BlockScores) else made.data
        return cls(path, made.problem, data, settings)

    @property
    def name(self) -> str:
        """Name of the file, without its folder and its ending."""
        return self.path.stem

    @property
    def synthetic(self) -> bool:
        """True if a recipe drew the data, so that they are about nobody."""
        return self.data_seed is not None

    @property
    def mapped(self) -> bool:
        """True of a table with a schema, of moments and of blocks: there is nothing to clip."""
        clipped = not isinstance(self.data, Rows) or isinstance(self.data, ClippedRows)
        return clipped or self.problem.score != "loss"

    @property
    def X(self) -> FloatArray:
        """The columns, shape (n, p), in the order of the table; `InvalidInput` with weights."""
        if self.problem.weight_bound is not None:
            raise InvalidInput(
                f"{self.path}: its rows count by a survey weight, and what takes X and y alone "
                "counts all rows the same"
            )
        return self.problem.layout.table(self._held.X)

    @property
    def y(self) -> FloatArray:
        """The target, shape (n,)."""
        y: FloatArray = self._held.y
        return y

    @property
    def _held(self) -> Rows | ExactSums:
        if isinstance(self.data, BlockScores):
            raise InvalidInput(f"{self.path}: scores of supports are here, and no rows")
        return self.data

    def drawn_from(self) -> Instance | BlockScores:
        """Return the instance, or the scores; `InvalidInput` for a wrong target names the file."""
        if self.problem.score != R2:
            return self.instance()
        if not isinstance(self.data, Rows):
            assert isinstance(self.data, BlockScores)
            return self.data
        with about(str(self.path)):
            return BlockScores.of_rows(self.problem, self.data)

    def instance(self) -> Instance:
        """Clip the data; raise `InvalidInput`, naming the file, for a wrong target."""
        if self.problem.score == R2:
            raise InvalidInput(
                f"{self.path}: score 'block-r2' is for supports that are listed, and has no "
                "objective: 'release' draws by it and 'solve' lists; here score = 'blocks' or "
                "'loss' is wanted"
            )
        data = self._held
        if not isinstance(data, Rows) or isinstance(data, ClippedRows):
            return Instance.of(self.problem, data)
        with about(str(self.path)):
            if self.problem.of_classes and len(np.unique(self.y)) != 2:
                # No message says which values there are.
                raise InvalidInput(
                    f"(sensitive) the {self.problem.stated_loss.name} loss needs a target of two "
                    "classes, such as 0 and 1, and here there are more or only one"
                )
            return Instance.of_rows(self.problem, data)

    def rows(self) -> Rows | ExactSums:
        """Return the data, not clipped where they are not yet; classes are -1 and +1."""
        data = self._held
        if not isinstance(data, Rows) or isinstance(data, ClippedRows):
            return data
        y = self.instance().y if self.problem.of_classes else numeric_vector(data.y)
        return Rows(data.X, y)
