"""`release_shares`: how well a table fits its schema, as a private release."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mipselect.privacy.decimals import exact
from mipselect.privacy.guarantee import ROW, Guarantee
from mipselect.privacy.ledger import Ledger, paid
from mipselect.privacy.randomness import source_of
from mipselect.quality.measures import LEVEL, Measure
from mipselect.quality.noisy_sums import noisy
from mipselect.quality.ratios import ratio_interval
from mipselect.tables.check.findings import Finding, does_not_fit, is_finding, percent
from mipselect.tables.check.kinds import FINE, KINDS, FieldRule, columns_read, rules_of
from mipselect.tables.check.one_each import kind_counts
from mipselect.tables.input_map import Ranges
from mipselect.tables.mapping import open_columns
from mipselect.tables.people import checked_rule
from mipselect.tables.schema import TableSchema, unit_of
from mipselect.validation import checked_budget

ShareOfCount = Callable[[int, float], tuple[float | None, float, float]]
"""Function of a noisy count and a probability: a share, and an interval that misses it so often."""

WIDE = 0.05
"""Half of an interval beyond which the noise leaves too little to judge by."""


@dataclass(frozen=True)
class FieldShares:
    """Private shares of the values of one field, by their kind.

    Attributes
    ----------
    rule : FieldRule
        What makes a value one of a kind; public.
    shares : tuple of Measure
        Shares of the kinds that a value of the field can be: "fine", "missing", "below", "above",
        "unlisted" and "unreadable".
    at_least : tuple of float
        Lower ends that hold for all shares of the table together, with the probability of one
        interval: what findings are of.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.quality import release_shares
    >>> from mipselect.tables import TableSchema
    >>> table = pa.table({"charges": [900.0] * 500 + [50_000.0] * 4500})
    >>> schema = TableSchema.of_numbers({"charges": (0, 1000)})
    >>> (charges,) = release_shares(table, schema, epsilon=1.0).fields
    >>> [share.name for share in charges.shares]
    ['fine', 'missing', 'below', 'above', 'unreadable']
    >>> charges.share("above").low > 0.8
    True
    """

    rule: FieldRule
    shares: tuple[Measure, ...]
    at_least: tuple[float, ...]

    @property
    def name(self) -> str:
        """Name of the field."""
        return self.rule.name

    def share(self, kind: str) -> Measure:
        """Return the share of a kind; of one that no value can be, 0."""
        return next((one for one in self.shares if one.name == kind), Measure(kind, 0.0, 0.0, 0.0))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A line for every share that is known not to fit, all of them together."""
        lines = []
        for k, low in zip(self.rule.kinds, self.at_least, strict=True):
            if k != FINE and is_finding(self.rule, k, low):
                what = self.rule.what
                at_least = "all" if low >= 1.0 else f"at least {percent(low)} of"
                lines.append(Finding(self.name, does_not_fit(self.rule, k, f"{at_least} {what}")))
        return tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the shares, ready for JSON."""
        return {
            "name": self.name,
            "shares": [share.to_dict() for share in self.shares],
            "findings": [finding.text for finding in self.findings],
        }


@dataclass(frozen=True)
class TableShares:
    """Private release: how well a table fits its schema.

    Attributes
    ----------
    fields : tuple of FieldShares
    guarantee : Guarantee
        Guarantee of all shares together.
    rows : int or None
        Rows, or people; None where their number is private.
    unit : str
        Whom a row is about: "row", or the field of the privacy unit.
    level : float
        With this probability the interval of a share holds the share in the table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.quality import release_shares
    >>> from mipselect.tables import TableSchema
    >>> table = pa.table({"charges": [900.0] * 500 + [50_000.0] * 4500})
    >>> found = release_shares(table, TableSchema.of_numbers({"charges": (0, 1000)}), epsilon=1.0)
    >>> found.rows, found.guarantee.epsilon, len(found.findings) > 0
    (5000, 1.0, True)
    """

    fields: tuple[FieldShares, ...]
    guarantee: Guarantee
    rows: int | None
    unit: str = ROW
    level: float = LEVEL

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A line for everything that does not fit, and one where the noise leaves too little."""
        found = [finding for field in self.fields for finding in field.findings]
        half = max(0.5 * (s.high - s.low) for field in self.fields for s in field.shares)
        if half > WIDE:
            found.append(
                Finding(
                    "the noise",
                    f"shares are known to within ± {percent(half)} of the rows only; more rows, "
                    "a larger ε or fewer fields (--never) would help",
                )
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the release, ready for JSON."""
        return {
            "rows": self.rows,
            "unit": self.unit,
            "level": self.level,
            "fields": [field.to_dict() for field in self.fields],
            "findings": [{"about": one.about, "text": one.text} for one in self.findings],
            "guarantee": self.guarantee.to_dict(),
        }


def release_shares(
    source: Any,
    schema: TableSchema,
    *,
    epsilon: float,
    never: Sequence[str] = (),
    ranges: Ranges | None = None,
    unit_rule: str = "first",
    relation: str = "replace-one",
    ledger: Ledger | None = None,
    random_state: Any = None,
) -> TableShares:
    """Release shares of values that are clipped, in no list, missing or unreadable, by field.

    Parameters
    ----------
    source : path or table
        See `mipselect.tables.sources.open_source`.
    schema : TableSchema
    epsilon : float
        ε > 0 of all shares together; each field gets an equal part.
    never : sequence of str
        Fields that are left out.
    ranges : mapping of str to (float, float), optional
        Public ranges in place of those of the schema, in units of the fields.
    unit_rule : {"first", "last", "mean"}
        Where the schema has a privacy unit one row of a person counts: the last, or else the
        first.
    relation : {"replace-one", "add-remove"}
    ledger : Ledger, optional
        Charged before a row is read.
    random_state : optional
        None for the operating system's generator; a seed takes the privacy away.

    Raises
    ------
    InvalidInput
        For what is wrong with the arguments or a header; nothing is raised because of the rows.
    BudgetExceeded, RelationMismatch
        From the ledger, before a row is read.

    References
    ----------
    docs/mathematics/quality.md, (8).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.quality import release_shares
    >>> from mipselect.tables import TableSchema
    >>> smoker = {"name": "smoker", "type": "string", "categories": ["no", "yes"]}
    >>> table = pa.table({"smoker": ["0", "1"] * 3000})
    >>> found = release_shares(table, TableSchema.of({"fields": [smoker]}), epsilon=1.0)
    >>> found.fields[0].share("unlisted").low > 0.9
    True
    """
    integers, private = source_of(random_state)
    guarantee = Guarantee(checked_budget(epsilon, "epsilon"), relation=relation, private=private)
    rules = rules_of(schema, never, ranges)
    checked_rule(unit_rule, schema.privacy_unit)
    unit = unit_of(schema)
    parts = open_columns(source, [*columns_read(rules, unit), *schema.ignored], schema.roles)
    with paid(ledger, guarantee, "shares of values that do not fit a schema") as promised:
        rows, counts = kind_counts(parts, rules, unit, unit_rule)
        return shares_of(
            rows, counts, rules, promised, ROW if unit is None else unit.name, integers
        )


def shares_of(
    rows: int,
    counts: NDArray[np.int64],
    rules: Sequence[FieldRule],
    guarantee: Guarantee,
    unit: str,
    source: random.Random,
) -> TableShares:
    """Draw the shares from counts of `kind_counts`, ε-private under the relation.

    Notes
    -----
    A row is in one cell of each field. Replacing it moves two cells of a field by one, adding it
    one cell; ε is divided equally over the fields.
    """
    adds = guarantee.relation == "add-remove"
    moves, part = 1 if adds else 2, exact(guarantee.epsilon) / len(rules)
    drawn = [
        noisy([int(own[k]) for k in rule.kinds], moves, part, source)
        for own, rule in zip(counts, rules, strict=True)
    ]
    interval = _of_estimate(drawn, moves / part) if adds else _of_rows(rows, moves / part)
    together = (1.0 - LEVEL) / sum(map(len, drawn))
    fields = []
    for own, rule in zip(drawn, rules, strict=True):
        ends = [interval(count, 1.0 - LEVEL) for count in own]
        names = [KINDS[k] for k in rule.kinds]
        shares = tuple(Measure(name, *end) for name, end in zip(names, ends, strict=True))
        at_least = tuple(interval(count, together)[1] for count in own)
        fields.append(FieldShares(rule, shares, at_least))
    return TableShares(tuple(fields), guarantee, None if adds else rows, unit)


def half_width(scale: Fraction, outside: float) -> int:
    """Return the least h for which discrete Laplace noise is beyond ± h with this probability."""
    t = float(scale)
    q = math.exp(-1.0 / t)
    # P(|k| > h) = 2 q^(h+1) / (1 + q).
    return max(0, math.ceil(t * math.log(2.0 / ((1.0 + q) * outside)) - 1.0))


def _of_rows(rows: int, scale: Fraction) -> ShareOfCount:
    """Make intervals of shares of a public number of rows."""

    def interval(count: int, outside: float) -> tuple[float | None, float, float]:
        if not rows:
            return None, 0.0, 1.0
        half = half_width(scale, outside)
        value, low, high = (
            min(max(end / rows, 0.0), 1.0) for end in (count, count - half, count + half)
        )
        return value, low, high

    return interval


def _of_estimate(drawn: Sequence[Sequence[int]], scale: Fraction) -> ShareOfCount:
    """Make intervals of shares of an estimated number of rows: the mean over the fields."""
    fields, cells = len(drawn), sum(map(len, drawn))
    size = sum(map(sum, drawn)) / fields
    variance = 0.5 / math.sinh(0.5 / float(scale)) ** 2

    def interval(count: int, outside: float) -> tuple[float | None, float, float]:
        # Of Laplace noise, whose tails are the longest here.
        quantile = math.log(1.0 / outside) / math.sqrt(2.0)
        low, high = ratio_interval(
            *(float(count), size, variance, cells * variance / fields**2, variance / fields),
            quantile,
        )
        value = min(max(count / size, 0.0), 1.0) if size > 0.0 else None
        return value, min(low, 1.0), min(high, 1.0)

    return interval
