"""Stored instances: the settings, the data and the expectation that a TOML file describes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput, about
from mipselect.frames import numeric_matrix, numeric_vector
from mipselect.problem.block_scores import BlockOptions, BlockScores
from mipselect.problem.data import ClippedRows, ExactSums, Rows
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.scores import LOSS, OF_BLOCKS, R2, SCALES, SCORES, require_together
from mipselect.problem.stored.descriptions import (
    OF_THE_ROWS,
    RANGED_TABLE,
    SOURCES,
    Description,
    Loaded,
    is_list,
    is_number,
    read_description,
    shifted,
)
from mipselect.validation import checked_choice, shown

SETTINGS = ("score", *OF_BLOCKS)
"""Keys of an instance file about the score; all but it go with blocks."""

ANY_DRAW = BlockOptions()
"""Options of a score from blocks where no draw is known: ε = 1 and a list of supports."""


def asked_blocks(settings: Mapping[str, Any], draw: BlockOptions = ANY_DRAW) -> BlockOptions | None:
    """Return the blocks that settings of an instance ask for; None where its score is the loss.

    Parameters
    ----------
    settings : mapping
    draw : BlockOptions
        ε of the draw, and whether it can list supports.

    Raises
    ------
    InvalidInput
        For a score that does not exist, and for what is of no use to it.
    """
    score = checked_choice(settings.get("score", LOSS), "score", SCORES)
    require_together(score, settings, lists=draw.lists)
    if score == LOSS:
        return None
    given = {name: settings[name] for name in (*OF_BLOCKS, *SCALES) if name in settings}
    return replace(draw, score=score, **given)


def problem_of(
    settings: Mapping[str, Any],
    n_columns: int,
    names: Sequence[str] | None,
    target_shift: float = 0.0,
    *,
    n: int | None = None,
    blocks: BlockOptions | None = None,
) -> Problem:
    """Return the problem that settings of an instance describe, on columns of these names.

    Parameters
    ----------
    settings : mapping
    n_columns : int
    names : sequence of str or None
    target_shift : float
    n : int, optional
        Number of rows: where it is known the blocks of block R² are.
    blocks : BlockOptions, optional
        From `asked_blocks`; None for the loss.
    """
    own = {key: value for key, value in settings.items() if key not in SETTINGS}
    if blocks is None:
        return Problem.of_columns(
            n_columns, None, feature_names=names, target_shift=target_shift, **own
        )
    own = {key: value for key, value in own.items() if key not in SCALES} | {"loss": None}
    columns = Problem.of_columns(n_columns, None, feature_names=names, **own)
    return blocks.problem_of_arrays(columns, n)


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
                "objective: 'release' draws by it; here score = 'blocks' or 'loss' is wanted"
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


@dataclass(frozen=True)
class Expected:
    """Results that a search must find, from the [expected] section.

    Attributes
    ----------
    support : tuple of int
        An optimal support: features, 0-based and sorted.
    value : float
        Its value R(S), in units of the loss.
    level_values : tuple of float or None
        The best value of every mistake level, level 0 first.
    """

    support: tuple[int, ...]
    value: float
    level_values: tuple[float, ...] | None


def load_problem(
    name_or_path: str | Path,
    *,
    n: int | None = None,
    seed: int | None = None,
    draw: BlockOptions = ANY_DRAW,
) -> StoredData:
    """Load the data and the settings of an instance, unclipped.

    Parameters
    ----------
    name_or_path : str or Path
        As for `load_instance`.
    n, seed : int, optional
        Rows and seed of a recipe, instead of those in the file.
    draw : BlockOptions
        ε of a draw by block R², for which its blocks are chosen where the file does not say them,
        and whether it can list supports; a score, b and T in place of those of the file.

    Raises
    ------
    InvalidInput
        Naming the file and what is wrong in it; also if `n` or `seed` is given and the source is
        no recipe.
    """
    description = _public(name_or_path).scored_by(draw)
    changes = {key: value for key, value in {"n": n, "seed": seed}.items() if value is not None}
    recipe = "seed" in description.source.required
    if changes and not recipe:
        known = [name for name, source in SOURCES.items() if "seed" in source.required]
        raise InvalidInput(
            f"{description.path}: {' and '.join(changes)} can be set for data from a recipe only "
            f"({', '.join(known)}); here the source is {description.data['source']!r}"
        )
    return stored_data(replace(description, data={**description.data, **changes}), draw)


def stored_data(description: Description, draw: BlockOptions = ANY_DRAW) -> StoredData:
    """Load what is described, also within the ranges of its rows; see `load_problem`."""
    data, folder, settings = description.data, description.path.parent, description.settings
    try:
        with about(str(description.path)):
            blocks = asked_blocks(settings, draw)
            if description.source.load is None:
                from mipselect.tables.instances import stored_table

                made = stored_table(data, folder, settings, blocks).made()
                return StoredData.of_made(description.path, made, settings)
            arrays = description.source.load(data, folder)
    except MemoryError as error:
        raise InvalidInput(
            f"{description.path}: the data are too large for the memory here: {error}"
        ) from error
    seed_of_data = data.get("seed")
    shift = data.get("target_shift", 0.0)
    return StoredData.of_arrays(description.path, arrays, settings, seed_of_data, shift, blocks)


def public_problem(
    name_or_path: str | Path, draw: BlockOptions = ANY_DRAW
) -> tuple[Problem, int | None]:
    """Return the problem of an instance, and n where its file says so; no row is read.

    Raises
    ------
    InvalidInput
        As `load_problem`, but for what is wrong with a row.
    """
    description = _public(name_or_path).scored_by(draw)
    data, folder, settings = description.data, description.path.parent, description.settings
    with about(str(description.path)):
        blocks = asked_blocks(settings, draw)
        if description.source.load is None:
            from mipselect.tables.instances import stored_table

            return stored_table(data, folder, settings, blocks).problem()
        n, p, names = description.source.head(data, folder)
        shift = data.get("target_shift", 0.0)
        return problem_of(settings, p, names, shift, n=n, blocks=blocks), n


def _public(name_or_path: str | Path) -> Description:
    """Read a description; refuse one whose ranges are those of its rows, which are sensitive."""
    description = read_description(name_or_path)
    if description.source is RANGED_TABLE:
        raise InvalidInput(
            f"{description.path}: [data] ranges = {OF_THE_ROWS!r} are sensitive, and for "
            "'mipselect solve' alone; for all else name a schema, which has public ranges"
        )
    return description


def files_of(name_or_path: str | Path) -> tuple[Path, ...]:
    """List the files that an instance is read from: its own, and those of its data if any."""
    description = read_description(name_or_path)
    named = [description.data[key] for key in ("path", "schema") if key in description.data]
    return (description.path, *(description.path.parent / name for name in named))


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


def expected(name_or_path: str | Path) -> Expected | None:
    """Return what the file expects of a search, or None if it has no [expected] section."""
    description = read_description(name_or_path)
    section = description.expected
    if section is None:
        return None
    s = description.instance["support_size"]
    support, levels = section["support"], section.get("level_values")
    if not (is_list(support, int) and len(support) == s and sorted(set(support)) == support):
        raise InvalidInput(
            f"{description.path}: [expected] support must be {s} sorted indices of features, "
            f"got {shown(support)}"
        )
    if not (is_number(section["value"]) and math.isfinite(section["value"])):
        raise InvalidInput(
            f"{description.path}: [expected] value must be a number, finite, got "
            f"{shown(section['value'])}"
        )
    if levels is not None and not (is_list(levels, float) and all(map(math.isfinite, levels))):
        raise InvalidInput(
            f"{description.path}: [expected] level_values must be a list of numbers, all finite, "
            f"got {shown(levels)}"
        )
    return Expected(tuple(support), section["value"], None if levels is None else tuple(levels))
