"""Settings of instance files: the score, its blocks, and the problem on columns of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mipselect.blocks.partitions import OF_BLOCKS, Blocks
from mipselect.errors import InvalidInput
from mipselect.problem.problem import Problem
from mipselect.validation import checked_choice

SETTINGS = ("score", *OF_BLOCKS)
"""Keys of an instance file about the score; all but it go with blocks."""


def asked_blocks(settings: Mapping[str, Any]) -> Blocks | None:
    """Return the blocks that settings of an instance ask for; None where its score is the loss.

    Raises
    ------
    InvalidInput
        For a score that does not exist, and for what is of no use to it.
    """
    score = checked_choice(settings.get("score", "loss"), "score", ("blocks", "loss"))
    about = {name: settings[name] for name in OF_BLOCKS if name in settings}
    if score == "loss":
        for name in about:
            raise InvalidInput(f"{name} goes with score = 'blocks'")
        return None
    for name in ("x_bound", "y_bound", "always_bound"):
        if name in settings:
            raise InvalidInput(f"{name} does not apply to score 'blocks', which uses no range")
    if settings.get("intercept") or settings.get("loss", "squared") != "squared":
        name = "intercept" if settings.get("intercept") else "loss"
        raise InvalidInput(f"score 'blocks' is least squares on centred blocks: leave out {name}")
    return Blocks.of(**about)


def problem_of(
    settings: Mapping[str, Any],
    n_columns: int,
    names: Sequence[str] | None,
    target_shift: float = 0.0,
) -> Problem:
    """Return the problem that settings of an instance describe, on columns of these names."""
    blocks = asked_blocks(settings)
    own = {key: value for key, value in settings.items() if key not in SETTINGS}
    if blocks is None:
        return Problem.of_columns(
            n_columns, None, feature_names=names, target_shift=target_shift, **own
        )
    scales = {name: own.pop(name, None) for name in ("coef_bound", "ridge")}
    own["loss"] = None
    return Problem.of_columns(n_columns, None, feature_names=names, **own).in_blocks(
        blocks, **scales
    )
