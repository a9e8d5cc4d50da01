"""Descriptions of stored instances: what a TOML file says of a problem and its data.

    [instance]  support_size, x_bound, y_bound, coef_bound, ridge; optional: loss, description,
                groups, always, intercept
    [data]      source, and the keys of that source; a new source is a loader and an entry of
                `SOURCES`
    [expected]  optional: support, value; optional in it: level_values

Paths in a file are relative to the file. An unknown section, key or source is an error.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.datasets import (
    DIABETES_FEATURES,
    DIABETES_ROWS,
    check_recipe,
    correlated_gaussian,
    diabetes,
    logistic_gaussian,
)
from mipselect.disk import DAMAGE, read_toml, regular_file
from mipselect.errors import InvalidInput, about
from mipselect.validation import did_you_mean, shown


@dataclass(frozen=True)
class Kind:
    """Requirement on a value of TOML, in words, and the test whether one meets it."""

    words: str
    holds: Callable[[Any], bool]

    def of_each(self, value: object) -> bool:
        """Return whether a value is a list, and each of its entries is of this kind."""
        return isinstance(value, list) and all(map(self.holds, value))


def is_finite(value: object) -> bool:
    """Return whether a TOML value is a finite float, or an integer not beyond all floats."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


TEXT = Kind("a text", lambda value: isinstance(value, str))
TEXTS = Kind("a list of texts", TEXT.of_each)
INTEGER = Kind("an integer", lambda v: isinstance(v, int) and not isinstance(v, bool))
FINITE = Kind("a number, finite", is_finite)

Kinds = Mapping[str, Kind | None]
"""Keys, and the kinds of their values; None where what takes a value checks it."""

WAYS = {"delimiter": TEXT, "sheet": TEXT}
"""Keys of a table, and arguments of `TableFile`."""

MOST_NUMBERS = sys.maxsize // 8

Loaded = tuple[FloatArray, FloatArray, Sequence[str] | None]
Head = tuple[int | None, int, Sequence[str] | None]


@dataclass(frozen=True)
class Source:
    """One kind of [data]: its keys with their types, and how arrays of numbers are read by it.

    Attributes
    ----------
    required, optional : mapping of str to Kind
    load : callable
        Takes the [data] section and the folder of the file; returns X, y and names or None.
    head : callable
        Takes the same; returns n, p and the same names, and reads or draws no row. Where n would
        have to be counted it is None.
    """

    required: Kinds
    optional: Kinds
    load: Callable[[Mapping[str, Any], Path], Loaded]
    head: Callable[[Mapping[str, Any], Path], Head]


def _load_npz(data: Mapping[str, Any], folder: Path) -> Loaded:
    path = regular_file(folder / data["path"])
    X, y = _member(path, "X"), _member(path, "y")
    # PyArrow comes with it, which a list of instances has no use for.
    from mipselect.frames import numeric_matrix, numeric_vector

    with about(f"{path}: (sensitive)"):
        return numeric_matrix(X)[0], numeric_vector(y), None


def _member(path: Path, name: str) -> FloatArray:
    """Read one array of an .npz file."""
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            found = stored.get(name) if isinstance(stored, np.lib.npyio.NpzFile) else None
    except (*DAMAGE, MemoryError) as error:
        raise InvalidInput(f"{path}: cannot be read as .npz: {error}") from error
    if not isinstance(found, np.ndarray):
        raise InvalidInput(f"{path}: must be an .npz file with the arrays X and y; {name} is none")
    return found


def _npz_shape(path: Path) -> tuple[int, int]:
    """Read (n, p) of X from the head of the array."""
    regular_file(path)
    try:
        with zipfile.ZipFile(path) as archive, archive.open("X.npy") as file:
            version = np.lib.format.read_magic(file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            n, p = read(file)[0]
    except (*DAMAGE, MemoryError) as error:
        raise InvalidInput(f"{path}: cannot be read as .npz with a table X: {error}") from error
    return int(n), int(p)


def _recipe(draw: Callable[..., tuple[FloatArray, FloatArray]]) -> Source:
    """Make a synthetic source: its keys are the parameters of `draw`."""

    def settings(data: Mapping[str, Any]) -> dict[str, Any]:
        settings = {key: value for key, value in data.items() if key != "source"}
        check_recipe(**settings)
        if data["n"] * data["p"] > MOST_NUMBERS:
            raise InvalidInput("n · p is more than any machine can store")
        return settings

    def head(data: Mapping[str, Any], _: Path) -> Head:
        known = settings(data)
        return known["n"], known["p"], None

    keys = dict.fromkeys(("n", "p", "rho", "snr", "support_size", "seed"))
    return Source(keys, {}, lambda data, _: (*draw(**settings(data)), None), head)


def _load_table(data: Mapping[str, Any], folder: Path) -> Loaded:
    from mipselect.tables.numbers import read_table, table_file

    return read_table(table_file(data, folder), data["target"], data.get("features"))


def _head_of_table(data: Mapping[str, Any], folder: Path) -> Head:
    from mipselect.tables.numbers import header, table_file

    names = header(table_file(data, folder), data["target"], data.get("features"))
    return None, len(names), names


SOURCES = {
    "table": Source(
        required={"path": TEXT, "target": TEXT},
        optional={"features": TEXTS, **WAYS},
        load=_load_table,
        head=_head_of_table,
    ),
    "npz": Source(
        required={"path": TEXT},
        optional={},
        load=_load_npz,
        head=lambda data, folder: (*_npz_shape(folder / data["path"]), None),
    ),
    "sklearn": Source(
        required={"name": Kind("'diabetes'", lambda value: value == "diabetes")},
        optional={},
        load=lambda _, __: (*diabetes(), DIABETES_FEATURES),
        head=lambda _, __: (DIABETES_ROWS, len(DIABETES_FEATURES), DIABETES_FEATURES),
    ),
    "correlated-gaussian": _recipe(correlated_gaussian),
    "logistic-gaussian": _recipe(logistic_gaussian),
}


INSTANCE_KEYS = dict.fromkeys(("support_size", "x_bound", "y_bound", "coef_bound", "ridge"))
OPTIONAL_KEYS = {
    **dict.fromkeys(("loss", "groups", "always", "intercept")),
    "description": TEXT,
}
EXPECTED_KEYS = {
    "support": Kind("a list of indices of features", INTEGER.of_each),
    "value": FINITE,
}
LEVELS = {"level_values": Kind("a list of numbers, all finite", FINITE.of_each)}

MOST_BYTES = 1 << 20
"""An instance file is written by hand; more is something else."""


@dataclass(frozen=True)
class Description:
    """A parsed file whose sections and keys are known to be right; values may still be wrong."""

    path: Path
    instance: Mapping[str, Any]
    data: Mapping[str, Any]
    expected: Mapping[str, Any] | None
    source: Source

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of `Instance`."""
        return {key: value for key, value in self.instance.items() if key != "description"}


def stored_names() -> list[str]:
    """List the instances that come with the package."""
    return sorted(
        Path(entry.name).stem
        for entry in resources.files("mipselect_instances").iterdir()
        if entry.name.endswith(".toml")
    )


def _locate(name_or_path: str | Path) -> Path:
    name = str(name_or_path)
    stored = stored_names()
    if name in stored:
        return Path(str(resources.files("mipselect_instances"))) / f"{name}.toml"
    path = Path(name_or_path)
    if path.suffix == ".toml":
        return path
    raise InvalidInput(
        f"{name!r} is neither a stored instance nor a .toml file; stored: {', '.join(stored)}"
        f"{did_you_mean(name, stored)}. 'mipselect select' and 'mipselect fit' take tables"
    )


def read_description(name_or_path: str | Path) -> Description:
    """Parse a stored instance or a file; raise `InvalidInput`, naming it and what is wrong."""
    if not isinstance(name_or_path, str | Path):
        raise InvalidInput(
            f"an instance is the name of a stored one or the path of a file, got {name_or_path!r}"
        )
    path = _locate(name_or_path)
    return described(path, read_toml(path, MOST_BYTES))


def described(path: Path, content: Mapping[str, Any]) -> Description:
    """Check the sections of an instance, whose data are named from the folder of `path`."""
    _check_keys(path, "the file", content, required=("instance", "data"), optional=("expected",))
    for name, section in content.items():
        if not isinstance(section, dict):
            raise InvalidInput(f"{path}: {name} must be a section, [{name}]")
    instance, data, wanted = content["instance"], content["data"], content.get("expected")
    _check_section(path, "[instance]", instance, INSTANCE_KEYS, OPTIONAL_KEYS)
    if "source" not in data:
        raise InvalidInput(f"{path}: [data] has no source; known: {', '.join(SOURCES)}")
    if not isinstance(data["source"], str) or data["source"] not in SOURCES:
        raise InvalidInput(
            f"{path}: [data] source {data['source']!r} is unknown; known: {', '.join(SOURCES)}"
        )
    source = SOURCES[data["source"]]
    _check_section(path, "[data]", data, {"source": TEXT, **source.required}, source.optional)
    if wanted is not None:
        _check_section(path, "[expected]", wanted, EXPECTED_KEYS, LEVELS)
    return Description(path, instance, data, wanted, source)


def _check_section(
    path: Path,
    where: str,
    section: Mapping[str, Any],
    required: Kinds,
    optional: Kinds,
) -> None:
    """Check keys and types; ranges are checked where the values are used."""
    _check_keys(path, where, section, required, optional)
    for key, value in section.items():
        kind = {**required, **optional}[key]
        if kind is not None and not kind.holds(value):
            raise InvalidInput(f"{path}: {where} {key} must be {kind.words}, got {shown(value)}")


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
            hint = did_you_mean(key, known)
            raise InvalidInput(
                f"{path}: {where} has the unknown key {key!r}; known: {', '.join(known)}{hint}"
            )
    missing = [key for key in required if key not in section]
    if missing:
        raise InvalidInput(f"{path}: {where} lacks {', '.join(missing)}")


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


def files_of(name_or_path: str | Path) -> tuple[Path, ...]:
    """List the files that an instance is read from: its own, and those of its data if any."""
    description = read_description(name_or_path)
    named = [description.data["path"]] if "path" in description.data else []
    return (description.path, *(description.path.parent / name for name in named))


def expected(name_or_path: str | Path) -> Expected | None:
    """Return what the file expects of a search, or None if it has no [expected] section."""
    description = read_description(name_or_path)
    section = description.expected
    if section is None:
        return None
    s, support = description.instance["support_size"], section["support"]
    if len(support) != s or sorted(set(support)) != support:
        raise InvalidInput(
            f"{description.path}: [expected] support must be {s} sorted indices of features, "
            f"got {shown(support)}"
        )
    levels = section.get("level_values")
    return Expected(tuple(support), section["value"], None if levels is None else tuple(levels))
