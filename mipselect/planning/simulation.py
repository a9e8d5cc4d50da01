"""Tables that are made up from a public schema and stated guesses; no row of a user is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.tables.encoders import Encoder, Indicators, Ranked, Scaled
from mipselect.tables.public_map import PublicMap
from mipselect.validation import checked_number, checked_positive, checked_share


@dataclass(frozen=True, kw_only=True)
class Guesses:
    """What is assumed of the rows; all of it stated, nothing of it from data.

    Attributes
    ----------
    effect : float
        R² of the columns that matter, together, before the target is clipped to its range;
        between 0 and 1. Cohen (1988, section 9.2) calls 0.02 small, 0.13 medium, 0.26 large.
    correlation : float
        Of any two fields, as normal variables before they are cut into categories; in [0, 1).
    missing : float
        Share of missing values in each field that is not `required`; in [0, 1).
    spread : float
        Standard deviation of a number, in halves of its range: 0.25 where the range is four
        standard deviations to either side.
    target_mean, target_sd : float, optional
        Of a target with a range, in its units; default the middle of the range, and `spread`.

    Raises
    ------
    InvalidInput
        Naming the guess that is out of its range.
    """

    effect: float = 0.3
    correlation: float = 0.2
    missing: float = 0.05
    spread: float = 0.25
    target_mean: float | None = None
    target_sd: float | None = None

    def __post_init__(self) -> None:
        checked_share(self.effect, "effect", closed=True)
        for what in ("correlation", "missing"):
            checked_number(
                getattr(self, what), what, "a number from 0 to below 1", lambda v: 0.0 <= v < 1.0
            )
        checked_number(self.spread, "spread", "a number in 0.001..10", lambda v: 1e-3 <= v <= 10.0)
        if self.target_sd is not None:
            checked_positive(self.target_sd, "target_sd")

    def target_law(self, public: PublicMap) -> tuple[float, float]:
        """Mean and standard deviation of a target with a range, before it is clipped.

        Raises
        ------
        InvalidInput
            If they are given for classes, or the mean is outside of the range.
        """
        encoder = public.target.encoder
        name = encoder.field.name
        if isinstance(encoder, Ranked):
            if self.target_mean is not None or self.target_sd is not None:
                raise InvalidInput(
                    f"target_mean and target_sd are for a target with a range; {name!r} has "
                    f"{encoder.levels} categories, which count as equally frequent"
                )
            return 0.0, 1.0
        low, high = encoder.low, encoder.high
        mean = 0.5 * (low + high)
        if self.target_mean is not None:
            wanted = f"inside the range of {name!r}, {low:g} to {high:g}"
            mean = checked_number(
                self.target_mean, "target_mean", wanted, lambda v: low <= v <= high
            )
        sd = self.spread * 0.5 * (high - low) if self.target_sd is None else self.target_sd
        return mean, sd


@dataclass(frozen=True)
class Simulation:
    """Tables with the ranges, categories and missing shares of a schema.

    All fields are equally correlated normal variables, cut into ranges and categories. The right
    columns are drawn uniformly for each table; they and the fields that are always in have effects
    of the same strength and of random sign, those of categories a random one for every level.

    Attributes
    ----------
    public : PublicMap
    guesses : Guesses
    support_size : int
        s, how many columns matter.
    seed : int
    """

    public: PublicMap
    guesses: Guesses
    support_size: int
    seed: int

    def right(self, number: int) -> NDArray[np.intp]:
        """The features that matter in a table, sorted, shape (s,); those that can, if enough can.

        A field with one category is the same for everybody.
        """
        rng = np.random.default_rng([self.seed, number])
        features = self.public.features
        vary = [j for j, e in enumerate(features) if isinstance(e, Scaled) or _levels(e) > 1]
        among = vary if len(vary) >= self.support_size else range(len(features))
        return np.sort(rng.choice(among, self.support_size, replace=False)).astype(np.intp)

    def table(self, number: int, rows: int) -> pa.Table:
        """A table in its own units; `number` and `rows` say which."""
        rng = np.random.default_rng([self.seed, number, rows])
        public, guesses = self.public, self.guesses
        matters = {*self.right(number).tolist()}
        matters |= set(range(len(public.features), len(public.encoders)))
        common = rng.standard_normal(rows)
        columns: dict[str, pa.Array] = {}
        signal = np.zeros(rows)
        for j, encoder in enumerate(public.encoders):
            own = rng.standard_normal(rows)
            z = math.sqrt(guesses.correlation) * common + math.sqrt(1 - guesses.correlation) * own
            absent = rng.random(rows) < (0.0 if encoder.field.required else guesses.missing)
            numbers = _numbers(encoder, z, guesses.spread)
            columns[encoder.field.name] = _stored(encoder, numbers, absent)
            effect = _effect(encoder, numbers, rng)
            if j in matters:
                signal += rng.choice([-1.0, 1.0]) * _standardised(np.where(absent, 0.0, effect))
        noise = rng.standard_normal(rows)
        mean, sd = guesses.target_law(public)
        latent = math.sqrt(guesses.effect) * _standardised(signal)
        latent += math.sqrt(1.0 - guesses.effect) * noise
        aim = public.target.encoder
        values = mean + sd * latent
        target = (
            np.clip(values, aim.low, aim.high) if isinstance(aim, Scaled) else _numbers(aim, latent)
        )
        columns[aim.field.name] = _stored(aim, target, np.zeros(rows, dtype=bool))
        if public.unit is not None:
            columns[public.unit.name] = pa.array(np.arange(rows)).cast(pa.string())
        return pa.table(columns)


def _numbers(encoder: Encoder, z: FloatArray, spread: float = 1.0) -> FloatArray:
    """Numbers in the units of a field, or places among its categories, of standard normal ones."""
    if isinstance(encoder, Scaled):
        half = 0.5 * (encoder.high - encoder.low)
        middle = 0.5 * (encoder.low + encoder.high)
        return np.asarray(np.clip(middle + half * spread * z, encoder.low, encoder.high))
    levels = _levels(encoder)
    return np.asarray(np.minimum(np.floor(ndtr(z) * levels), levels - 1.0))


def _levels(encoder: Encoder) -> int:
    """How many categories a field without a range has."""
    assert isinstance(encoder, Ranked | Indicators)
    return encoder.levels


def _effect(encoder: Encoder, numbers: FloatArray, rng: np.random.Generator) -> FloatArray:
    """What a field contributes, before its unit is chosen; around 0."""
    if isinstance(encoder, Indicators):
        levels: FloatArray = rng.standard_normal(encoder.levels)
        numbers = levels[numbers.astype(np.intp)]
    return np.asarray(numbers - numbers.mean())


def _standardised(values: FloatArray) -> FloatArray:
    size = float(values.std())
    return (values - values.mean()) / size if size > 0.0 else np.zeros_like(values)


def _stored(encoder: Encoder, numbers: FloatArray, absent: NDArray[np.bool_]) -> pa.Array:
    """The column of a field as a file would hold it."""
    field = encoder.field
    if isinstance(encoder, Scaled):
        whole = field.type == "integer" and encoder.high - encoder.low >= 2.0
        return pa.array(np.rint(numbers) if whole else numbers, mask=absent)
    categories: Sequence[object] = field.categories or (False, True)
    places = pa.array(numbers.astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(places, pa.array(list(categories))).dictionary_decode()
