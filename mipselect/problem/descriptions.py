"""Descriptions of stored instances, what a TOML file says of a problem, and recipes of data.

    [instance]  support_size, x_bound, y_bound, coef_bound, ridge; optional: loss, description,
                groups, always, intercept
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
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from mipselect import validation
from mipselect.arrays import FloatArray
from mipselect.disk import DAMAGE, read_toml, regular_file
from mipselect.errors import InvalidInput, about
from mipselect.parameters import completed_by


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


def correlated_gaussian(
    n: int, p: int, *, rho: float, snr: float, support_size: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Draw the papers' synthetic regression: y = Xβ + noise with correlated Gaussian features.

    Rows of X are N(0, Σ) with Σ_ij = ρ^|i-j|; β_j = 1/√s at the 0-based columns 1, 3, 5, ... and
    zero elsewhere; the noise is Gaussian, scaled so that ‖Xβ‖² / ‖noise‖² is exactly `snr`.

    Parameters
    ----------
    n, p : int
        Rows and features, at least 1.
    rho : float
        Correlation of neighbouring columns, -1 < ρ < 1.
    snr : float
        Signal-to-noise ratio of the sample, > 0.
    support_size : int
        s ≥ 1 with 2s ≤ p.
    seed : int
        Seed ≥ 0 of `numpy.random.default_rng`.

    Returns
    -------
    X : ndarray of shape (n, p)
        In column-major order, so that it is there once.
    y : ndarray of shape (n,)

    Raises
    ------
    InvalidInput
        Where a parameter is out of range.

    Notes
    -----
    The result depends on the order of the draws, which is: for each column j = 0, 1, ... its n
    standard normal innovations e_j, then the n standard normals of the noise. Columns follow
    x_0 = e_0 and x_j = ρ x_{j-1} + √(1-ρ²) e_j.

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    section 5.

    Examples
    --------
    >>> from mipselect.datasets import correlated_gaussian
    >>> X, y = correlated_gaussian(200, 10, rho=0.1, snr=5.0, support_size=3, seed=1)
    >>> X.shape, y.shape
    ((200, 10), (200,))
    """
    check_recipe(n, p, rho, snr, support_size, seed)
    return _gaussian_model(n, p, rho, snr, support_size, np.random.default_rng(seed))


@completed_by(correlated_gaussian)
def logistic_gaussian(
    n: int, p: int, *, rho: float, snr: float, support_size: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Draw the paper's synthetic classification: labels -1 and +1 by a logistic law.

    With X and t = Xβ + noise as in `correlated_gaussian`, y_i = +1 with probability
    1/(1 + exp(-t_i)) and -1 otherwise.

    Returns
    -------
    X : ndarray of shape (n, p)
        The same as from `correlated_gaussian` with the same parameters.
    y : ndarray of shape (n,)
        -1.0 and +1.0.

    Notes
    -----
    After the draws of `correlated_gaussian` come n uniforms v_i; y_i = +1 where
    v_i < 1/(1 + exp(-t_i)).

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    appendix D.2.

    Examples
    --------
    >>> from mipselect.datasets import logistic_gaussian
    >>> X, y = logistic_gaussian(200, 10, rho=0.1, snr=5.0, support_size=3, seed=1)
    >>> sorted(set(y.tolist()))
    [-1.0, 1.0]
    """
    check_recipe(n, p, rho, snr, support_size, seed)
    generator = np.random.default_rng(seed)
    X, latent = _gaussian_model(n, p, rho, snr, support_size, generator)
    positive = generator.random(n) < 1.0 / (1.0 + np.exp(-latent))
    return X, np.where(positive, 1.0, -1.0)


def _gaussian_model(
    n: int, p: int, rho: float, snr: float, support_size: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    columns = generator.standard_normal((p, n))
    for j in range(1, p):
        columns[j] *= math.sqrt(1.0 - rho**2)
        columns[j] += rho * columns[j - 1]
    signal = columns[1 : 2 * support_size : 2].sum(axis=0) / math.sqrt(support_size)
    noise = generator.standard_normal(n)
    noise *= np.linalg.norm(signal) / (math.sqrt(snr) * np.linalg.norm(noise))
    return columns.T, signal + noise


def check_recipe(n: int, p: int, rho: float, snr: float, support_size: int, seed: int) -> None:
    """Raise `InvalidInput` for a parameter of `correlated_gaussian` that is out of range."""
    for name, count, least in (
        ("n", n, 1),
        ("p", p, 1),
        ("support_size", support_size, 1),
        ("seed", seed, 0),
    ):
        validation.checked_integer(count, name, least)
    if 2 * support_size > p:
        raise InvalidInput(
            f"the signal stands in columns 1, 3, ..., {2 * support_size - 1}, so p must be at "
            f"least 2 · support_size = {2 * support_size}, got {p}"
        )
    if n * p > MOST_NUMBERS:
        raise InvalidInput("n · p is more than any machine can store")
    validation.checked_number(
        rho, "rho", "a number strictly between -1 and 1", lambda v: -1.0 < v < 1.0
    )
    validation.checked_positive(snr, "snr")


def _recipe(draw: Callable[..., tuple[FloatArray, FloatArray]]) -> Source:
    """Make a synthetic source: its keys are the parameters of `draw`."""

    def settings(data: Mapping[str, Any]) -> dict[str, Any]:
        settings = {key: value for key, value in data.items() if key != "source"}
        check_recipe(**settings)
        return settings

    def head(data: Mapping[str, Any], _: Path) -> Head:
        known = settings(data)
        return known["n"], known["p"], None

    keys = dict.fromkeys(("n", "p", "rho", "snr", "support_size", "seed"))
    return Source(keys, {}, lambda data, _: (*draw(**settings(data)), None), head)


DIABETES_ROWS = 442
DIABETES_FEATURES = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")
DIABETES_SHIFT = 150.0
"""A round number inside the published range of the target, not its mean."""


def diabetes() -> tuple[FloatArray, FloatArray]:
    """Load the diabetes data that come with scikit-learn, in the order of `DIABETES_FEATURES`.

    Returns
    -------
    X : ndarray of shape (442, 10)
        Each feature centred and divided by √n times its standard deviation, so that a column has
        length 1 and a typical entry is of size 1/√442 ≈ 0.048, without unit.
    y : ndarray of shape (442,)
        A measure of the progression of the disease one year later, in points from 25 to 346, minus
        `DIABETES_SHIFT`: a model of it needs no intercept.

    Examples
    --------
    >>> from mipselect.datasets import diabetes
    >>> X, y = diabetes()
    >>> X.shape, float(y.min()), float(y.max())
    ((442, 10), -125.0, 196.0)
    """
    # Imported here because scikit-learn takes longer to import than the rest of the package.
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=True)
    return data.data, data.target - DIABETES_SHIFT


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
        f"{validation.did_you_mean(name, stored)}. 'mipselect select' and 'fit' take tables"
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
            raise InvalidInput(
                f"{path}: {where} {key} must be {kind.words}, got {validation.shown(value)}"
            )


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
            hint = validation.did_you_mean(key, known)
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
            f"got {validation.shown(support)}"
        )
    levels = section.get("level_values")
    return Expected(tuple(support), section["value"], None if levels is None else tuple(levels))
