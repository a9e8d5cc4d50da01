"""Losses, one a file. A new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable

from mipselect.errors import InvalidInput
from mipselect.losses.base import Loss, word_and_number
from mipselect.losses.box_dual import BoxDualLoss
from mipselect.losses.hinge import HingeLoss
from mipselect.losses.huber import HuberLoss
from mipselect.losses.quantile import QuantileLoss
from mipselect.losses.squared import SquaredLoss
from mipselect.restricted.prepared import CertifiedLoss, PreparedLoss, RestrictedFit

BY_NAME: dict[str, Callable[..., Loss]] = {
    "squared": SquaredLoss,
    "hinge": HingeLoss,
    "huber": HuberLoss,
    "quantile": QuantileLoss,
}
WITH_PARAMETER = {"huber", "quantile"}


def checked_loss(loss: str | Loss) -> Loss:
    """Return a loss as it is, or the one of that name; `InvalidInput` for anything else.

    Examples
    --------
    >>> from mipselect.losses import HuberLoss, checked_loss
    >>> checked_loss("hinge").name, checked_loss(HuberLoss(2.0)).name
    ('hinge', 'huber(2.0)')
    """
    if isinstance(loss, str):
        return loss_by_name(loss)
    if not isinstance(loss, Loss):
        raise InvalidInput(f"loss must be a name ({', '.join(BY_NAME)}) or a Loss, got {loss!r}")
    return loss


def loss_by_name(name: str) -> Loss:
    """Return the loss called `name`, such as "hinge", "huber(1.35)" or "quantile(0.9)".

    Without a parameter "huber" is huber(1.35) and "quantile" is quantile(0.5).

    Raises
    ------
    InvalidInput
        With the known names, or with what is wrong about the parameter.

    Examples
    --------
    >>> from mipselect.losses import loss_by_name
    >>> loss_by_name("quantile"), loss_by_name("huber(2)").name
    (QuantileLoss(level=0.5), 'huber(2.0)')
    """
    word, number = word_and_number(name)
    if word not in BY_NAME:
        raise InvalidInput(
            f"loss {name!r} is unknown; known: {', '.join(BY_NAME)}; "
            "a parameter is written huber(1.35), quantile(0.9)"
        )
    if number is None:
        return BY_NAME[word]()
    if word not in WITH_PARAMETER:
        raise InvalidInput(f"loss {name!r}: {word} has no parameter")
    return BY_NAME[word](number)


__all__ = [
    "BoxDualLoss",
    "CertifiedLoss",
    "HingeLoss",
    "HuberLoss",
    "Loss",
    "PreparedLoss",
    "QuantileLoss",
    "RestrictedFit",
    "SquaredLoss",
    "checked_loss",
    "loss_by_name",
]
