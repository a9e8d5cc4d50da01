"""Draws that are private take the exact samplers of OpenDP, and seeded ones do not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mipselect.errors import InvalidInput
from mipselect.mechanisms import NoisyMax, Peeling, RandomStopping, SampleAggregate
from mipselect.mechanisms.noise import opendp_draws
from mipselect.mechanisms.scores.sample_aggregate import COUNT_SHARE, vote_epsilon
from mipselect.privacy.decimals import exact
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
    right = getattr(opendp_draws, sampler)
    monkeypatch.setattr(opendp_draws, sampler, lambda *given: calls.append(1) or right(*given))
    draw(None)
    assert calls
    calls.clear()
    draw(0)
    assert not calls


def test_parts_of_epsilon_are_no_more_than_it() -> None:
    """As decimals, which is how a ledger reads them."""
    for epsilon in (0.341, 0.7, 1.37, 2.075, 2.087, *(k / 100.0 for k in range(1, 400))):
        looks = 3 * exact(RandomStopping(SCORES, [1.0] * 4, epsilon)._look_epsilon)
        counted = exact(COUNT_SHARE * epsilon) + exact(vote_epsilon(epsilon, None, "add-remove"))
        for spent in (looks, counted):
            assert exact(epsilon) * (1 - Fraction(1, 10**15)) <= spent <= exact(epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.1, 0.341, 3.0, 2.0])
def test_laplace_noise_is_for_the_printed_epsilon_too(
    epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = []
    build = opendp_draws._within
    monkeypatch.setattr(
        opendp_draws, "_within", lambda *given: spent.append(Fraction(given[1])) or build(*given)
    )
    opendp_draws.laplace(1.0, epsilon, 1.0)
    assert spent[0] <= min(Fraction(epsilon), exact(epsilon))


def test_vetted_noise_is_never_too_small_and_never_beyond_double_precision() -> None:
    class Measurement:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def map(self, distance: float) -> float:
            return 2.0 * distance / self.scale * (1.0 + 1e-9)

    measurement = opendp_draws._within(Measurement, 0.3, 0.7, 2.0 / 0.3)
    assert measurement.map(0.7) <= 0.3
    assert measurement.scale == pytest.approx(2 * 0.7 / 0.3, rel=1e-8)
    with pytest.raises(InvalidInput, match="beyond double precision"):
        opendp_draws.laplace(0.0, 1e-300, 1e300)
