"""`Question` and `Guesses`: what a plan is about, before a row of a table is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from mipselect.blocks.r_squared import r_squared_seconds
from mipselect.errors import InvalidInput
from mipselect.problem.block_scores import UNWEIGHTED_R2, BlockOptions, listed_features
from mipselect.problem.problem import checked_ridge
from mipselect.problem.scores import BLOCKS, LOSS, R2, SCORES
from mipselect.tables import PublicMap, TableSchema
from mipselect.tables.encoders import Encoder, Ranked, Scaled, Unscaled
from mipselect.tables.instances import (
    DEFAULT_RIDGE,
    default_coef_bound,
    problem_without_ranges,
)
from mipselect.tables.public_map import Ranges, TableQuestion
from mipselect.validation import (
    checked_choice,
    checked_epsilon,
    checked_integer,
    checked_number,
    checked_positive,
    checked_scale,
    checked_share,
    listed,
    set_fields,
)

MOST_ENTRIES = 20_000_000
"""No table with more rows times columns is made up."""

SECONDS_OF_PARTITIONS = 0.5
"""Estimated time of the block R² of one simulated table: fewer partitions are drawn than by
`select` where all of them take longer."""


@dataclass(frozen=True, kw_only=True)
class Guesses:
    """Assumptions about the rows; all of them stated, none of them from data.

    Attributes
    ----------
    effect : float
        R² of the columns that matter, together, before the target is clipped to its range;
        between 0 and 1. Cohen (1988, section 9.2) calls 0.02 small, 0.13 medium, 0.26 large.
    correlation : float
        Correlation of any two fields, as normal variables before they are cut into categories; in
        [0, 1).
    missing : float
        Share of missing values in each field that is not `required`; in [0, 1).
    spread : float
        Standard deviation of a number, in halves of its range: 0.25 where the range is four
        standard deviations to either side.
    target_mean, target_sd : float, optional
        Those of a target with a range, in its units; default the middle of the range, and `spread`.
    target_rate : float, optional
        Share of the second of two classes, between 0 and 1; default one half.

    Raises
    ------
    InvalidInput
        Naming the guess that is out of its range.

    Examples
    --------
    >>> from mipselect.planning import Guesses
    >>> Guesses(effect=0.1, target_mean=15.0, target_sd=10.0).correlation
    0.2
    """

    effect: float = 0.3
    correlation: float = 0.2
    missing: float = 0.05
    spread: float = 0.25
    target_mean: float | None = None
    target_sd: float | None = None
    target_rate: float | None = None

    def __post_init__(self) -> None:
        checked_share(self.effect, "effect", closed=True)
        for what in ("correlation", "missing"):
            checked_number(
                getattr(self, what), what, "a number from 0 to below 1", lambda v: 0.0 <= v < 1.0
            )
        checked_number(self.spread, "spread", "a number in 0.001..10", lambda v: 1e-3 <= v <= 10.0)
        if self.target_sd is not None:
            checked_positive(self.target_sd, "target_sd")
        if self.target_rate is not None:
            checked_share(self.target_rate, "target_rate", closed=False)

    def target_law(self, public: PublicMap) -> tuple[float, float]:
        """Return mean and deviation of a target before it is clipped; 0 and 1 without a range.

        Raises
        ------
        InvalidInput
            If they are given for a target without a range, the mean is outside of the range, or a
            rate is given for what is not two classes.
        """
        encoder = public.target.encoder
        name = encoder.field.name
        if self.target_rate is not None and public.target.classes is None:
            raise InvalidInput(f"target_rate is for a target of two classes, and {name!r} is none")
        if not isinstance(encoder, Scaled):
            if self.target_mean is not None or self.target_sd is not None:
                has = "none, and scores from blocks do not depend on them"
                if isinstance(encoder, Ranked):
                    has = f"{encoder.levels} categories, which count as equally frequent"
                    has += "; see target_rate" * (encoder.levels == 2)
                raise InvalidInput(
                    f"target_mean and target_sd are for a target with a range; {name!r} has {has}"
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


@dataclass(frozen=True, kw_only=True)
class Question:
    """A selection from a table of so many rows, as its schema and guesses describe it.

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
        Each counts once.
    guesses : Guesses
    seed : int
    score : {"blocks", "block-r2", "loss"}, optional
        Default: that of `select`, a score from blocks that `BlockOptions` chooses.
    always, never, ranges, intercept, coef_bound, ridge
        As for `Instance.from_table`. All but the first two are for the loss.

    Raises
    ------
    InvalidInput
        For what is wrong with the schema, the question or a guess; for what is said about the loss
        where fields have no range.

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
    guesses: Guesses = field(default_factory=Guesses)
    seed: int = 0
    score: str | None = None
    always: Sequence[str] = ()
    never: Sequence[str] = ()
    ranges: Ranges | None = None
    intercept: bool = True
    coef_bound: float | None = None
    ridge: float | None = None
    weighted: bool = field(default=False, init=False)
    without_range: tuple[str, ...] = field(default=(), init=False)
    """Fields that the loss, and a model, need a range of, and have none."""
    table: TableQuestion = field(init=False)
    """The question about a simulated table."""

    def __post_init__(self) -> None:
        known, guesses = dict(self.ranges or {}), self.guesses
        given = TableQuestion(self.schema, self.target, self.always, self.never, known)
        public = given.without_ranges
        if public.weight is not None:
            if self.score == R2:
                raise InvalidInput(UNWEIGHTED_R2)
            # The default of `select` where the schema has a weight.
            set_fields(self, weighted=True, score=self.score or BLOCKS)
        if self.score is not None:
            checked_choice(self.score, "score", SCORES)
        fields = [encoder.field for encoder in (*public.encoders, public.target.encoder)]
        lacking = tuple(each.name for each in fields if each.gap and each.name not in known)
        set_fields(self, without_range=lacking)
        if lacking and self.score != LOSS:
            self._refuse_what_is_of_the_loss()
        else:
            public = given.public
        stored = [stored_field(encoder) for encoder in (*public.encoders, public.target.encoder)]
        always = [encoder.field.name for encoder in public.always]
        simulated = TableQuestion(TableSchema.of({"fields": stored}), self.target, always)
        set_fields(self, table=simulated)
        checked_integer(self.support_size, "support_size", 1, len(self.public.features))
        checked_scale(self.bound, "coef_bound")
        checked_ridge(self.penalty)
        epsilons = tuple(dict.fromkeys(checked_epsilon(e, "epsilons") for e in self.epsilons))
        if not epsilons:
            raise InvalidInput("epsilons must have at least one ε")
        set_fields(self, epsilons=epsilons, seed=checked_integer(self.seed, "seed", 0))
        guesses.target_law(self.public)
        columns = len(self.public.columns)
        if checked_integer(self.rows, "rows", 2) * columns > MOST_ENTRIES:
            raise InvalidInput(
                f"rows must be at most {MOST_ENTRIES // columns:,} for {columns} columns, got "
                f"{self.rows:,}; plan with fewer: what is found depends on epsilon times rows"
            )

    def _refuse_what_is_of_the_loss(self) -> None:
        given = {
            "ranges": bool(self.ranges),
            "intercept": not self.intercept,
            "coef_bound": self.coef_bound is not None,
            "ridge": self.ridge is not None,
        }
        for name in (name for name, stated in given.items() if stated):
            raise InvalidInput(
                f"{name} is for the loss, which needs a range of {listed(self.without_range)} too"
            )

    @cached_property
    def public(self) -> PublicMap:
        """Map of a row of the table into columns; numbers as they are where a range is missing."""
        bare = self.score != LOSS and self.without_range
        return self.table.without_ranges if bare else self.table.public

    @property
    def bound(self) -> float:
        """r of the loss: what was given, or the default."""
        if self.coef_bound is not None:
            return self.coef_bound
        return default_coef_bound(self.support_size, len(self.public.always), self.intercept)

    @property
    def penalty(self) -> float:
        """λ of the loss: what was given, or the default."""
        return DEFAULT_RIDGE if self.ridge is None else self.ridge

    def blocks(self, epsilon: float) -> BlockOptions:
        """Return the score from blocks of n rows at ε, with b by its public rule.

        T of block R² is that of `select`, or as many as take half a second, but at least one.

        Raises
        ------
        InvalidInput
            If block R² was asked for and is too much, or there are too few rows.
        """
        problem = problem_without_ranges(self.table, self.support_size)
        scored = BlockOptions(score=self.score, epsilon=epsilon).scored(problem, self.rows)
        blocks = scored.blocks
        assert blocks is not None
        if scored.score == R2:
            seconds = r_squared_seconds(self.rows, 1, listed_features(problem, blocks.rows))
            in_time = max(1, int(SECONDS_OF_PARTITIONS / seconds))
            blocks = replace(blocks, partitions=min(blocks.partitions, in_time))
        return BlockOptions(score=scored.score, **blocks.public())


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
