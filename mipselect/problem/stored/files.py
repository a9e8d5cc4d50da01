"""Stored instances: the data, the public bounds and the expectation that a TOML file describes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from mipselect.errors import InvalidInput, about
from mipselect.problem.block_options import BlockOptions
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.stored.descriptions import (
    Description,
    is_list,
    is_number,
    read_description,
    stored_names,
)
from mipselect.problem.stored.settings import ANY_DRAW, asked_blocks, problem_of
from mipselect.problem.stored.sources import OF_THE_ROWS, RANGED_TABLE, SOURCES
from mipselect.problem.stored.stored_data import StoredData
from mipselect.validation import shown


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


@dataclass(frozen=True)
class StoredInstance:
    """One line of `stored_instances`; everything in it is public."""

    name: str
    n: int
    p: int
    n_features: int
    support_size: int
    source: str
    description: str


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


def stored_instances() -> tuple[StoredInstance, ...]:
    """List the instances that come with the package, by name; no recipe is run for it."""
    listed = []
    for name in stored_names():
        description = read_description(name)
        problem, n = public_problem(name)
        listed.append(
            StoredInstance(
                name=name,
                n=load_problem(name).data.n if n is None else n,
                p=problem.p,
                n_features=problem.n_features,
                support_size=problem.support_size,
                source=description.data["source"],
                description=description.instance.get("description", ""),
            )
        )
    return tuple(listed)
