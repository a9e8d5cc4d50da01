"""Stored instances: TOML files that name the data, the public bounds and what is expected.

    [instance]  support_size, x_bound, y_bound, coef_bound, ridge; optional: loss, description
    [data]      source, and the keys of that source (see `mipselect.sources`)
    [expected]  optional: support, value; optional in it: level_values

Paths in a file are relative to the file. An unknown section, key or source is an error.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from mipselect.datasets import BUNDLED
from mipselect.errors import InvalidInput
from mipselect.instance import Instance
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
    description = _read(name_or_path)
    settings = {key: value for key, value in description.instance.items() if key != "description"}
    try:
        X, y, names = description.source.load(description.data, description.path.parent)
        return Instance(X, y, feature_names=names, **settings)
    except InvalidInput as error:
        raise InvalidInput(f"{description.path}: {error}") from error


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
