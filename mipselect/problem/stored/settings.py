"""Settings of instance files: the score, its blocks, and the problem on columns of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mipselect.problem.block_options import BlockOptions
from mipselect.problem.problem import Problem
from mipselect.problem.scores import LOSS, OF_BLOCKS, SCALES, SCORES, require_together
from mipselect.validation import checked_choice

SETTINGS = ("score", *OF_BLOCKS)
"""Keys of an instance file about the score; all but it go with blocks."""

ANY_DRAW = BlockOptions()
"""Options of a score from blocks where no draw is known: ε = 1 and a list of supports."""


def asked_blocks(settings: Mapping[str, Any], draw: BlockOptions = ANY_DRAW) -> BlockOptions | None:
    """Return the blocks that settings of an instance ask for; None where its score is the loss.

    Parameters
    ----------
    settings : mapping
    draw : BlockOptions
        ε of the draw, and whether it can list supports.

    Raises
    ------
    InvalidInput
        For a score that does not exist, and for what is of no use to it.
    """
    score = checked_choice(settings.get("score", LOSS), "score", SCORES)
    require_together(score, settings, lists=draw.lists)
    if score == LOSS:
        return None
    given = {name: settings[name] for name in (*OF_BLOCKS, *SCALES) if name in settings}
    return replace(draw, score=score, **given)


def problem_of(
    settings: Mapping[str, Any],
    n_columns: int,
    names: Sequence[str] | None,
    target_shift: float = 0.0,
    *,
    n: int | None = None,
    blocks: BlockOptions | None = None,
) -> Problem:
    """Return the problem that settings of an instance describe, on columns of these names.

    Parameters
    ----------
    settings : mapping
    n_columns : int
    names : sequence of str or None
    target_shift : float
    n : int, optional
        Number of rows: where it is known the blocks of block R² are.
    blocks : BlockOptions, optional
        From `asked_blocks`; None for the loss.
    """
    own = {key: value for key, value in settings.items() if key not in SETTINGS}
    if blocks is None:
        return Problem.of_columns(
            n_columns, None, feature_names=names, target_shift=target_shift, **own
        )
    own = {key: value for key, value in own.items() if key not in SCALES} | {"loss": None}
    columns = Problem.of_columns(n_columns, None, feature_names=names, **own)
    return blocks.problem_of_arrays(columns, n)
