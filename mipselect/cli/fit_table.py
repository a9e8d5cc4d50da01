"""The table of `fit` and its problem: with a schema, or of numbers with two bounds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from mipselect.cli.arguments import check_sizes, chosen_loss, refuse_bounds
from mipselect.cli.fit_options import FitOptions
from mipselect.cli.release_file import ReleasedFeatures
from mipselect.cli.table_options import NumbersOptions, SchemaOptions, TableOptions
from mipselect.errors import InvalidInput, about
from mipselect.regression.ranges import PrivateRanges
from mipselect.regression.table_plan import TablePlan
from mipselect.tables.numbers import header, read_table
from mipselect.tables.public_map import TableQuestion
from mipselect.tables.schema import TableSchema
from mipselect.validation import (
    LARGEST_SCALE,
    checked_integer,
    checked_number,
    checked_scale,
    listed,
)


@dataclass(frozen=True, eq=False)
class FitTable:
    """A table, with all that is public about it.

    Attributes
    ----------
    data : str
        Its path as it was given.
    source : object
        What `open_source` takes; None where no row was read.
    question : TableQuestion
    intercept : bool
        True if there is a column of ones.
    """

    data: str
    source: Any = field(repr=False)
    question: TableQuestion
    intercept: bool = True

    @classmethod
    def of_schema(
        cls, table: TableOptions, schema: TableSchema, options: SchemaOptions
    ) -> FitTable:
        """Take a table with a schema; nothing is read."""
        question = options.question_about(schema, table.target)
        return cls(table.data, table.source, question, not options.no_intercept)

    @classmethod
    def of_numbers(
        cls, table: TableOptions, numbers: NumbersOptions, *, read: bool, private: bool = False
    ) -> FitTable:
        """Take a table of numbers, which is read whole unless only its header is wanted.

        Raises
        ------
        InvalidInput
            For what is wrong with a bound, and then with the file.
        """
        ends = ends_of_bounds(numbers.x_bound, numbers.y_bound, numbers.target_shift)
        if None in ends and not private:
            raise InvalidInput(
                "--schema (begin one with 'mipselect describe') or, for a table of numbers, "
                "--x-bound and --y-bound must be given: the bounds are public assumptions, chosen "
                "without looking at the data; or none of them, or --ranges private, and ranges are "
                "drawn with a part of epsilon"
            )
        of_features, of_target = ends
        source: Any = None
        file, target, features = table.source, table.target, numbers.chosen
        if read:
            import pyarrow as pa

            X, y, names = read_table(file, target, features)
            source = pa.table({**{name: X[:, j] for j, name in enumerate(names)}, target: y})
        else:
            names = header(file, target, features)
        with about(table.data):
            ranges = {**dict.fromkeys(names, of_features), target: of_target}
            schema = TableSchema.of_numbers(ranges)
        return cls(table.data, source, TableQuestion(schema, target))

    def about(self, released: ReleasedFeatures) -> FitTable:
        """Return it with the features of a release and no other.

        Raises
        ------
        InvalidInput
            For a feature that it has not, or that --never leaves out.
        """
        question = self.question
        known = {encoder.field.name for encoder in question.without_ranges.features}
        for name in released.names:
            if name not in known.union(question.always):
                raise InvalidInput(
                    f"{released.file}: its feature {name!r} is none of {self.data} here; features: "
                    f"{listed(sorted(known))}"
                )
        used = {*released.names, *question.always, question.target}
        return replace(self, question=question.about(used))

    def plan(self, options: FitOptions, support_size: int | None) -> TablePlan:
        """Check the question against the schema, and the cost against the ledger.

        Parameters
        ----------
        options : FitOptions
        support_size : int or None
            None if the sizes are an option of the method.
        """
        question, ranges = self.question, None
        if options.private_ranges:
            ranges = PrivateRanges(question, options.epsilon_of_ranges)
            question = ranges.placed
        k = len(question.public.features)
        size = 1
        if support_size is not None:
            size = checked_integer(support_size, f"{self.data}: --support-size", 1, k)
        plan = options.table_plan(question, size, fit_intercept=self.intercept, ranges=ranges)
        check_sizes(plan.method, k, self.data)
        name = options.name_of(plan.method)
        refuse_bounds(options.scales, plan.method, name)
        chosen_loss(options.scores.loss, plan.method, name)
        return plan


def ends_of_bounds(
    x_bound: float | None, y_bound: float | None, target_shift: float
) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Return the ranges of the features and of the target of a table of numbers.

    Raises
    ------
    InvalidInput
    """
    for bound, option in ((x_bound, "--x-bound"), (y_bound, "--y-bound")):
        if bound is not None:
            checked_scale(bound, option)
    within = f"a number between ±{LARGEST_SCALE:g}"
    checked_number(target_shift, "--target-shift", within, lambda v: abs(v) <= LARGEST_SCALE)
    of_features = None if x_bound is None else (-x_bound, x_bound)
    if y_bound is None:
        if target_shift:
            raise InvalidInput("--target-shift goes with --y-bound, which is meant around it")
        return of_features, None
    low, high = target_shift - y_bound, target_shift + y_bound
    if not low < target_shift < high:
        raise InvalidInput(
            f"--target-shift {target_shift:g} is so far from 0 that --y-bound {y_bound:g} is "
            "lost beside it; choose other units"
        )
    return of_features, (low, high)
