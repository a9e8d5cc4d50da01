"""The table of `fit` and its problem: with a schema, or of numbers with two bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mipselect.cli.arguments import chosen_loss, refuse_bounds
from mipselect.cli.fit_plan import FitOptions, FitPlan
from mipselect.cli.sizes import check_sizes
from mipselect.cli.table_options import TableOptions
from mipselect.errors import InvalidInput, about
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.stored.headers import header
from mipselect.regression.private_ranges import private_ranges
from mipselect.tables.chosen_rows import ChosenRows
from mipselect.tables.mapping import open_table
from mipselect.tables.numbers import read_table
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
    head : mapping
        The first entries of a report.
    files : tuple of Path
        What is read besides the data.
    """

    data: str
    source: Any = field(repr=False)
    schema: TableSchema
    question: Mapping[str, Any]
    head: Mapping[str, Any]
    files: tuple[Path, ...] = ()

    @classmethod
    def of_schema(
        cls, table: TableOptions, schema: TableSchema, question: Mapping[str, Any]
    ) -> FitTable:
        """Take a table with a schema; nothing is read."""
        assert table.schema is not None
        head, asked = {"command": "fit", **table.head}, {**question, "target": table.target}
        return cls(table.data, table.source, schema, asked, head, (table.schema,))

    @classmethod
    def of_numbers(
        cls,
        table: TableOptions,
        features: Sequence[str] | None,
        x_bound: float | None,
        y_bound: float | None,
        target_shift: float,
        *,
        read: bool,
        private: bool = False,
    ) -> FitTable:
        """Take a table of numbers, which is read whole unless only its header is wanted.

        Raises
        ------
        InvalidInput
            For what is wrong with a bound, and then with the file.
        """
        ends = ends_of_bounds(x_bound, y_bound, target_shift)
        if None in ends and not private:
            raise InvalidInput(
                "--schema (begin one with 'mipselect describe') or, for a table of numbers, "
                "--x-bound and --y-bound must be given: the bounds are public assumptions, chosen "
                "without looking at the data; or none of them, or --ranges private, and ranges are "
                "drawn with a part of epsilon"
            )
        of_features, of_target = ends
        source: Any = None
        file, target = table.source, table.target
        if read:
            import pyarrow as pa

            X, y, names = read_table(file, target, features)
            source = pa.table({**{name: X[:, j] for j, name in enumerate(names)}, target: y})
        else:
            names = header(file, target, features)
        with about(table.data):
            ranges = {**dict.fromkeys(names, of_features), target: of_target}
            schema = TableSchema.of_numbers(ranges)
        head = {"command": "fit", **table.head}
        return cls(table.data, source, schema, {"target": target}, head)

    @property
    def unit_rule(self) -> str:
        """Rule that makes one row of several rows of a person."""
        rule: str = self.question.get("unit_rule", "first")
        return rule

    def of_rows(self, rows: ChosenRows) -> FitTable:
        """Replace the table by some of its rows."""
        return replace(self, source=rows)

    @property
    def title(self) -> str:
        """Name of the table in messages: that of its file, without the folder."""
        return Path(self.data).name

    def plan(
        self, options: FitOptions, support_size: int | None, problem: Mapping[str, Any]
    ) -> FitPlan:
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
            stated = asked.pop("ranges", None)
            rule = self.question.get("unit_rule", "first")
            spent = options.epsilon_of_ranges
            ranges = private_ranges(self.schema, asked, stated, spent, rule)
            public = ranges.public
        k = len(public.features)
        size = 1
        if support_size is not None:
            size = checked_integer(support_size, f"{self.data}: --support-size", 1, k)
        intercept = self.question.get("intercept", True)
        plan = options.plan(self.schema, public, size, fit_intercept=intercept, ranges=ranges)
        check_sizes(plan.method, k, self.data)
        bounds = [name for name in problem if name != "loss"]
        refuse_bounds(bounds, plan.method, plan.method_name)
        chosen_loss(problem.get("loss"), plan.method, plan.method_name)
        return plan

    def problem(self, plan: FitPlan, given: Mapping[str, Any]) -> tuple[Problem, int | None]:
        """Return the problem of the selection, and n where it decides; no row is read."""
        drawn = plan.drawn
        if drawn.blocks is not None:
            return drawn.blocks.problem_of_table(self.source, self.schema, **drawn.asked)
        if self.source is not None:
            open_table(self.source, drawn.public)
        intercept = self.question.get("intercept", True)
        asked = {"support_size": drawn.size, "intercept": intercept, **given}
        return Problem.of_table(drawn.public, **asked), None

    def scored(self, plan: FitPlan, given: Mapping[str, Any]) -> Instance | BlockScores:
        """Return what the features are drawn from; nothing is raised because of the rows."""
        if plan.drawn.blocks is None:
            return self.instance(plan, given)
        return plan.drawn.scored(self.source, self.unit_rule)

    def instance(self, plan: FitPlan, given: Mapping[str, Any]) -> Instance:
        """Make an instance of the table; nothing is raised because of its rows."""
        of_loss = given if plan.drawn.blocks is None else {}
        settings = {"support_size": plan.drawn.size, **of_loss}
        return Instance.from_table(self.source, self.schema, **self.question, **settings)


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
