"""Losses, one a file. A new one is a file and a line here."""

from __future__ import annotations

from mipselect.errors import InvalidInput
from mipselect.losses.base import Loss, PreparedLoss, RestrictedFit
from mipselect.losses.squared import SquaredLoss

LOSSES: dict[str, Loss] = {loss.name: loss for loss in (SquaredLoss(),)}


def loss_by_name(name: str) -> Loss:
    """Return the loss called `name`; raise `InvalidInput` with the known names otherwise."""
    if name not in LOSSES:
        raise InvalidInput(f"loss {name!r} is unknown; known: {', '.join(sorted(LOSSES))}")
    return LOSSES[name]


__all__ = ["LOSSES", "Loss", "PreparedLoss", "RestrictedFit", "loss_by_name"]
