"""What a plan asks, and tables that are made up for it; no row of a user is read."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.partitions import SEED_BITS
from mipselect.blocks.r_squared import r_squared_seconds
from mipselect.blocks.scores import BLOCKS, R2, BlockOptions
from mipselect.errors import InvalidInput
from mipselect.problem.block_scores import listed_features, scored
from mipselect.search.progress import Deadline
from mipselect.tables import PublicMap, TableSchema
from mipselect.tables.encoders import Encoder, Indicators, Ranked, Scaled, Unscaled
from mipselect.tables.instances import problem_without_ranges
from mipselect.tables.public_map import Ranges, TableQuestion
from mipselect.validation import checked_epsilon, checked_integer, checked_share, listed, set_fields

MOST_TABLES = 10_000

MOST_ENTRIES = 20_000_000
"""No table with more rows times columns is made up."""

SECONDS_OF_PARTITIONS = 0.5
"""Estimated time of the block R² of one simulated table: fewer partitions are drawn than by
`select` where all of them take longer."""

SPREAD = 0.25
"""Standard deviation of a number, in halves of its range, which is four of them to either side."""

SPREAD_OF_INTEGERS = 1000.0
"""Standard deviation of an integer without a range: hardly any are equal."""


CORRELATION = 0.2
"""Correlation of any two fields, as normal variables before they are cut into categories."""

MISSING = 0.05
"""Share of missing values in each field that is not `required`."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A selection from a table of so many rows, as its schema and two guesses describe it.

    A simulated table has the fields that are used and no other. Each row is another person, and all
    count the same: a survey weight is not simulated. A feature that is made of other fields counts
    as a field of its own.

    Parameters
    ----------
    schema : TableSchema
    target : str
    rows, support_size : int
        n and s.
    epsilons : sequence of float
        Each counts once; rising.
    effect : float
        A guess: R² of the columns that matter, together, before the target is clipped to its range;
        between 0 and 1. Cohen (1988, section 9.2) calls 0.02 small, 0.13 medium, 0.26 large.
    target_rate : float, optional
        A guess: share of the second of two classes, between 0 and 1; default one half.
    seed : int
    always, never, ranges
        As for `Instance.from_table`.

    Raises
    ------
    InvalidInput
        For what is wrong with the schema, the question or a guess.

    Examples
    --------
    >>> from mipselect.planning import Question
    >>> from mipselect.tables import TableSchema
    >>> schema = TableSchema.of_numbers({"dose": (0, 9), "weight": None, "days": (0, 30)})
    >>> Question(schema=schema, target="days", rows=500, support_size=1).without_range
    ('weight',)
    """

    schema: TableSchema
    target: str
    rows: int
    support_size: int
    epsilons: Sequence[float] = (0.5, 1.0, 2.0)
    effect: float = 0.3
    target_rate: float | None = None
    seed: int = 0
    always: Sequence[str] = ()
    never: Sequence[str] = ()
    ranges: Ranges | None = None
    without_range: tuple[str, ...] = field(default=(), init=False)
    """Fields that a model needs a range of, and have none."""
    table: TableQuestion = field(init=False)
    """The question about a simulated table."""

    def __post_init__(self) -> None:
        known = dict(self.ranges or {})
        given = TableQuestion(self.schema, self.target, self.always, self.never, known)
        public = given.without_ranges
        fields = [encoder.field for encoder in (*public.encoders, public.target.encoder)]
        lacking = tuple(each.name for each in fields if each.gap and each.name not in known)
        set_fields(self, without_range=lacking)
        if not lacking:
            public = given.public
        elif known:
            raise InvalidInput(f"ranges: a model needs those of {listed(lacking)} too")
        stored = [stored_field(encoder) for encoder in (*public.encoders, public.target.encoder)]
        always = [encoder.field.name for encoder in public.always]
        simulated = TableQuestion(TableSchema.of({"fields": stored}), self.target, always)
        set_fields(self, table=simulated)
        checked_integer(self.support_size, "support_size", 1, len(self.public.features))
        epsilons = tuple(sorted({checked_epsilon(e, "epsilons") for e in self.epsilons}))
        if not epsilons:
            raise InvalidInput("epsilons must have at least one ε")
        set_fields(self, epsilons=epsilons, seed=checked_integer(self.seed, "seed", 0))
        checked_share(self.effect, "effect", closed=True)
        if self.target_rate is not None:
            checked_share(self.target_rate, "target_rate", closed=False)
            if self.public.target.classes is None:
                raise InvalidInput(
                    f"target_rate is for a target of two classes, and {self.target!r} is none"
                )
        columns = len(self.public.columns)
        if checked_integer(self.rows, "rows", 2) * columns > MOST_ENTRIES:
            raise InvalidInput(
                f"rows must be at most {MOST_ENTRIES // columns:,} for {columns} columns, got "
                f"{self.rows:,}; plan with fewer: what is found depends on epsilon times rows"
            )

    @cached_property
    def public(self) -> PublicMap:
        """Map of a row of the table into columns; numbers as they are where a range is missing."""
        return self.table.without_ranges if self.without_range else self.table.public

    def blocks(self, epsilon: float) -> BlockOptions:
        """Return the score from blocks of n rows at ε, as `select` chooses it, with b by its rule.

        T of block R² is that of `select`, or as many as take half a second, but at least one. With
        a survey weight there are least squares alone.

        Raises
        ------
        InvalidInput
            If there are too few rows.
        """
        score = None if self.schema.weight is None else BLOCKS
        problem = problem_without_ranges(self.table, self.support_size)
        of_blocks = scored(BlockOptions(score=score, epsilon=epsilon), problem, self.rows)
        blocks = of_blocks.blocks
        assert blocks is not None
        if of_blocks.score == R2:
            seconds = r_squared_seconds(self.rows, 1, listed_features(problem, blocks.rows))
            in_time = max(1, int(SECONDS_OF_PARTITIONS / seconds))
            blocks = replace(blocks, partitions=min(blocks.partitions, in_time))
        return BlockOptions(score=of_blocks.score, **blocks.public())


def stored_field(encoder: Encoder) -> dict[str, Any]:
    """Return the entry of a schema for a field with the range or the categories of an encoder."""
    field, constraints = encoder.field, {"required": encoder.field.required}
    entry = {"name": field.name, "type": field.type, "constraints": constraints}
    if field.categories is not None:
        return entry | {"categories": list(field.categories), "categoriesOrdered": field.ordered}
    if isinstance(encoder, Scaled):
        return entry | {
            "constraints": constraints | {"minimum": encoder.low, "maximum": encoder.high}
        }
    if isinstance(encoder, Ranked | Unscaled):
        return entry
    # Of several columns, each of them in [-1, 1].
    return entry | {"type": "number", "constraints": constraints | {"minimum": -1, "maximum": 1}}


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
        question, public = self.question, self.question.public
        rng, strengths = self._rng(number, rows), self._strengths(number)
        common, signal = rng.standard_normal(rows), np.zeros(rows)
        columns: dict[str, pa.Array] = {}
        for j, encoder in enumerate(public.encoders):
            fresh, chance = rng.standard_normal(rows), rng.random(rows)
            absent = chance < (0.0 if encoder.field.required else MISSING)
            z = _mixed(common, fresh, CORRELATION)
            numbers = numbers_of(encoder, z)
            columns[encoder.field.name] = stored(encoder, numbers, absent)
            effect = _standardised(np.where(absent, 0.0, _effect(encoder, numbers, rng)))
            if j in strengths:
                signal += strengths[j] * rng.choice([-1.0, 1.0]) * effect
        latent = _mixed(_standardised(signal), rng.standard_normal(rows), question.effect)
        encoder, numbers = public.target.encoder, numbers_of(public.target.encoder, latent)
        if question.target_rate is not None:
            numbers = (latent > -ndtri(question.target_rate)).astype(np.float64)
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


def numbers_of(encoder: Encoder, z: FloatArray) -> FloatArray:
    """Turn standard normal numbers into numbers in units of a field, or places of categories."""
    if isinstance(encoder, Unscaled):
        return SPREAD_OF_INTEGERS * z if encoder.field.type == "integer" else z
    if isinstance(encoder, Scaled):
        half = 0.5 * (encoder.high - encoder.low)
        middle = 0.5 * (encoder.low + encoder.high)
        return np.asarray(np.clip(middle + half * SPREAD * z, encoder.low, encoder.high))
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
