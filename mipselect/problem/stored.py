"""Stored instances: the problem and the data that a `Description` names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.errors import InvalidInput, about
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.data import ExactSums, Rows
from mipselect.problem.descriptions import Loaded, read_description
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
    data : Rows, Instance or BlockScores
        What was made of moments, of blocks, or of a table with a schema leaves nothing to clip.
    """

    path: Path
    problem: Problem
    data: Rows | Instance | BlockScores = field(repr=False)

    @classmethod
    def of_arrays(cls, path: Path, arrays: Loaded, settings: Mapping[str, Any]) -> StoredData:
        """Put arrays under the problem that settings describe, arguments of `Instance`.

        Raises
        ------
        InvalidInput
            With `path`.
        """
        X, y, names = arrays
        with about(str(path)):
            problem = Problem.of_columns(X.shape[1], names, **settings)
        return cls(path, problem, Rows(problem.layout.ordered(X), y))

    def made(self) -> Instance | BlockScores:
        """Return what is drawn from; raise `InvalidInput`, naming the file, for a wrong target."""
        if not isinstance(self.data, Rows):
            return self.data
        with about(str(self.path)):
            if self.problem.of_classes and len(np.unique(self.data.y)) != 2:
                # No message says which values there are.
                raise InvalidInput(
                    f"(sensitive) the {self.problem.stated_loss.name} loss needs a target of two "
                    "classes, such as 0 and 1, and here there are more or only one"
                )
            return Instance.of_rows(self.problem, self.data)

    def instance(self) -> Instance:
        """Return the instance, which all but scores are; raises what `made` does."""
        made = self.made()
        assert isinstance(made, Instance)
        return made

    def rows(self) -> Rows | ExactSums:
        """Return the data, not clipped where they are not yet; classes are -1 and +1."""
        if not isinstance(self.data, Rows):
            return self.instance().data
        y = self.instance().y if self.problem.of_classes else self.data.y
        return Rows(self.data.X, y)


def load_problem(name_or_path: str | Path, **changes: Any) -> StoredData:
    """Load the data and the settings of an instance, unclipped, with some keys of [data] changed.

    Raises
    ------
    InvalidInput
        Naming the file.
    """
    description = read_description(name_or_path)
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
