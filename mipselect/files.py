"""Stored instances: TOML files that name the data, the public bounds and what is expected.

    [instance]  support_size, x_bound, y_bound, coef_bound, ridge; optional: loss, description
    [data]      source, and the keys of that source (see `mipselect.sources`)
    [expected]  optional: support, value; optional in it: level_values

Paths in a file are relative to the file. An unknown section, key or source is an error.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from mipselect.datasets import BUNDLED
from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.losses.base import FloatArray
from mipselect.sources import SOURCES, Source


@dataclass(frozen=True)
class Expected:
    """What a search must find, from the [expected] section.

    Attributes
    ----------
    support : tuple of int
        An optimal support, 0-based and sorted.
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
    """

    path: Path
    X: FloatArray = field(repr=False)
    y: FloatArray = field(repr=False)
    feature_names: Sequence[str] | None
    settings: Mapping[str, Any]
    data_seed: int | None

    @property
    def name(self) -> str:
        """That of the file, without its folder and its ending."""
        return self.path.stem

    @property
    def synthetic(self) -> bool:
        """Whether a recipe drew the data, so that they are about nobody."""
        return self.data_seed is not None

    def instance(self) -> Instance:
        """Clip the data; raise `InvalidInput`, naming the file, if a setting is wrong."""
        try:
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
    description = _read(name_or_path)
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
    try:
        X, y, names = description.source.load(data, description.path.parent)
    except InvalidInput as error:
        raise InvalidInput(f"{description.path}: {error}") from error
    data_seed = data["seed"] if recipe else None
    return Problem(description.path, X, y, names, settings, data_seed)


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
    """
    return load_problem(name_or_path).instance()


def expected(name_or_path: str | Path) -> Expected | None:
    """Return what the file expects of a search, or None if it has no [expected] section."""
    description = _read(name_or_path)
    section = description.expected
    if section is None:
        return None
    s = description.instance["support_size"]
    support, levels = section["support"], section.get("level_values")
    if not (_is_list(support, int) and len(support) == s and sorted(set(support)) == support):
        raise InvalidInput(
            f"{description.path}: [expected] support must be {s} sorted column indices, "
            f"got {support!r}"
        )
    if not _is_number(section["value"]):
        raise InvalidInput(
            f"{description.path}: [expected] value must be a number, got {section['value']!r}"
        )
    if levels is not None and not _is_list(levels, float):
        raise InvalidInput(
            f"{description.path}: [expected] level_values must be a list of numbers, got {levels!r}"
        )
    return Expected(tuple(support), section["value"], None if levels is None else tuple(levels))


def stored_instances() -> tuple[StoredInstance, ...]:
    """List the instances that come with the package, by name; no recipe is run for it."""
    listed = []
    for name in _stored_names():
        description = _read(name)
        n, p = description.source.shape(description.data, description.path.parent)
        settings = description.instance
        listed.append(
            StoredInstance(
                name=name,
                n=n,
                p=p,
                support_size=settings["support_size"],
                source=description.data["source"],
                description=settings.get("description", ""),
            )
        )
    return tuple(listed)


INSTANCE_KEYS = {
    "support_size": int,
    "x_bound": float,
    "y_bound": float,
    "coef_bound": float,
    "ridge": float,
}


@dataclass(frozen=True)
class _Description:
    """A parsed file whose sections and keys are known to be right."""

    path: Path
    instance: Mapping[str, Any]
    data: Mapping[str, Any]
    expected: Mapping[str, Any] | None
    source: Source


def _stored_names() -> list[str]:
    return sorted(
        Path(entry.name).stem
        for entry in resources.files("mipselect_instances").iterdir()
        if entry.name.endswith(".toml")
    )


def _locate(name_or_path: str | Path) -> Path:
    name = str(name_or_path)
    stored = _stored_names()
    if name in stored:
        return Path(str(resources.files("mipselect_instances"))) / f"{name}.toml"
    path = Path(name_or_path)
    if path.is_file():
        return path
    if path.suffix == ".toml":
        raise InvalidInput(f"{path}: no such file")
    close = difflib.get_close_matches(name, stored, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise InvalidInput(
        f"{name!r} is neither a stored instance nor a file; {hint}stored: {', '.join(stored)}"
    )


def _read(name_or_path: str | Path) -> _Description:
    path = _locate(name_or_path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path}: not valid TOML: {error}") from error
    _check_keys(path, "the file", content, required=("instance", "data"), optional=("expected",))
    for name, section in content.items():
        if not isinstance(section, dict):
            raise InvalidInput(f"{path}: {name} must be a section, [{name}]")
    instance, data, wanted = content["instance"], content["data"], content.get("expected")
    _check_section(path, "[instance]", instance, INSTANCE_KEYS, {"loss": str, "description": str})
    if "source" not in data:
        raise InvalidInput(f"{path}: [data] has no source; known: {', '.join(SOURCES)}")
    if data["source"] not in SOURCES:
        raise InvalidInput(
            f"{path}: [data] source {data['source']!r} is unknown; known: {', '.join(SOURCES)}"
        )
    source = SOURCES[data["source"]]
    _check_section(path, "[data]", data, {"source": str, **source.required}, source.optional)
    if data["source"] == "sklearn" and data["name"] not in BUNDLED:
        raise InvalidInput(
            f"{path}: [data] name {data['name']!r} is unknown; known: {', '.join(sorted(BUNDLED))}"
        )
    if wanted is not None:
        _check_keys(path, "[expected]", wanted, ("support", "value"), ("level_values",))
    return _Description(path, instance, data, wanted, source)


def _check_section(
    path: Path,
    where: str,
    section: Mapping[str, Any],
    required: Mapping[str, type],
    optional: Mapping[str, type],
) -> None:
    """Check keys and types; ranges are checked where the values are used."""
    _check_keys(path, where, section, required, optional)
    words = {str: "a text", int: "an integer", float: "a number", list: "a list of texts"}
    for key, value in section.items():
        kind = {**required, **optional}[key]
        if kind is float:
            right = _is_number(value)
        elif kind is list:
            right = _is_list(value, str)
        else:
            right = isinstance(value, kind) and not isinstance(value, bool)
        if not right:
            raise InvalidInput(f"{path}: {where} {key} must be {words[kind]}, got {value!r}")


def _check_keys(
    path: Path,
    where: str,
    section: Mapping[str, Any],
    required: Collection[str],
    optional: Collection[str],
) -> None:
    known = [*required, *optional]
    for key in section:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InvalidInput(
                f"{path}: {where} has the unknown key {key!r}; known: {', '.join(known)}{hint}"
            )
    missing = [key for key in required if key not in section]
    if missing:
        raise InvalidInput(f"{path}: {where} lacks {', '.join(missing)}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: object, kind: type) -> bool:
    if not isinstance(value, list):
        return False
    if kind is float:
        return all(_is_number(entry) for entry in value)
    return all(isinstance(entry, kind) and not isinstance(entry, bool) for entry in value)
