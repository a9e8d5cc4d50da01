"""The part of ε that a selection gets where a model gets the rest: a public rule."""

from __future__ import annotations

SHARE_OF_BLOCKS = 0.2
SHARE_OF_OTHERS = 0.5

SHARE_OF_RANGES = 0.2
"""Part of ε that private ranges cost; by experiment, see docs/regression.md."""


def default_selection_share(*, in_blocks: bool) -> float:
    """Return the part of ε that the selection may cost, between 0 and 1.

    Parameters
    ----------
    in_blocks : bool
        True if features are drawn from scores from blocks of rows, which need less of it.
    """
    return SHARE_OF_BLOCKS if in_blocks else SHARE_OF_OTHERS
