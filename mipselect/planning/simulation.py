"""Tables that are made up from a public schema and stated guesses; no row of a user is read."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.partitions import SEED_BITS
from mipselect.planning.derived_columns import (
    add_sources,
    contribution,
    stored_target,
    without_range,
)
from mipselect.planning.guesses import Guesses
from mipselect.planning.stored_columns import numbers_of, stored
from mipselect.tables.derived import DerivedField
from mipselect.tables.encoders import Encoder, Indicators, Ranked, Scaled, Unscaled
from mipselect.tables.public_map import PublicMap

MOST_REPEATED = 4
"""So many fields repeat each other, as a weight, a length, a width and a depth do."""

REPEATED_CORRELATION = 0.98
"""Correlation of any two fields that repeat each other."""


@dataclass(frozen=True)
class Simulation:
    """Tables with the ranges, categories and missing shares of a schema.

    All fields are equally correlated normal variables, cut into ranges and categories; numbers
    without a range are not cut, for scores from blocks of rows do not depend on their unit. The
    right columns are drawn uniformly for each table; they and the fields that are always in have
    effects of random sign, those of categories a random one for every level. All are of the same
    strength, or each is weaker than the one before by `ratio`, in an order drawn for each table.

    With `repeats` some fields with ranges repeat each other and together count as one right column,
    the strongest: each of them says nearly all of it, and they are absent from the same rows.

    Attributes
    ----------
    public : PublicMap
    guesses : Guesses
    support_size : int
        s, how many columns matter.
    seed : int
    repeats : bool
        Whether fields repeat each other.
    ratio : float
        Ratio of the strengths of an effect and the next, at least 1.
    """

    public: PublicMap
    guesses: Guesses
    support_size: int
    seed: int
    repeats: bool = False
    ratio: float = 1.0

    @property
    def repeated(self) -> int:
        """Number of fields repeating each other: 4 if there are as many; 0 if fewer than 2 can."""
        vary = self._that_vary()
        ranges = sum(_may_repeat(self.public.features[j]) for j in vary)
        possible = min(MOST_REPEATED, ranges, len(vary) - (self.support_size - 1))
        asked = self.repeats and self.support_size > 1 and self.guesses.repeated > 0.0
        return possible if asked and possible > 1 else 0

    def right(self, number: int) -> tuple[IntArray, ...]:
        """Draw the s columns that matter in a table, each as the features that say it, sorted.

        A field with one category is the same for everybody and does not matter, if enough others
        can. Fields that repeat each other come first.
        """
        rng = np.random.default_rng([self.seed, number])
        features, among = self.public.features, self._that_vary()
        if not self.repeated:
            chosen = rng.choice(among, self.support_size, replace=False)
            return tuple(np.array([j]) for j in np.sort(chosen))
        ranges = [j for j in among if _may_repeat(features[j])]
        alike = np.sort(rng.choice(ranges, self.repeated, replace=False))
        others = rng.choice(np.setdiff1d(among, alike), self.support_size - 1, replace=False)
        return (alike, *(np.array([j]) for j in np.sort(others)))

    def table(self, number: int, rows: int) -> pa.Table:
        """Make a table in its own units; `number` and `rows` say which."""
        rng = np.random.default_rng([self.seed, number, rows])
        columns: dict[str, pa.Array] = {}
        repeated, rest = self._of_stored(number, rows, columns, rng)
        for effect in self._of_derived(number, rows, columns):
            rest += effect
        target = self._target(repeated, rest, rng.standard_normal(rows))
        columns |= stored_target(self.public.target.encoder, target)
        if self.public.unit is not None:
            columns[self.public.unit.name] = pa.array(np.arange(rows)).cast(pa.string())
        columns |= {name: pa.nulls(rows) for name in self.public.ignored}
        return pa.table(columns)

    def _of_stored(
        self, number: int, rows: int, columns: dict[str, pa.Array], rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Add the columns of stored fields; return the effects of those that repeat, and others."""
        guesses, encoders = self.guesses, self.public.encoders
        alike, strengths = self._repeating(number), self._strengths(number)
        derived = self._derived
        common = rng.standard_normal(rows)
        of_the_alike = np.random.default_rng([self.seed, number, rows, 1])
        shared, lost = of_the_alike.standard_normal(rows), of_the_alike.random(rows)
        repeated, rest = np.zeros(rows), np.zeros(rows)
        for j, encoder in enumerate(encoders):
            if j in derived:
                continue
            fresh, chance = rng.standard_normal(rows), rng.random(rows)
            own = _mixed(shared, fresh, REPEATED_CORRELATION) if j in alike else fresh
            z = _mixed(common, own, guesses.correlation)
            absent = (lost if j in alike else chance) < (
                0.0 if encoder.field.required else guesses.missing
            )
            numbers = numbers_of(encoder, z, guesses.spread)
            if derived and isinstance(encoder, Unscaled):
                numbers = without_range(encoder.field, z, encoders, numbers)
            columns[encoder.field.name] = stored(encoder, numbers, absent)
            effect = _standardised(np.where(absent, 0.0, _effect(encoder, numbers, rng)))
            if j in alike:
                repeated += effect
            elif j in strengths:
                rest += strengths[j] * rng.choice([-1.0, 1.0]) * effect
        return repeated, rest

    def _of_derived(
        self, number: int, rows: int, columns: dict[str, pa.Array]
    ) -> Iterator[FloatArray]:
        """Add the columns that derived features are made of; yield the effects of these."""
        rng = np.random.default_rng([self.seed, number, rows, 3])
        strengths = self._strengths(number)
        for j in self._derived:
            encoder = self.public.encoders[j]
            add_sources(encoder, columns, self.public, self.guesses, rows, rng)
            effect = _standardised(contribution(encoder, columns, rng))
            if j in strengths:
                yield strengths[j] * effect

    def _target(self, repeated: FloatArray, rest: FloatArray, noise: FloatArray) -> FloatArray:
        """Make numbers, or places among categories, that effects have the guessed R² of."""
        guesses, encoder = self.guesses, self.public.target.encoder
        mean, sd = guesses.target_law(self.public)
        first = guesses.repeated if self.repeated else 0.0
        later = (1.0 - first) * guesses.effect
        signal = math.sqrt(first) * _standardised(repeated) + math.sqrt(later) * _standardised(rest)
        latent = _mixed(_standardised(signal), noise, first + later)
        if isinstance(encoder, Scaled):
            return np.asarray(np.clip(mean + sd * latent, encoder.low, encoder.high))
        if guesses.target_rate is not None:
            return np.asarray(latent > -ndtri(guesses.target_rate), dtype=np.float64)
        return numbers_of(encoder, latent)

    def partition_seed(self, number: int, rows: int) -> int:
        """Make the seed of the partitions of a table into blocks of rows."""
        words = f"{self.seed} {number} {rows} partitions"
        return random.Random(words).getrandbits(SEED_BITS)

    @property
    def _derived(self) -> list[int]:
        """Places of the fields that are made of others."""
        encoders = enumerate(self.public.encoders)
        return [j for j, encoder in encoders if isinstance(encoder.field, DerivedField)]

    def _repeating(self, number: int) -> set[int]:
        """Return the features of a table that repeat each other."""
        return {*self.right(number)[0].tolist()} if self.repeated else set()

    def _strengths(self, number: int) -> dict[int, float]:
        """Return the strengths of all other fields with an effect: ratio⁻ᵏ for the k-th from 0.

        These are the right columns and the fields that are always in, in an order of the table.
        """
        features, encoders = len(self.public.features), len(self.public.encoders)
        matters = {*np.concatenate(self.right(number)).tolist()} - self._repeating(number)
        matters |= set(range(features, encoders))
        order = np.random.default_rng([self.seed, number, 0, 2]).permutation(sorted(matters))
        return {j: self.ratio**-k for k, j in enumerate(order.tolist())}

    def _that_vary(self) -> Sequence[int]:
        """Return the features that can matter: with more than one value, if there are s of them."""
        features = self.public.features
        constant = [isinstance(e, Ranked | Indicators) and e.levels == 1 for e in features]
        vary = [j for j in range(len(features)) if not constant[j]]
        return vary if len(vary) >= self.support_size else range(len(features))


def _mixed(one: FloatArray, other: FloatArray, share: float) -> FloatArray:
    """Mix two variables with variance 1, with that share of the variance from the first."""
    return np.asarray(math.sqrt(share) * one + math.sqrt(1.0 - share) * other)


def _may_repeat(encoder: Encoder) -> bool:
    """Return True for a field with a range; what is made of it repeats nothing by itself."""
    return isinstance(encoder, Scaled) and not isinstance(encoder.field, DerivedField)


def _effect(encoder: Encoder, numbers: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return what a field contributes, before its unit is chosen; around 0."""
    if isinstance(encoder, Indicators):
        levels: FloatArray = rng.standard_normal(encoder.levels)
        numbers = levels[numbers.astype(np.intp)]
    return np.asarray(numbers - numbers.mean())


def _standardised(values: FloatArray) -> FloatArray:
    size = float(values.std())
    return (values - values.mean()) / size if size > 0.0 else np.zeros_like(values)
