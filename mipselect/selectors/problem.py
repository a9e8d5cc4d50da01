"""Selectors that are defined by a restricted problem: the bounds they need, and their `Instance`."""

from __future__ import annotations

from abc import ABC
from typing import Any

from mipselect.instance import Instance
from mipselect.losses import Loss, loss_by_name
from mipselect.losses.base import FloatArray
from mipselect.selectors.base import PrivateSelector


class ProblemSelector(PrivateSelector, ABC):
    """A selector whose distribution comes from the values R(S) of an `Instance`."""

    x_bound: float | None
    y_bound: float | None
    coef_bound: float | None
    ridge: float | None
    loss: str | Loss

    def _instance(self, X: FloatArray, y: Any) -> Instance:
        meanings = {
            "x_bound": "features are clipped to ± this",
            "y_bound": "the target is clipped to ± this",
            "coef_bound": "the largest length of the coefficients",
            "ridge": "λ of the penalty (λ/2n)‖β‖²",
        }
        loss = loss_by_name(self.loss) if isinstance(self.loss, str) else self.loss
        classes = loss.encode(y)[1]
        if classes is not None:
            del meanings["y_bound"]
        bounds = {"y_bound": 1.0, **self._public(**meanings)}
        return Instance(
            X,
            y,
            support_size=int(self.n_features_to_select),
            loss=loss,
            feature_names=self._names(),
            **bounds,
        )
