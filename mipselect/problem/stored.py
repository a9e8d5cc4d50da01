"""Stored instances: the problem and the data that a `Description` names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput, about
from mipselect.frames import numeric_matrix, numeric_vector
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.data import ClippedRows, ExactSums, Rows
from mipselect.problem.descriptions import Description, Loaded, read_description
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem


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
    """

    path: Path
    problem: Problem
    data: Rows | ExactSums | BlockScores = field(repr=False)
    settings: Mapping[str, Any]

    @classmethod
    def of_arrays(
        cls,
        path: Path,
        arrays: Loaded,
        settings: Mapping[str, Any],
    ) -> StoredData:
        """Put arrays under the problem that settings describe.

        Raises
        ------
        InvalidInput
            With `path`.
        """
        X, y, names = arrays
        with about(str(path)):
            matrix = numeric_matrix(X)[0]
            problem = Problem.of_columns(matrix.shape[1], names, **settings)
        return cls(path, problem, Rows(problem.layout.ordered(matrix), y), settings)

    @classmethod
    def of_made(
        cls, path: Path, made: Instance | BlockScores, settings: Mapping[str, Any]
    ) -> StoredData:
        """Hold what was made of a table."""
        data = made if isinstance(made, BlockScores) else made.data
        return cls(path, made.problem, data, settings)

    @property
    def mapped(self) -> bool:
        """True of a table with a schema, of moments and of blocks: there is nothing to clip."""
        return isinstance(self.data, ClippedRows | ExactSums | BlockScores)

    @property
    def X(self) -> FloatArray:
        """The columns, shape (n, p), in the order of the table."""
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
        return self.data if isinstance(self.data, BlockScores) else self.instance()

    def instance(self) -> Instance:
        """Clip the data; raise `InvalidInput`, naming the file, for a wrong target."""
        data = self._held
        if isinstance(data, ClippedRows | ExactSums):
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
        if self.mapped:
            return data
        y = self.instance().y if self.problem.of_classes else numeric_vector(data.y)
        return Rows(data.X, y)


def load_problem(name_or_path: str | Path) -> StoredData:
    """Load the data and the settings of an instance, unclipped; see `load_instance`."""
    return stored_data(read_description(name_or_path))


def stored_data(description: Description, **changes: Any) -> StoredData:
    """Load what is described, with some keys of [data] changed; errors name the file."""
    path, data = description.path, {**description.data, **changes}
    try:
        with about(str(path)):
            arrays = description.source.load(data, path.parent)
    except MemoryError as error:
        raise InvalidInput(
            f"{path}: the data are too large for the memory here: {error}"
        ) from error
    return StoredData.of_arrays(path, arrays, description.settings)


def public_problem(name_or_path: str | Path) -> tuple[Problem, int | None]:
    """Return the problem of an instance, and n where its file says so; no row is read.

    Raises
    ------
    InvalidInput
        As `load_problem`, but for what is wrong with a row.
    """
    description = read_description(name_or_path)
    data = description.data
    with about(str(description.path)):
        n, p, names = description.source.head(data, description.path.parent)
        problem = Problem.of_columns(p, names, **description.settings)
    return problem, n


def load_instance(name_or_path: str | Path) -> Instance:
    """Load a stored instance, or one from a TOML file of your own.

    Parameters
    ----------
    name_or_path : str or Path
        The name of a stored instance, such as "diabetes", or the path of a .toml file.

    Returns
    -------
    Instance

    Raises
    ------
    InvalidInput
        Naming the file and what is wrong in it.

    Examples
    --------
    >>> from mipselect import load_instance
    >>> instance = load_instance("diabetes")
    >>> instance.n, instance.p, instance.support_size, instance.loss
    (442, 10, 3, 'squared')
    """
    return load_problem(name_or_path).instance()
