"""Tables that are made up from a public schema and stated guesses; no row of a user is read."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.partitions import SEED_BITS
from mipselect.planning.question import Question
from mipselect.search.progress import Deadline
from mipselect.tables.encoders import Encoder, Indicators, Ranked, Scaled, Unscaled

MOST_TABLES = 10_000

SPREAD_OF_INTEGERS = 1000.0
"""Standard deviation of an integer without a range: hardly any are equal."""


def numbers_in_time(tables: int, clock: Deadline) -> Iterator[int]:
    """Yield numbers of tables from 0 on, while the slowest so far would still be done in time."""
    slowest = 0.0
    for number in range(tables):
        before = clock.seconds
        if number and slowest > clock.remaining:
            return
        yield number
        slowest = max(slowest, clock.seconds - before)


@dataclass(frozen=True)
class Simulation:
    """Tables with the ranges, categories and missing shares of a schema.

    All fields are equally correlated normal variables, cut into ranges and categories; numbers
    without a range are not cut, for scores from blocks of rows do not depend on their unit. The
    right columns are drawn uniformly for each table; they and the fields that are always in have
    effects of random sign, those of categories a random one for every level. All are of the same
    strength, or each is weaker than the one before by `ratio`, in an order drawn for each table.

    Attributes
    ----------
    question : Question
    ratio : float
        Ratio of the strengths of an effect and the next, at least 1.
    """

    question: Question
    ratio: float = 1.0

    def right(self, number: int) -> IntArray:
        """Draw the s features that matter in a table, sorted.

        A field with one category is the same for everybody and does not matter, if enough others
        can.
        """
        features, size = self.question.public.features, self.question.support_size
        constant = [isinstance(e, Ranked | Indicators) and e.levels == 1 for e in features]
        vary = [j for j in range(len(features)) if not constant[j]]
        among = vary if len(vary) >= size else range(len(features))
        return np.sort(self._rng(number).choice(among, size, replace=False))

    def table(self, number: int, rows: int) -> pa.Table:
        """Make a table in its own units; `number` and `rows` say which."""
        guesses, public = self.question.guesses, self.question.public
        rng, strengths = self._rng(number, rows), self._strengths(number)
        common, signal = rng.standard_normal(rows), np.zeros(rows)
        columns: dict[str, pa.Array] = {}
        for j, encoder in enumerate(public.encoders):
            fresh, chance = rng.standard_normal(rows), rng.random(rows)
            absent = chance < (0.0 if encoder.field.required else guesses.missing)
            z = _mixed(common, fresh, guesses.correlation)
            numbers = numbers_of(encoder, z, guesses.spread)
            columns[encoder.field.name] = stored(encoder, numbers, absent)
            effect = _standardised(np.where(absent, 0.0, _effect(encoder, numbers, rng)))
            if j in strengths:
                signal += strengths[j] * rng.choice([-1.0, 1.0]) * effect
        latent = _mixed(_standardised(signal), rng.standard_normal(rows), guesses.effect)
        encoder, (mean, sd) = public.target.encoder, guesses.target_law(public)
        if isinstance(encoder, Scaled):
            numbers = np.clip(mean + sd * latent, encoder.low, encoder.high)
        elif guesses.target_rate is not None:
            numbers = (latent > -ndtri(guesses.target_rate)).astype(np.float64)
        else:
            numbers = numbers_of(encoder, latent)
        columns[encoder.field.name] = stored(encoder, numbers, np.zeros(rows, dtype=bool))
        return pa.table(columns)

    def partition_seed(self, number: int) -> int:
        """Make the seed of the partitions of a table of n rows into blocks."""
        words = f"{self.question.seed} {number} {self.question.rows} partitions"
        return random.Random(words).getrandbits(SEED_BITS)

    def _rng(self, *words: int) -> np.random.Generator:
        return np.random.default_rng([self.question.seed, *words])

    def _strengths(self, number: int) -> dict[int, float]:
        """Return the strengths of all fields with an effect: ratio⁻ᵏ for the k-th from 0.

        These are the right columns and the fields that are always in, in an order of the table.
        """
        public = self.question.public
        matters = {*self.right(number).tolist(), *range(len(public.features), len(public.encoders))}
        order = self._rng(number, 0, 2).permutation(sorted(matters))
        return {j: self.ratio**-k for k, j in enumerate(order.tolist())}


def numbers_of(encoder: Encoder, z: FloatArray, spread: float = 1.0) -> FloatArray:
    """Turn standard normal numbers into numbers in units of a field, or places of categories."""
    if isinstance(encoder, Unscaled):
        return SPREAD_OF_INTEGERS * z if encoder.field.type == "integer" else z
    if isinstance(encoder, Scaled):
        half = 0.5 * (encoder.high - encoder.low)
        middle = 0.5 * (encoder.low + encoder.high)
        return np.asarray(np.clip(middle + half * spread * z, encoder.low, encoder.high))
    assert isinstance(encoder, Ranked | Indicators)
    levels = encoder.levels
    return np.asarray(np.minimum(np.floor(ndtr(z) * levels), levels - 1.0))


def stored(encoder: Encoder, numbers: FloatArray, absent: NDArray[np.bool_]) -> pa.Array:
    """Make the column of a field as a file would have it."""
    field = encoder.field
    if isinstance(encoder, Scaled | Unscaled):
        narrow = isinstance(encoder, Scaled) and encoder.high - encoder.low < 2.0
        whole = field.type == "integer" and not narrow
        return pa.array(np.rint(numbers) if whole else numbers, mask=absent)
    categories: Sequence[object] = field.categories or (False, True)
    places = pa.array(numbers.astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(places, pa.array(list(categories))).dictionary_decode()


def _mixed(one: FloatArray, other: FloatArray, share: float) -> FloatArray:
    """Mix two variables with variance 1, with that share of the variance from the first."""
    return np.asarray(math.sqrt(share) * one + math.sqrt(1.0 - share) * other)


def _effect(encoder: Encoder, numbers: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return what a field contributes, before its unit is chosen; around 0."""
    if isinstance(encoder, Indicators):
        levels: FloatArray = rng.standard_normal(encoder.levels)
        numbers = levels[numbers.astype(np.intp)]
    return np.asarray(numbers - numbers.mean())


def _standardised(values: FloatArray) -> FloatArray:
    size = float(values.std())
    return (values - values.mean()) / size if size > 0.0 else np.zeros_like(values)
