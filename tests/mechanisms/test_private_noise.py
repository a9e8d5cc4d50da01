"""Draws that are private take the exact samplers of OpenDP, and seeded ones do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mipselect.mechanisms import NoisyMax, Peeling, RandomStopping, SampleAggregate
from mipselect.mechanisms.noise import opendp_draws
from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    TukeyRegressor,
)

OPTIONS: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-3, "x_bound": 1.0, "y_bound": 1.0}
SCORES = [3.0, 1.0, 2.0, 0.0]
X = np.linspace(-1.0, 1.0, 400).reshape(200, 2)
Y = X @ [0.5, -0.2]


def votes(X: Any, y: Any) -> np.ndarray:
    return np.array([0])


def fitted(model: Any) -> Callable[[Any], Any]:
    return lambda rng: model.set_params(random_state=rng).fit(X, Y)


DRAWS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "one item": ("noisy_max", NoisyMax(SCORES, 1.0).sample),
    "k items": ("noisy_top_k", Peeling(SCORES, 2, 1.0, noise="exponential").sample),
    "random stopping": ("laplace", RandomStopping(SCORES, [1.0] * 4, 1.0).sample),
    "number of rows": ("laplace", SampleAggregate(X, Y, 1, 1.0, ballot=votes).sample),
    "rows of models": (
        "laplace",
        fitted(TukeyRegressor(epsilon=2.0, delta=1e-3, relation="add-remove")),
    ),
    "sums": ("gaussian", fitted(AdaSSPRegressor(**OPTIONS))),
    "sums and gradients": ("gaussian", fitted(BoostedAdaSSPRegressor(**OPTIONS))),
}


@pytest.mark.parametrize("name", DRAWS)
def test_only_private_draws_are_by_opendp(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, draw = DRAWS[name]
    calls = []
    exact = getattr(opendp_draws, sampler)
    monkeypatch.setattr(opendp_draws, sampler, lambda *given: calls.append(1) or exact(*given))
    draw(None)
    assert calls
    calls.clear()
    draw(0)
    assert not calls
