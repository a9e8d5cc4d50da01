"""The TOML files of stored instances: their sections and keys, and the sources of their data.

    [instance]  support_size, x_bound, y_bound, coef_bound, ridge; optional: loss, description,
                groups, always, intercept, always_bound
                for a table with a schema, or with ranges = "rows": support_size; optional also:
                coef_bound, ridge
                with score = "blocks": support_size; optional: block_rows, partitions,
                partition_seed, coef_bound, ridge, groups, always; see `Instance.from_blocks`
                with score = "block-r2": the same without coef_bound and ridge; see `BlockScores`
    [data]      source, and the keys of that source; a new source is a loader and an entry of
                `SOURCES`
    [expected]  optional: support, value; optional in it: level_values

Paths in a file are relative to the file. An unknown section, key or source is an error.
"""

from __future__ import annotations

import math
import sys
import zipfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.datasets import BUNDLED, bundled, correlated_gaussian, logistic_gaussian
from mipselect.disk import DAMAGE, read_toml, regular_file
from mipselect.errors import InvalidInput
from mipselect.problem.scores import LOSS, OF_BLOCKS, R2, RANGES, SCALES
from mipselect.validation import did_you_mean, shown

if TYPE_CHECKING:
    from mipselect.problem.block_scores import BlockOptions

WAYS = {"delimiter": str, "encoding": str, "sheet": str}
"""Keys of a table, and arguments of `TableFile`."""

MOST_NUMBERS = sys.maxsize // 8

Loaded = tuple[FloatArray, FloatArray, Sequence[str] | None]
Head = tuple[int | None, int, Sequence[str] | None]


@dataclass(frozen=True)
class Source:
    """One kind of [data]: its keys with their types, and how arrays of numbers are read by it.

    Attributes
    ----------
    required, optional : mapping of str to type
    load : callable or None
        Takes the [data] section and the folder of the file; returns X, y and names or None. None of
        a table with a schema.
    head : callable
        Takes the same; returns n, p and the same names, and reads or draws no row. Where n would
        have to be counted it is None.
    """

    required: Mapping[str, type]
    optional: Mapping[str, type]
    load: Callable[[Mapping[str, Any], Path], Loaded] | None = None
    head: Callable[[Mapping[str, Any], Path], Head] = lambda data, folder: (None, 0, None)


def _load_npz(data: Mapping[str, Any], folder: Path) -> Loaded:
    path = regular_file(folder / data["path"])
    return _member(path, "X"), _member(path, "y"), None


def _member(path: Path, name: str) -> FloatArray:
    """Read one array of an .npz file, of finite numbers."""
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            found = stored.get(name) if isinstance(stored, np.lib.npyio.NpzFile) else None
    except (*DAMAGE, MemoryError) as error:
        raise InvalidInput(f"{path}: cannot be read as .npz: {error}") from error
    if not isinstance(found, np.ndarray):
        raise InvalidInput(f"{path}: must be an .npz file with the arrays X and y; {name} is none")
    if found.dtype.kind not in "biuf":
        raise InvalidInput(f"{path}: {name} must hold real numbers, got dtype {found.dtype}")
    bad = np.argwhere(~np.isfinite(found))
    if bad.size:
        where = ", ".join(
            f"{what} {at}" for what, at in zip(("row", "column"), bad[0], strict=False)
        )
        raise InvalidInput(
            f"{path}: (sensitive) {name} must be finite: {where} (counted from 0) is not; remove "
            "or impute such rows first"
        )
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


def shifted(y: FloatArray, shift: float) -> FloatArray:
    """Subtract a public constant from the target: the model has no intercept."""
    if shift == 0.0:
        return y
    if not math.isfinite(shift):
        raise InvalidInput(f"target_shift must be a finite number, got {shift}")
    with np.errstate(over="ignore"):
        difference = y - float(shift)
    if not np.isfinite(difference).all():
        raise InvalidInput("(sensitive) the target minus target_shift is beyond all floats")
    return difference


def _recipe(draw: Callable[..., tuple[FloatArray, FloatArray]]) -> Source:
    """Make a synthetic source: its keys are the parameters of `draw`."""

    def load(data: Mapping[str, Any], _: Path) -> Loaded:
        if data["n"] * data["p"] > MOST_NUMBERS:
            raise InvalidInput("n · p is more than any machine can store")
        settings = {key: value for key, value in data.items() if key != "source"}
        return *draw(**settings), None

    return Source(
        required={"n": int, "p": int, "rho": float, "snr": float, "support_size": int, "seed": int},
        optional={},
        load=load,
        head=lambda data, _: (data["n"], data["p"], None),
    )


def _load_table(data: Mapping[str, Any], folder: Path) -> Loaded:
    from mipselect.tables.numbers import read_table, table_file

    return read_table(table_file(data, folder), data["target"], data.get("features"))


def _head_of_table(data: Mapping[str, Any], folder: Path) -> Head:
    from mipselect.tables.numbers import header, table_file

    names = header(table_file(data, folder), data["target"], data.get("features"))
    return None, len(names), names


def _head_of_bundled(data: Mapping[str, Any], _: Path) -> Head:
    known = BUNDLED[data["name"]]
    return known.n, known.p, known.names


SOURCES = {
    "table": Source(
        required={"path": str, "target": str},
        optional={"features": list, "target_shift": float, **WAYS},
        load=_load_table,
        head=_head_of_table,
    ),
    "npz": Source(
        required={"path": str},
        optional={"target_shift": float},
        load=_load_npz,
        head=lambda data, folder: (*_npz_shape(folder / data["path"]), None),
    ),
    "sklearn": Source(
        required={"name": str},
        optional={"target_shift": float},
        load=lambda data, _: bundled(data["name"]),
        head=_head_of_bundled,
    ),
    "correlated-gaussian": _recipe(correlated_gaussian),
    "logistic-gaussian": _recipe(logistic_gaussian),
}

SCHEMA_TABLE = Source(
    required={"path": str, "target": str, "schema": str},
    optional={
        "always": list,
        "never": list,
        "intercept": bool,
        "ranges": dict,
        "unit_rule": str,
        **WAYS,
    },
)
"""The source "table" where it has a schema; features may have several columns."""

OF_THE_ROWS = "rows"
"""The `ranges` of a table without a schema."""

RANGED_TABLE = Source(
    required={"path": str, "target": str, "ranges": str},
    optional={"always": list, "never": list, "intercept": bool, **WAYS},
)
"""The source "table" within the ranges of its own rows, which only a sensitive report may use."""


@dataclass(frozen=True)
class Kind:
    """Requirement on a value, in words, and the test whether one meets it."""

    words: str
    holds: Callable[[object], bool]


def is_number(value: object) -> bool:
    """Return whether a TOML value is a float, or an integer that is not beyond all floats."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, float)


def is_list(value: object, kind: type) -> bool:
    """Return whether a TOML value is a list of this kind; integers count as floats."""
    if not isinstance(value, list):
        return False
    if kind is float:
        return all(is_number(entry) for entry in value)
    return all(isinstance(entry, kind) and not isinstance(entry, bool) for entry in value)


def _is_column(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _are_columns(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_column, value))


def _are_groups(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_are_columns, value.values()))
    return isinstance(value, list) and all(map(_are_columns, value))


def _are_parts(value: object) -> bool:
    return isinstance(value, list) and all(_is_column(v) or _are_columns(v) for v in value)


KINDS = {
    str: Kind("a text", lambda value: isinstance(value, str)),
    int: Kind("an integer", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    float: Kind("a number", is_number),
    bool: Kind("true or false", lambda value: isinstance(value, bool)),
    list: Kind("a list of texts", lambda value: is_list(value, str)),
    dict: Kind("a table of names with [lo, hi]", lambda value: isinstance(value, dict)),
}

Kinds = Mapping[str, type | Kind]

BOUNDS = Kind(
    "a number, or a list of numbers, one for every feature",
    lambda value: is_number(value) or is_list(value, float),
)
GROUPS = Kind("a list of lists of columns, or a table of names with such lists", _are_groups)
PARTS = Kind("a list of columns, or of lists of those that are bounded together", _are_parts)

INSTANCE_KEYS: Kinds = {
    "support_size": int,
    "x_bound": BOUNDS,
    "y_bound": float,
    "coef_bound": float,
    "ridge": float,
}
OPTIONAL_KEYS: Kinds = {
    "groups": GROUPS,
    "always": PARTS,
    "intercept": bool,
    "always_bound": float,
}
"""Columns are indices from 0, or names."""

SCHEMA_INSTANCE_KEYS: Kinds = {"support_size": int}
SCHEMA_OPTIONAL_KEYS: Kinds = {"coef_bound": float, "ridge": float}
"""With a schema features and target lie in [-1, 1], and the other bounds have public defaults."""

BLOCK_KEYS: Kinds = {"score": str, "block_rows": int, "partitions": int, "partition_seed": int}

STATED = ("score", "block_rows", "partitions")
"""Keys for which a draw may state a value of its own."""

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

    def scored_by(self, draw: BlockOptions) -> Description:
        """Put the score, b and T of a draw, where it states them, in place of those of the file.

        Under another score bounds, scales and blocks of the file mean nothing, and are left out.
        """
        stated = {name: getattr(draw, name) for name in STATED if getattr(draw, name) is not None}
        instance, data, wanted = self.instance, self.data, self.expected
        own = instance.get("score", LOSS)
        if stated.get("score", own) != own:
            dropped = {*RANGES, *SCALES, *OF_BLOCKS, "loss", "intercept", "ranges"}
            instance, data = (
                {key: value for key, value in section.items() if key not in dropped}
                for section in (instance, data)
            )
            wanted = None
        return replace(self, instance={**instance, **stated}, data=data, expected=wanted)


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
    # A name that is too long, or may not be looked up, names no file.
    with suppress(OSError):
        if path.suffix == ".toml" or path.is_file():
            return path
    raise InvalidInput(
        f"{name!r} is neither a stored instance nor a file; stored: {', '.join(stored)}"
        f"{did_you_mean(name, stored)}"
    )


def read_description(name_or_path: str | Path) -> Description:
    """Parse a stored instance or a file; raise `InvalidInput`, naming it and what is wrong."""
    if not isinstance(name_or_path, str | Path):
        raise InvalidInput(
            f"an instance is the name of a stored one or the path of a file, got {name_or_path!r}"
        )
    path = _locate(name_or_path)
    if path.suffix != ".toml":
        _refuse_table(path)
    return described(path, read_toml(path, MOST_BYTES))


def _refuse_table(path: Path) -> None:
    """Raise `InvalidInput` for a file with the ending of a table."""
    from mipselect.tables.stored_files import is_table

    if is_table(str(path)):
        raise InvalidInput(
            f"{path}: is a table, and an instance is a .toml file that names one; 'mipselect "
            "select' and 'mipselect fit' take the table itself, with --target and a --schema "
            "(begin one with 'mipselect describe')"
        )


def described(path: Path, content: Mapping[str, Any]) -> Description:
    """Check the sections of an instance, whose data are named from the folder of `path`."""
    _check_keys(path, "the file", content, required=("instance", "data"), optional=("expected",))
    for name, section in content.items():
        if not isinstance(section, dict):
            raise InvalidInput(f"{path}: {name} must be a section, [{name}]")
    instance, data, wanted = content["instance"], content["data"], content.get("expected")
    of_table = data.get("source") == "table"
    has_ranges = of_table and not {"schema", "ranges"}.isdisjoint(data)
    needs_nothing = has_ranges or instance.get("score", LOSS) != LOSS
    required = SCHEMA_INSTANCE_KEYS if needs_nothing else INSTANCE_KEYS
    more = SCHEMA_OPTIONAL_KEYS if has_ranges else {**OPTIONAL_KEYS, **INSTANCE_KEYS}
    optional: Kinds = {"loss": str, "description": str, **more, **BLOCK_KEYS}
    _check_section(path, "[instance]", instance, required, optional)
    if "source" not in data:
        raise InvalidInput(f"{path}: [data] has no source; known: {', '.join(SOURCES)}")
    if not isinstance(data["source"], str) or data["source"] not in SOURCES:
        raise InvalidInput(
            f"{path}: [data] source {data['source']!r} is unknown; known: {', '.join(SOURCES)}"
        )
    source = SOURCES[data["source"]]
    if has_ranges:
        source = SCHEMA_TABLE if "schema" in data else RANGED_TABLE
    _check_section(path, "[data]", data, {"source": str, **source.required}, source.optional)
    if source is RANGED_TABLE and data["ranges"] != OF_THE_ROWS:
        raise InvalidInput(
            f"{path}: [data] ranges without a schema must be {OF_THE_ROWS!r}, for those of the "
            f"rows, got {shown(data['ranges'])}"
        )
    if data["source"] == "sklearn" and data["name"] not in BUNDLED:
        raise InvalidInput(
            f"{path}: [data] name {data['name']!r} is unknown; known: {', '.join(sorted(BUNDLED))}"
        )
    if wanted is not None:
        if instance.get("score") == R2:
            raise InvalidInput(
                f"{path}: [expected] is about an objective, which score 'block-r2' has not: leave "
                "it out"
            )
        _check_keys(path, "[expected]", wanted, ("support", "value"), ("level_values",))
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
        known = {**required, **optional}[key]
        kind = known if isinstance(known, Kind) else KINDS[known]
        if not kind.holds(value):
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
