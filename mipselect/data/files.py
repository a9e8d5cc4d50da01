"""Stored instances: the data, the public bounds and the expectation that a TOML file describes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.data.descriptions import (
    Description,
    is_list,
    is_number,
    read_description,
    stored_names,
)
from mipselect.data.sources import SCHEMA_TABLE, SOURCES
from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.losses import checked_loss
from mipselect.losses.base import wants_classes
from mipselect.tables.schema import TableSchema
from mipselect.validation import shown

QUESTION = ("target", "always", "never", "intercept", "ranges", "unit_rule")
"""Keys of [data] that are arguments of `Instance.from_table`."""


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


@dataclass(frozen=True, eq=False)
class Problem:
    """Data as they are stored or drawn, before any clipping, and what is public about them.

    Attributes
    ----------
    path : Path
        Of the file.
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    feature_names : sequence of str or None
    settings : mapping
        The other arguments of `Instance`.
    data_seed : int or None
        Of the recipe that drew the data; None if they come from elsewhere.
    target_shift : float
        The public constant that was subtracted from the target.
    made : Instance or None
        What was made of a table with a schema, whose X and y these are.
    """

    path: Path
    X: FloatArray = field(repr=False)
    y: FloatArray = field(repr=False)
    feature_names: Sequence[str] | None
    settings: Mapping[str, Any]
    data_seed: int | None
    target_shift: float = 0.0
    made: Instance | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """That of the file, without its folder and its ending."""
        return self.path.stem

    @property
    def synthetic(self) -> bool:
        """True if a recipe drew the data, so that they are about nobody."""
        return self.data_seed is not None

    def instance(self) -> Instance:
        """Clip the data; raise `InvalidInput`, naming the file, if a setting is wrong."""
        if self.made is not None:
            return self.made
        try:
            _check_classes(self.y, self.settings)
            return Instance(self.X, self.y, feature_names=self.feature_names, **self.settings)
        except InvalidInput as error:
            raise InvalidInput(f"{self.path}: {error}") from error


def load_problem(
    name_or_path: str | Path, *, n: int | None = None, seed: int | None = None
) -> Problem:
    """Load the data and the settings of an instance, unclipped.

    Parameters
    ----------
    name_or_path : str or Path
        As for `load_instance`.
    n, seed : int, optional
        Rows and seed of a recipe, instead of those in the file.

    Returns
    -------
    Problem

    Raises
    ------
    InvalidInput
        Naming the file and what is wrong in it; also if `n` or `seed` is given and the source is
        no recipe.
    """
    description = read_description(name_or_path)
    settings = {key: value for key, value in description.instance.items() if key != "description"}
    changes = {key: value for key, value in {"n": n, "seed": seed}.items() if value is not None}
    recipe = "seed" in description.source.required
    if changes and not recipe:
        known = [name for name, source in SOURCES.items() if "seed" in source.required]
        raise InvalidInput(
            f"{description.path}: {' and '.join(changes)} can be set for data from a recipe only "
            f"({', '.join(known)}); here the source is {description.data['source']!r}"
        )
    data = {**description.data, **changes}
    folder = description.path.parent
    try:
        if description.source is SCHEMA_TABLE:
            return schema_problem(description.path, folder, data, settings)
        X, y, names = description.source.load(data, folder)
    except InvalidInput as error:
        raise InvalidInput(f"{description.path}: {error}") from error
    except MemoryError as error:
        raise InvalidInput(
            f"{description.path}: the data are too large for the memory here: {error}"
        ) from error
    data_seed = data["seed"] if recipe else None
    shift = data.get("target_shift", 0.0)
    return Problem(description.path, X, y, names, settings, data_seed, shift)


def table_problem(
    path: Path,
    *,
    target: str,
    features: Sequence[str] | None,
    target_shift: float,
    settings: Mapping[str, Any],
) -> Problem:
    """Load a table as the source "table" of an instance file does, unclipped.

    Parameters
    ----------
    path : Path
        See `read_table`.
    target : str
        The column to predict.
    features : sequence of str or None
        The columns to choose from; None is all but the target.
    target_shift : float
        A public constant to subtract from the target.
    settings : mapping
        The other arguments of `Instance`.

    Raises
    ------
    InvalidInput
        Naming the file and what is wrong in it.
    """
    data = {"path": path, "target": target, "features": features, "target_shift": target_shift}
    X, y, names = SOURCES["table"].load(data, Path())
    return Problem(path, X, y, names, settings, data_seed=None, target_shift=target_shift)


def schema_problem(
    path: Path, folder: Path, data: Mapping[str, Any], settings: Mapping[str, Any]
) -> Problem:
    """Make an instance of a table with a schema; see `Instance.from_table`.

    Parameters
    ----------
    path : Path
        By which the problem is known.
    folder : Path
        To which the paths in `data` are relative.
    data : mapping
        As in the [data] section of an instance file.
    settings : mapping
        support_size; optional: coef_bound, ridge, loss.

    Raises
    ------
    InvalidInput
        For what is wrong with the schema, the question or a header; nothing depends on the rows.
    """
    question = {key: value for key, value in data.items() if key in QUESTION}
    schema = TableSchema.read(folder / data["schema"])
    made = Instance.from_table(_source(data["path"], folder), schema, **question, **settings)
    return Problem(path, made.X, made.y, made.feature_names, settings, data_seed=None, made=made)


def blank_problem(
    path: Path, folder: Path, data: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[int | None, Problem]:
    """The same on two rows without values, for a header that is right; and n if it is known."""
    import pyarrow as pa

    from mipselect.tables.mapping import open_table
    from mipselect.tables.public_map import PublicMap

    question = {key: value for key, value in data.items() if key in QUESTION}
    schema = TableSchema.read(folder / data["schema"])
    chosen = {key: question[key] for key in ("target", "always", "never", "ranges") if key in data}
    public = PublicMap.of(schema, **chosen)
    rows = [part.rows for part in open_table(_source(data["path"], folder), public)]
    known = schema.privacy_unit is None and None not in rows
    n = sum(count for count in rows if count is not None) if known else None
    # Two people, where the schema says whose row it is.
    blank = pa.table({name: ["", "1"] for name in public.names})
    made = Instance.from_table(blank, schema, **question, **settings)
    return n, Problem(path, made.X, made.y, made.feature_names, settings, data_seed=None, made=made)


def _source(path: str, folder: Path) -> str:
    return path if "://" in path else str(folder / path)


def files_of(name_or_path: str | Path) -> tuple[Path, ...]:
    """The files that an instance is read from: its own, and those of its data if there are any."""
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


def _check_classes(y: FloatArray, settings: Mapping[str, Any]) -> None:
    """`Instance` would say which values there are; a message must not."""
    loss = checked_loss(settings.get("loss", "squared"))
    if wants_classes(loss) and len(np.unique(y)) != 2:
        raise InvalidInput(
            f"(sensitive) the {loss.name} loss needs a target of two classes, such as 0 and 1, and "
            "here there are more or only one"
        )


def stored_instances() -> tuple[StoredInstance, ...]:
    """List the instances that come with the package, by name; no recipe is run for it."""
    listed = []
    for name in stored_names():
        description = read_description(name)
        n, p = description.source.shape(description.data, description.path.parent)
        settings = description.instance
        listed.append(
            StoredInstance(
                name=name,
                n=n,
                p=p,
                n_features=_number_of_features(description, p),
                support_size=settings["support_size"],
                source=description.data["source"],
                description=settings.get("description", ""),
            )
        )
    return tuple(listed)


def _number_of_features(description: Description, p: int) -> int:
    """Return the number of features that p columns make, without their rows."""
    settings = dict(description.instance)
    if description.source is SCHEMA_TABLE:
        path, data = description.path, description.data
        settings.pop("description", None)
        return blank_problem(path, path.parent, data, settings)[1].instance().n_features
    if "groups" in settings:
        return len(settings["groups"])
    always = settings.get("always", [])
    return p - sum(len(part) if isinstance(part, list) else 1 for part in always)
