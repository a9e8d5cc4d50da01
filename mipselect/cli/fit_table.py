"""The table of `fit` and its problem: with a schema, or of numbers with two bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mipselect.cli.arguments import chosen_loss, refuse_bounds
from mipselect.cli.fit_options import FitOptions
from mipselect.cli.sizes import check_sizes
from mipselect.cli.table_options import NumbersOptions, TableOptions
from mipselect.errors import InvalidInput, about
from mipselect.regression.private_ranges import private_ranges
from mipselect.regression.table_pair import TablePlan
from mipselect.tables.numbers import header, read_table
from mipselect.tables.public_map import PublicMap
from mipselect.tables.schema import TableSchema
from mipselect.validation import LARGEST_SCALE, checked_integer, checked_number, checked_scale


@dataclass(frozen=True, eq=False)
class FitTable:
    """A table, with all that is public about it.

    Attributes
    ----------
    data : str
        Its path as it was given.
    source : object
        What `open_source` takes; None where no row was read.
    schema : TableSchema
    question : mapping
        Arguments of `Instance.from_table`: target, always, never, ranges, intercept, unit_rule.
    """

    data: str
    source: Any = field(repr=False)
    schema: TableSchema
    question: Mapping[str, Any]

    @classmethod
    def of_schema(
        cls, table: TableOptions, schema: TableSchema, question: Mapping[str, Any]
    ) -> FitTable:
        """Take a table with a schema; nothing is read."""
        return cls(table.data, table.source, schema, {**question, "target": table.target})

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
        return cls(table.data, source, schema, {"target": target})

    @property
    def unit_rule(self) -> str:
        """Rule that makes one row of several rows of a person."""
        rule: str = self.question.get("unit_rule", "first")
        return rule

    @property
    def intercept(self) -> bool:
        """True if there is a column of ones."""
        intercept: bool = self.question.get("intercept", True)
        return intercept

    def plan(
        self, options: FitOptions, support_size: int | None, problem: Mapping[str, Any]
    ) -> TablePlan:
        """Check the question against the schema, and the cost against the ledger.

        Parameters
        ----------
        options : FitOptions
        support_size : int or None
            None if the sizes are an option of the method.
        problem : mapping
            What was given of coef_bound, ridge and loss.
        """
        chosen = ("target", "always", "never", "ranges")
        asked = {key: value for key, value in self.question.items() if key in chosen}
        ranges = None
        if not options.private_ranges:
            public = PublicMap.of(self.schema, **asked)
        else:
            stated, spent = asked.pop("ranges", None), options.epsilon_of_ranges
            ranges = private_ranges(self.schema, asked, stated, spent, self.unit_rule)
            public = ranges.public
        k = len(public.features)
        size = 1
        if support_size is not None:
            size = checked_integer(support_size, f"{self.data}: --support-size", 1, k)
        plan = options.table_plan(
            self.schema, public, size, fit_intercept=self.intercept, ranges=ranges
        )
        check_sizes(plan.method, k, self.data)
        name = options.name_of(plan.method)
        refuse_bounds([name for name in problem if name != "loss"], plan.method, name)
        chosen_loss(problem.get("loss"), plan.method, name)
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
