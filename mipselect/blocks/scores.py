"""Scores of supports by their names, and what goes with each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mipselect.errors import InvalidInput

BLOCKS, R2, LOSS = "blocks", "block-r2", "loss"
SCORES = (BLOCKS, R2, LOSS)

RANGES = ("x_bound", "y_bound", "ranges")
SCALES = ("coef_bound", "ridge")
OF_BLOCKS = ("block_rows", "partitions", "partition_seed")
"""Names of the arguments of `Blocks.of`: those of instances, scores and files."""


def require_together(
    score: str,
    given: Mapping[str, Any],
    *,
    lists: bool = True,
    named: Callable[[str], str] = str,
) -> None:
    """Raise `InvalidInput` for what does not go with a score.

    Parameters
    ----------
    score : {"blocks", "block-r2", "loss"}
    given : mapping
        Bounds, scales, options of blocks, `intercept` and `loss`, by name; None is not given.
    lists : bool
        True if what draws can list all supports, and draws one size.
    named : callable
        What a message calls an option of this name.
    """

    def refuse(names: tuple[str, ...], why: str) -> None:
        for name in names:
            if given.get(name) is not None:
                raise InvalidInput(f"{named(name)} {why}")

    if score == LOSS:
        refuse(OF_BLOCKS, "goes with scores from blocks, and the score is 'loss'")
        return
    refuse(RANGES, f"does not apply to score {score!r}, which uses no range")
    if given.get("intercept") or given.get("loss") not in (None, "squared"):
        name = named("intercept" if given.get("intercept") else "loss")
        raise InvalidInput(f"score {score!r} is least squares on centred blocks: leave out {name}")
    if score == R2:
        refuse(SCALES, "goes with score 'blocks' or 'loss': R² within blocks has none")
        if not lists:
            raise InvalidInput(
                "score 'block-r2' goes with exact draws of one size: permute-and-flip and "
                "exponential"
            )
