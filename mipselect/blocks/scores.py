"""Scores of supports by their names, and what goes with each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mipselect.blocks.partitions import Blocks
from mipselect.errors import InvalidInput
from mipselect.validation import checked_choice, checked_epsilon, set_fields

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


@dataclass(frozen=True, kw_only=True)
class BlockOptions:
    """Public options of a score from blocks of rows; those that are None are chosen by rules.

    Attributes
    ----------
    block_rows : int, optional
        b; of block R² else `default_block_rows`.
    partitions : int, optional
        T; of block R² else `default_partitions`.
    partition_seed : int, optional
        Else from the operating system.
    epsilon : float
        ε for which b is chosen.
    score : {"blocks", "block-r2"}, optional
        Least squares on blocks, or block R². Default: block R² where supports are few, see
        `mipselect.problem.block_scores.chosen`.
    coef_bound, ridge : float, optional
        r and λ of least squares.
    lists : bool
        True if what draws can list all supports, and draws one size.
    order_seed : int, optional
        From which the order of people is drawn, where nothing is to be private; default: from the
        operating system.

    Raises
    ------
    InvalidInput
    """

    block_rows: int | None = None
    partitions: int | None = None
    partition_seed: int | None = None
    epsilon: float = 1.0
    score: str | None = None
    coef_bound: float | None = None
    ridge: float | None = None
    lists: bool = True
    order_seed: int | None = None

    def __post_init__(self) -> None:
        set_fields(self, epsilon=checked_epsilon(self.epsilon))
        _ = self.blocks
        if self.score is not None:
            checked_choice(self.score, "score", (BLOCKS, R2))
            require_together(self.score, vars(self), lists=self.lists)

    @property
    def blocks(self) -> Blocks:
        """Blocks of what is given; the rest is as by default."""
        return Blocks.of(self.block_rows, self.partitions, self.partition_seed)
