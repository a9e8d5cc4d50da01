"""Problems of tables with a schema, of their moments and of their blocks; no row is looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from mipselect.blocks.partitions import Blocks
from mipselect.errors import InvalidInput
from mipselect.losses import Loss, SquaredLoss, checked_loss
from mipselect.losses.base import wants_classes
from mipselect.problem.layout import Always, Groups, Layout, laid_out
from mipselect.problem.problem import Problem
from mipselect.tables.moments import Moments
from mipselect.tables.moments.columns import ArrayColumns, TableColumns
from mipselect.tables.public_map import PublicMap, TableQuestion
from mipselect.validation import checked_integer

DEFAULT_RIDGE = 1.0
"""λ: as much as one row. More would buy no privacy, for Δ does not depend on it, and would hide
features that vary little. Neither it nor r depends on n: what is said of a release when a row is
added or removed needs an objective without it."""

REACH = 1.25
"""U with an intercept: how far predictions may reach, in halves of the range of the target."""


def default_coef_bound(support_size: int, always: int, intercept: bool) -> float:
    """Compute r = 1/√(s + a), or 1.25/√(s + a + 1) with an intercept, so that U = 1 or 1.25.

    U = 1 lets predictions reach both ends of the range of the target. An intercept needs a little
    room of its own, for a mean that is far from the middle of the range: else features that hardly
    vary would stand in for it. More room costs ε, for Δ grows with (1 + U)²; it does not grow with
    the size. docs/plan.md has the measurements.

    Parameters
    ----------
    support_size : int
        s, the largest number of features that may be chosen.
    always : int
        a, the fields that are always in.
    intercept : bool
    """
    reach = REACH if intercept else 1.0
    return reach / math.sqrt(support_size + always + intercept)


def layout_of_table(public: PublicMap, *, intercept: bool, bound: float | None) -> Layout:
    """Lay out a table with a schema: every field is a feature or always in, with the same bound."""
    names = [encoder.field.name for encoder in public.features]
    return laid_out(
        len(public.columns),
        [column.name for column in public.columns],
        groups=dict(zip(names, public.blocks[: len(names)], strict=True)),
        always=public.blocks[len(names) :],
        intercept=intercept,
        x_bound=bound,
        always_bound=bound,
    )


def problem_of_table(
    public: PublicMap,
    *,
    support_size: int,
    intercept: bool = True,
    coef_bound: float | None = None,
    ridge: float | None = None,
    loss: str | Loss = "squared",
) -> Problem:
    """Make the problem of a table with a schema: every field is a feature, all in [-1, 1].

    The arguments are those of `Instance.from_table`.
    """
    law, classes = checked_loss(loss), public.target.classes
    if wants_classes(law) and classes is None:
        raise InvalidInput(
            f"the {law.name} loss needs a target of two classes; {public.target_name!r} is a number"
        )
    layout = layout_of_table(public, intercept=intercept, bound=1.0)
    checked_integer(support_size, "support_size", 1, len(public.features))
    if coef_bound is None:
        coef_bound = default_coef_bound(support_size, len(public.always), intercept)
    return Problem(
        layout=layout,
        support_size=support_size,
        loss=law,
        y_bound=1.0,
        coef_bound=coef_bound,
        ridge=DEFAULT_RIDGE if ridge is None else ridge,
        classes=classes,
        units=public,
        weight_bound=None if public.weight is None else public.weight.maximum,
    )


def problem_of_table_blocks(
    question: TableQuestion,
    blocks: Blocks,
    *,
    support_size: int,
    coef_bound: float | None = None,
    ridge: float | None = None,
) -> Problem:
    """Return the problem of blocks of rows of a table; features and target have bound 1.

    Parameters
    ----------
    question : TableQuestion
    blocks : Blocks
    support_size : int
    coef_bound, ridge : float, optional
        r and λ, in units of a normalised block; see `mipselect.blocks.partitions`.

    Raises
    ------
    InvalidInput
    """
    public = question.without_ranges
    problem = Problem(
        layout=layout_of_table(public, intercept=False, bound=None),
        support_size=support_size,
        units=public,
        weight_bound=None if public.weight is None else public.weight.maximum,
    )
    return problem.in_blocks(blocks, coef_bound, ridge)


def problem_of_moments(
    moments: Moments,
    *,
    always: Always = None,
    never: Sequence[str] = (),
    groups: Groups = None,
    intercept: bool | None = None,
    **settings: Any,
) -> Problem:
    """Return the problem of moments; the arguments are those of `Instance.from_moments`."""
    columns = moments.columns
    if isinstance(columns, TableColumns):
        if groups is not None:
            raise InvalidInput("the fields of a table are its features: leave out groups")
        fixed = [always] if isinstance(always, str) else cast(Any, always or ())
        question = columns.question.of_moments(fixed, never)
        return problem_of_table(question.public, intercept=intercept is not False, **settings)
    if not isinstance(columns, ArrayColumns):
        raise InvalidInput("sums over blocks of rows are of one instance: Instance.from_blocks")
    if settings.get("coef_bound") is None or settings.get("ridge") is None or never:
        raise InvalidInput(
            "moments of arrays need coef_bound and ridge, both public, and have no fields to leave "
            "out"
        )
    layout = laid_out(
        len(columns.names),
        columns.names,
        groups=groups,
        always=always,
        intercept=intercept is True,
        x_bound=1.0,
    )

    def bound(part: Sequence[int]) -> float:
        each = [columns.x_bounds[j] for j in part]
        return each[0] if len(each) == 1 else math.nextafter(math.hypot(*each), math.inf)

    # A feature is bounded by the bounds of all its columns together.
    layout = replace(
        layout,
        limits=np.array([bound(group) for group in layout.groups]),
        always_limit=max(map(bound, layout.always), default=max(columns.x_bounds)),
    )
    return Problem(layout=layout, loss=SquaredLoss(), y_bound=columns.y_bound, **settings)
