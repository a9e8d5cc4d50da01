"""Problems of block R², of features whose columns are normalised within blocks of rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.r_squared_choice import BlockR2Choice
from mipselect.errors import InvalidInput
from mipselect.problem.layout import Layout
from mipselect.problem.problem import Problem

UNWEIGHTED_R2 = (
    "score 'block-r2' counts every row the same, and the schema has a survey weight: score "
    "'blocks', which is the default then, and 'loss' take weights"
)


def problem_of_block_r2(
    problem: Problem, columns: ColumnsOfFeatures, choice: BlockR2Choice, n: int | None
) -> Problem:
    """Return the problem of block R², with its blocks where n is known, or refuse what is too much.

    Parameters
    ----------
    problem : Problem
        Its features, those always in and s count; bounds and loss do not.
    columns : ColumnsOfFeatures
        Those of the features come first, and the target is the last.
    choice : BlockR2Choice
    n : int or None

    Raises
    ------
    InvalidInput
    """
    if problem.weight_bound is not None:
        raise InvalidInput(UNWEIGHTED_R2)
    asked = (columns, problem.n_features, problem.support_size)
    choice.require_listed(*asked[1:])
    blocks = None if n is None else choice.settings(n, *asked).blocks
    return replace(problem.needing(()), score="block-r2", blocks=blocks)


def columns_of_features(layout: Layout) -> ColumnsOfFeatures:
    """Return the columns that are normalised together, in the order of a layout, and the target."""
    widths = [len(part) for part in (*layout.groups, *layout.always)]
    ends = np.cumsum([0, *widths, 1]).tolist()
    parts = tuple(tuple(range(a, b)) for a, b in pairwise(ends))
    return ColumnsOfFeatures(parts, np.zeros(ends[-1], dtype=np.bool_))
