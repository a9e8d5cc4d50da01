"""Ranges of the numbers of a model: drawn where nobody states them, and narrowed where one does.

Permute-and-flip over short public lists: of sizes 2^k, and of the parts of [-1, 1] that halvings
make. What is drawn from counts values (docs/mathematics/regression.md, (10)).
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.scores.noisy_max import NoisyMax, permute_and_flip
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.guarantee import Guarantee
from mipselect.regression.rows import ModelRows
from mipselect.tables.encoders import Encoder, Scaled, Unscaled
from mipselect.tables.fields import Field, outward
from mipselect.tables.mapping import open_table, read_rows
from mipselect.tables.public_map import PublicMap, Ranges, TableQuestion
from mipselect.tables.schema import DerivedField, TableSchema
from mipselect.validation import SMALLEST_SCALE

PRIVATE, PUBLIC = "private", "public"
WAYS = (PUBLIC, PRIVATE)
"""Ways with ranges that a schema does not state: they are refused, or drawn."""

PERCENT = 100

FEW = 80.0
"""With more than FEW/ε values halvings may lose less than their percentages: √(n FEW/ε) count."""

RARER = 2.0
"""How much rarer a part is than one of twice its length without data: most draws from few rows keep
the range."""

MARGIN = 0.125
"""Share of its length by which a part is longer on each side than where values count."""


@dataclass(frozen=True)
class Parts:
    """[-1, 1), its halves, their halves, ..., each overlapping the next by half; all public.

    Attributes
    ----------
    percent : tuple of int
        Of the values that the first, second, ... halving may lose; 100 together at most.
    """

    percent: tuple[int, ...]

    @cached_property
    def levels(self) -> IntArray:
        """How often each part was halved, shape (K,)."""
        halved = range(len(self.percent) + 1)
        return np.repeat(halved, [2 * 2**level - 1 for level in halved])

    @cached_property
    def ends(self) -> FloatArray:
        """[(j - 1)h, (j + 1)h) for h = 2^-level and |j| < 2^level, shape (K, 2)."""
        places = [np.arange(1 - 2**n, 2**n) / 2.0**n for n in range(len(self.percent) + 1)]
        halves = 2.0**-self.levels
        return np.concatenate(places)[:, None] + halves[:, None] * [-1.0, 1.0]

    @property
    def narrowest(self) -> float:
        """Length of the shortest part, without its margins."""
        return math.ldexp(2.0, -len(self.percent))

    def law(self, values: FloatArray, epsilon: float) -> NoisyMax:
        """Return the law of parts by where values lie in [-1, 1], NaN where missing; shape (n,).

        u(I) = G_I m' - out(I), of m values of which out(I) lie outside of I, and m' =
        ⌊min(m, √(80 m/ε))⌋; G_I adds up the percentages. Where a row is replaced, added or removed,
        or loses its value, all u(I) move within an interval of length 2.
        """
        there = np.sort(np.minimum(values[~np.isnan(values)], np.nextafter(1.0, 0.0)))
        m = len(there)
        gaining = min(m, math.isqrt(math.floor(m * Fraction(FEW) / exact(epsilon))))
        gains = np.array([*accumulate(self.percent, initial=0)])[self.levels]
        low, high = np.searchsorted(there, self.ends.T)
        rarer = np.rint(self.levels * 2.0 * PERCENT * math.log(RARER) / epsilon).astype(np.int64)
        scores = gains * gaining - PERCENT * (m - (high - low)) - rarer
        return NoisyMax(scores, epsilon, sensitivity=float(PERCENT))

    def drawn(
        self, values: FloatArray, epsilon: float, source: random.Random
    ) -> tuple[float, float]:
        """Draw the part of [-1, 1] where most values lie, with its margins; ε.

        Examples
        --------
        >>> import random
        >>> import numpy as np
        >>> from mipselect.regression.ranges import OF_NUMBER
        >>> values = np.random.default_rng(0).normal(0.3, 0.02, 5000)
        >>> low, high = OF_NUMBER.drawn(values, 0.5, random.Random(0))
        >>> 0.1 < low < 0.27 and 0.33 < high < 0.5
        True
        """
        return self.wider(self.law(values, epsilon).sample(source))

    def wider(self, index: int) -> tuple[float, float]:
        """Return the ends of a part with its margins, within [-1, 1]."""
        low, high = self.ends[index].tolist()
        more = MARGIN * (high - low)
        return max(-1.0, low - more), min(1.0, high + more)


OF_NUMBER = Parts((16, 11, 8, 6, 4, 3, 2))
"""Parts of the range of a number among the features, by experiment."""

OF_TARGET = Parts((4,) * 7)
"""Parts of the range of a target, by experiment: what lies outside of the part is not clipped, but
has little weight in Huber's loss. And of a range that nobody states."""

SIZES = np.ldexp(1.0, np.arange(-64, 64))
"""Sizes of numbers whose range nobody states; it goes to twice as far on either side of 0."""

FARTHER = 1.3
"""How much rarer a size is than one that is nearer to 1 by a factor of 2, without data."""

TWENTIETHS = 20
TAIL, FEWEST, MOST = 40.0, 2, 8
"""About TAIL/ε values are larger than the size that is drawn, within so many twentieths."""

LEAST_PRODUCT = 48.0
"""Least n times the ε of a range; by simulation."""

SHARE_OF_WHOLE = Fraction(1, 16)
SHARE_OF_SIZE = Fraction(1, 2)
"""Part of the ε of a range that finds whether its values are whole numbers; and of the rest, how
large they are."""

CAUTION = 4
"""Numbers are rarely taken for whole ones by chance: small ones would be lost in such a range."""

SMALLEST_PART = 2.0**-40
"""A range stays as it is where its narrowest part could be less than this, beside its numbers."""

PLACEHOLDER = (-1.0, 1.0)
"""Stands for a range that is not drawn yet, where nothing depends on it."""

ADVICE = (
    "State typical ranges if anyone knows them, even ones that are twenty times too wide: private "
    "ones take a fifth of epsilon, cut long tails off, and do well only where rows times epsilon "
    "is 5,000 or more"
)


def law_of_size(values: FloatArray, epsilon: float) -> NoisyMax:
    """Return the law of the size of values, shape (n,), by those that are neither 0 nor missing.

    u(s) = min(q m - out(s), out(s/2) - q m), of m such values of which out(s) are larger than s: it
    is above 0 where q of them are between s/2 and what is larger. Both counts move by 1 at most.
    """
    there = np.sort(np.abs(values[~np.isnan(values) & (values != 0.0)]))
    m, outside = len(there), round(TWENTIETHS * TAIL / (epsilon * max(len(values), 1)))
    asked = min(max(outside, FEWEST), MOST) * m
    out = TWENTIETHS * (m - np.searchsorted(there, SIZES, side="right"))
    smaller = np.append(TWENTIETHS * m, out[:-1])
    far = np.abs(np.log2(SIZES)) * 2.0 * TWENTIETHS * math.log(FARTHER) / epsilon
    scores = np.minimum(asked - out, smaller - asked) - np.rint(far).astype(np.int64)
    return NoisyMax(scores, epsilon, sensitivity=float(TWENTIETHS))


def range_of(values: FloatArray, epsilon: float, source: random.Random) -> tuple[float, float]:
    """Draw the range of a column of numbers, shape (n,): its size, then its part; NaN if missing.

    References
    ----------
    docs/mathematics/regression.md, (10).
    """
    first = round_down(exact(epsilon) * SHARE_OF_SIZE)
    end = 2.0 * float(SIZES[law_of_size(values, first).sample(source)])
    rest = round_down(exact(epsilon) - exact(first))
    low, high = OF_TARGET.drawn(np.clip(values / end, -1.0, 1.0), rest, source)
    return end * low, end * high


def log_odds_of_whole(values: FloatArray, epsilon: float) -> Fraction:
    """Return ε/2 times the number of whole values less that of others, less `CAUTION`.

    It is by how much `counts_whole` prefers to say yes, and moves by ε at most. NaN and infinity
    are no values.
    """
    there = values[np.isfinite(values)]
    whole = int((there == np.floor(there)).sum())
    return exact(epsilon) / 2 * (2 * whole - len(there)) - CAUTION


def counts_whole(values: FloatArray, epsilon: float, source: random.Random) -> bool:
    """Draw whether most values of a column, shape (n,), are whole numbers; ε under both relations.

    References
    ----------
    docs/mathematics/regression.md, (10).
    """
    return permute_and_flip([log_odds_of_whole(values, epsilon), Fraction(0)], source) == 0


def range_of_field(
    field: Field, values: FloatArray, epsilon: float, source: random.Random
) -> tuple[tuple[float, float], bool]:
    """Draw the range of a field with ε in all, and whether it is one of whole numbers.

    Whether they are is drawn too where the schema does not say it. Most values of 0 and 1 are often
    the same, and an interval around these alone would leave no room for the others.
    """
    if field.counts_whole or isinstance(field, DerivedField):
        return field.whole_ends(*range_of(values, epsilon, source)), field.counts_whole
    asked = exact(epsilon) * SHARE_OF_WHOLE
    whole = counts_whole(values, round_down(asked), source)
    found = range_of(values, round_down(exact(epsilon) - asked), source)
    return outward(*found) if whole else found, whole


@dataclass(frozen=True)
class PrivateRanges:
    """Ranges to draw after the fields are selected; all of it is public.

    Attributes
    ----------
    question : TableQuestion
        With the ranges that are stated in place of those of the schema.
    epsilon : float
        ε of all ranges together, under replace-one; it is divided evenly.

    Raises
    ------
    InvalidInput
        For what is wrong with the question but for ranges that are not stated, and if all are.
    """

    question: TableQuestion
    epsilon: float

    def __post_init__(self) -> None:
        if not self.open:
            raise InvalidInput(
                "ranges: none is to be drawn, for the schema states those of all fields that are "
                "used; leave out private, or take the ranges that you do not trust out of the "
                "schema"
            )
        _ = self.placed.public

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of all ranges, whatever fields were selected."""
        return Guarantee(self.epsilon)

    @cached_property
    def open(self) -> tuple[str, ...]:
        """The used fields of numbers without a range; nothing is drawn of others."""
        public, stated = self.question.without_ranges, self.question.ranges
        used = (*public.encoders, public.target.encoder)
        fields = [encoder.field for encoder in used if isinstance(encoder, Unscaled)]
        return tuple(f.name for f in fields if f.gap and f.name not in stated)

    @cached_property
    def placed(self) -> TableQuestion:
        """The question with a placeholder for each range that is to be drawn."""
        return self._with({})

    def _with(self, drawn: Ranges) -> TableQuestion:
        ranges = {**self.question.ranges, **dict.fromkeys(self.open, PLACEHOLDER), **drawn}
        return replace(self.question, ranges=ranges)

    def require_rows(self, n: int, size: int) -> None:
        """Raise `InvalidInput` where n rows are too few for the ranges of `size` fields.

        n is public under replace-one. Nothing has been paid for yet.
        """
        public, fields = self.placed.public, self.open
        fixed = [e.field.name for e in (*public.always, public.target.encoder)]
        of_always = sum(name in fields for name in fixed)
        count = of_always + min(size, len(fields) - of_always)
        each = self.epsilon / count
        if n * each >= LEAST_PRODUCT:
            return
        raise InvalidInput(
            f"private ranges would be noise: rows times ε must be {LEAST_PRODUCT:g} for each of "
            f"{count}, and {n:,} rows at ε = {each:.3g} make {n * each:.3g}. State typical ranges, "
            f"or take {math.ceil(LEAST_PRODUCT / each):,} rows, or "
            f"{LEAST_PRODUCT / (n * each):.3g} times the ε"
        )

    def rows(
        self, source: Any, support: Support, generator: random.Random
    ) -> tuple[ModelRows, TableQuestion, dict[str, float]]:
        """Draw the ranges of the selected fields and of the target, and map the rows by them.

        Parameters
        ----------
        source : path or table
            It was read before, so that its header is known to be right.
        support : tuple of int
            The selected fields.
        generator : random.Random

        Returns
        -------
        rows : ModelRows
            A target that is a number is in units of its range and not clipped to it. In the draw of
            a range all rows count the same. Sensitive.
        question : TableQuestion
            With the ranges that were drawn, of all fields; others have placeholders still.
        spent : dict of str to float
            ε of each range that was drawn.
        """
        public = self.placed.public
        target = public.target.encoder.field.name
        kept = [*(public.features[j] for j in support), *public.always]
        asked = self.question.about({target, *(encoder.field.name for encoder in kept)})
        unscaled = asked.without_ranges
        X, y, _ = read_rows(open_table(source, unscaled), unscaled)
        columns = {
            encoder.field.name: X[:, block.start]
            for encoder, block in zip(unscaled.encoders, unscaled.blocks, strict=True)
        }
        columns[target] = y
        drawn = [name for name in self.open if name in columns]
        each = round_down(exact(self.epsilon) / max(len(drawn), 1))
        encoders = (*unscaled.encoders, unscaled.target.encoder)
        fields = {encoder.field.name: encoder.field for encoder in encoders}
        found = {
            name: range_of_field(fields[name], columns[name], each, generator) for name in drawn
        }
        ranges = {name: ends for name, (ends, _) in found.items()}
        whole = {name for name, (_, is_whole) in found.items() if is_whole}
        ranged = replace(asked, ranges={**asked.ranges, **ranges}).public
        Z, mapped, weights = read_rows(open_table(source, ranged), ranged)
        question = self._with(ranges)
        question = replace(question, schema=_of_whole_numbers(question.schema, whole))
        in_units = _in_units(y, question.public, np.nan_to_num(mapped, nan=0.0))
        shares = question.public.target.given(y) * (1.0 if weights is None else weights)
        rows = ModelRows(Z, in_units, shares=shares)
        return rows, question, dict.fromkeys(drawn, each)


def _of_whole_numbers(schema: TableSchema, names: Collection[str]) -> TableSchema:
    """Return a schema that says of some fields that they are integers."""
    content = schema.content
    for field in content["fields"]:
        if field["name"] in names:
            field["type"] = "integer"
    return TableSchema.of(content)


def _in_units(y: FloatArray, public: PublicMap, mapped: FloatArray) -> FloatArray:
    """Put a target of numbers in units of its range, not clipped; others stay as mapped."""
    target = public.target
    if not isinstance(target.encoder, Scaled):
        return mapped
    with np.errstate(all="ignore"):
        scaled = (y - target.offset) / target.scale
    return np.where(np.isfinite(scaled), scaled, 0.0)


RangedNumbers = Mapping[str, tuple[Encoder, range]]
"""The numbers of a model whose ranges have narrower parts, by field, with their columns; public."""


def drawn_parts(
    numbers: RangedNumbers, rows: ModelRows, epsilon: float, source: random.Random
) -> dict[str, tuple[float, float]]:
    """Draw where most values of each number lie: the parts of their ranges, within [-1, 1].

    Parameters
    ----------
    numbers : mapping
        See `RangedNumbers`.
    rows : ModelRows
        The columns of the model, in [-1, 1]. Those without a target count nowhere.
    epsilon : float
        ε of each; none is drawn where it is 0.
    source : random.Random
    """
    found: dict[str, tuple[float, float]] = {}
    for name, (encoder, columns) in numbers.items() if epsilon > 0.0 else ():
        values = rows.counted(_values(rows.X[:, columns]))
        found[name] = _to_whole_numbers(encoder, OF_NUMBER.drawn(values, epsilon, source))
    return found


def within_parts(numbers: RangedNumbers, X: FloatArray, ranges: Ranges) -> FloatArray:
    """Map the columns of the model as their encoders do with narrower ranges; shape (n, k)."""
    rows = np.array(X, dtype=np.float64)
    for name, (low, high) in ranges.items():
        columns = numbers[name][1]
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        inside = np.clip((_values(rows[:, columns]) - middle) / half, -1.0, 1.0)
        rows[:, columns.start] = np.nan_to_num(inside)
    return rows


def may_be_narrowed(encoder: Encoder) -> bool:
    """Return True for a number in whose range doubles tell apart every part that may be drawn.

    A range of two whole numbers, such as 0 and 1, has no part.
    """
    if not isinstance(encoder, Scaled):
        return False
    ends = math.ceil(encoder.low), math.floor(encoder.high)
    if encoder.field.counts_whole and ends[1] - ends[0] == 1:
        return False
    narrowest = 0.25 * OF_NUMBER.narrowest * (encoder.high - encoder.low)
    largest = max(abs(encoder.low), abs(encoder.high))
    return narrowest >= max(SMALLEST_SCALE, SMALLEST_PART * largest)


def narrowed(encoder: Encoder, ranges: Ranges) -> Encoder:
    """Narrow the encoder to a part of its range, which is in units of [-1, 1]."""
    part = ranges.get(encoder.field.name)
    if part is None or not isinstance(encoder, Scaled):
        return encoder
    number = encoder.columns()[0]
    low, high = (number.offset + number.scale * end for end in part)
    return replace(encoder, low=max(low, encoder.low), high=min(high, encoder.high))


def _to_whole_numbers(encoder: Encoder, part: tuple[float, float]) -> tuple[float, float]:
    """Extend a part of a range, within [-1, 1], to whole numbers of a field that counts them.

    Most values of a rare 0 and 1 are 0: a part without the other one holds them, and a coefficient
    per unit would be far too large.
    """
    number = encoder.columns()[0]
    offset, scale = number.offset, number.scale
    ends = offset + scale * part[0], offset + scale * part[1]
    whole = encoder.field.whole_ends(*ends)
    if whole == ends:
        return part
    low, high = ((end - offset) / scale for end in whole)
    return max(-1.0, low), min(1.0, high)


def _values(field: FloatArray) -> FloatArray:
    """Return a number, NaN where another column of its field says it is missing; (n, w) to (n,)."""
    return np.where(field[:, 1:].any(axis=1), np.nan, field[:, 0])
