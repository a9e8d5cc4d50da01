"""What one row moves where the loss is known: an interval that holds for all supports at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mipselect import ExponentialMechanism
from mipselect.errors import InvalidInput
from mipselect.losses import checked_loss
from tests.support.exact_audit import Data, log_probabilities
from tests.support.pairs import make


def brute_force(name: str, y_bound: float, u_bound: float) -> float:
    """The largest range of ℓ(y, ·) over a grid of targets, with its corners."""
    loss = checked_loss(name)
    corners = [0.0, u_bound, min(u_bound, y_bound), y_bound, max(y_bound - u_bound, 0.0)]
    sides = np.unique(np.clip([*corners, *np.linspace(0.0, y_bound, 41)], 0.0, y_bound))
    targets = [-1.0, 1.0] if name == "hinge" else [*sides, *-sides]
    largest = 0.0
    for y in targets:
        u = np.unique([*np.linspace(-u_bound, u_bound, 401), np.clip(y, -u_bound, u_bound)])
        values = loss_at(loss, float(y), u)
        largest = max(largest, float(np.ptp(values)))
    return largest


def loss_at(loss: Any, y: float, u: np.ndarray) -> np.ndarray:
    """ℓ(y, u), from the formula of the manual."""
    error = np.abs(y - u)
    match loss.name.partition("(")[0]:
        case "squared":
            return 0.5 * error**2
        case "huber":
            kappa = loss.threshold
            return np.where(error <= kappa, 0.5 * error**2, kappa * error - 0.5 * kappa**2)
        case "quantile":
            return np.maximum(loss.level * (y - u), (loss.level - 1.0) * (y - u))
        case _:
            return np.maximum(0.0, 1.0 - y * u)


@pytest.mark.parametrize("name", ["squared", "huber(0.2)", "huber(3.0)", "quantile(0.3)", "hinge"])
def test_the_formulas_of_the_losses(name: str) -> None:
    """Never below what a grid finds, and reached by it."""
    loss = checked_loss(name)
    for y_bound in (0.01, 0.3, 1.0, 1.4, 20.0, 1e3):
        for u_bound in (0.01, 0.3, 0.75, 1.0, 2.5, 50.0):
            found, stated = brute_force(name, y_bound, u_bound), loss.oscillation(y_bound, u_bound)
            assert found <= stated * (1.0 + 1e-9) + 1e-9 * y_bound
            assert found >= stated * (1.0 - 1e-6) - 1e-9 * y_bound
            assert stated <= loss.spread(y_bound, u_bound) * (1.0 + 1e-12)


@pytest.mark.parametrize(("name", "slope"), [("huber(0.2)", 0.2), ("quantile(0.9)", 0.9)])
def test_a_range_costs_a_loss_with_slopes_nothing(name: str, slope: float) -> None:
    loss = checked_loss(name)
    for y_bound in (10.0, 1e6, 1e20):
        assert loss.oscillation(y_bound, 0.75) == pytest.approx(2.0 * slope * 0.75)


def log_law(data: Data) -> np.ndarray:
    return log_probabilities(ExponentialMechanism(data.instance, 2.0), data)


@pytest.mark.parametrize(("loss", "enough"), [("huber(0.2)", 0.2), ("quantile(0.9)", 0.0)])
def test_targets_beyond_all_predictions_change_no_probability(loss: str, enough: float) -> None:
    """ℓ(y, u) - ℓ(y', u) is the same for all |u| ≤ U where y and y' lie beyond U + κ."""
    rng = np.random.default_rng(12)
    X = rng.uniform(-1.0, 1.0, (40, 6))
    y = 30.0 * (X[:, 0] + rng.standard_cauchy(40))
    unbounded = make(X, y, 2, 0.5, y_bound=math.inf, loss=loss)
    assert unbounded.instance.y_bound == pytest.approx(enough + 0.5 * math.sqrt(6.0))
    clipped, wide = (make(X, y, 2, 0.5, y_bound=b, loss=loss) for b in (enough + 0.72, 40.0))
    wanted = log_law(unbounded)
    assert log_law(clipped) == pytest.approx(wanted, abs=1e-5)
    assert log_law(wide) == pytest.approx(wanted, abs=1e-3)
    assert np.ptp(wanted) > 0.1
    # Of other sizes too, by the same rows.
    larger = [each.instance.with_support_size(4) for each in (unbounded, wide)]
    one, other = (log_law(Data(instance)) for instance in larger)
    assert one == pytest.approx(other, abs=1e-3)


def test_the_squared_loss_needs_a_range() -> None:
    with pytest.raises(InvalidInput, match="y_bound"):
        make(np.ones((4, 2)), np.arange(4.0), 1, 1.0, y_bound=math.inf)
