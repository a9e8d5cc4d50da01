"""What one row moves where the loss is known: an interval that holds for all supports at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mipselect import ExponentialMechanism
from mipselect.errors import InvalidInput
from mipselect.losses import checked_loss
from mipselect.mechanisms.supports import exact
from tests.support.exact_audit import (
    Data,
    largest_loss,
    log_probabilities,
    make,
    neighbours,
    replaced,
    with_row,
)

WIDE = [
    ("squared", 0.3), ("squared", 5.0), ("squared", 1e6), ("huber(0.2)", 0.5), ("huber(0.2)", 40.0),
    ("huber(1.0)", math.inf), ("quantile(0.5)", 3.0), ("quantile(0.9)", math.inf), ("hinge", 1.0),
]  # fmt: skip
"""Losses, and ranges of the target from narrow to none."""

Pair = tuple[Data, Data]


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


def table(rng: np.random.Generator, k: int, loss: str, y_bound: float) -> Data:
    n, p, s = [(8, 5, 2), (25, 5, 2), (60, 6, 3), (6, 5, 1)][k % 4]
    X = rng.uniform(-1.0, 1.0, (n, p)) if k % 3 else rng.choice([-1.0, 0.0, 1.0], (n, p))
    if k % 3 == 0:
        X[:, 1] = X[:, 0]
    y = X[:, 0] + 0.7 * X[:, 3] + rng.standard_cauchy(n)
    largest = min(y_bound, 1e7)
    y = np.sign(y) if loss == "hinge" else np.clip(y, -1.0, 1.0) * largest ** (k % 2)
    y[:2] = -largest, largest
    return make(
        X, y, s, [0.3, 1.0][k % 2], y_bound=y_bound, ridge=[1e-3, 1.0][k // 2 % 2], loss=loss
    )


def mirrored(p: int, n: int, loss: str, y_bound: float) -> Pair:
    """All features predict y alike; a row is right about one of them only, then the reverse."""
    y = np.random.default_rng(5).choice([-1.0, 1.0], n)
    y[:4] = 1.0, 1.0, -1.0, -1.0
    X = np.repeat(y[:, None], p, axis=1)
    X[0] = -1.0
    X[0, 0] = 1.0
    largest = min(y_bound, 1e7)
    data = make(X, y * largest, 1, 0.15, y_bound=y_bound, ridge=1e-3, loss=loss)
    return data, replaced(data, 0, -X[0], largest)


@cache
def pairs(loss: str, y_bound: float) -> tuple[Pair, ...]:
    def found() -> Iterator[Pair]:
        rng = np.random.default_rng(10)
        for k in range(8):
            data = table(rng, k, loss, y_bound)
            for other in neighbours(data, 10, seed=k):
                if loss != "hinge" or len(np.unique(other.instance.y)) == 2:
                    yield data, other
        for p, n in ((8, 12), (20, 30)):
            yield mirrored(p, n, loss, y_bound)

    return tuple(found())


def log_law(data: Data, epsilon: float) -> np.ndarray:
    return log_probabilities(ExponentialMechanism(data.instance, epsilon), data)


def largest(loss: str, y_bound: float, epsilon: float) -> float:
    return largest_loss(lambda data: log_law(data, epsilon), pairs(loss, y_bound))


@pytest.mark.parametrize(("loss", "y_bound"), WIDE)
def test_draws_are_private_and_use_what_they_pay(loss: str, y_bound: float) -> None:
    for epsilon in (0.5, 3.0):
        assert largest(loss, y_bound, epsilon) <= epsilon
    assert largest(loss, y_bound, 0.5) > 0.8 * 0.5


@pytest.mark.parametrize(("loss", "y_bound"), WIDE)
def test_half_of_what_is_paid_is_not_private(
    loss: str, y_bound: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = exact.exact_rate

    def twice(*given: Any) -> Any:
        rate = right(*given)
        return replace(rate, rate=2.0 * rate.rate)

    monkeypatch.setattr(exact, "exact_rate", twice)
    assert largest(loss, y_bound, 0.5) > 0.5


@pytest.mark.parametrize(("loss", "y_bound"), WIDE)
def test_a_further_row_costs_half(loss: str, y_bound: float) -> None:
    rng, audited = np.random.default_rng(11), []
    for k in range(6):
        data = table(rng, k, loss, y_bound)
        for j in range(8):
            x = rng.choice([-1.0, 1.0], data.instance.p)
            audited.append((data, with_row(data, x, min(y_bound, 1e7) * (-1.0) ** j)))
    for p, n in ((8, 12), (20, 30)):
        data, _ = mirrored(p, n, loss, y_bound)
        for x in (2.0 * np.eye(p)[0] - 1.0, 1.0 - 2.0 * np.eye(p)[0]):
            audited.append((data, with_row(data, x, min(y_bound, 1e7))))
    assert largest_loss(lambda data: log_law(data, 2.0), audited) <= 1.0


@pytest.mark.parametrize(("loss", "enough"), [("huber(0.2)", 0.2), ("quantile(0.9)", 0.0)])
def test_targets_beyond_all_predictions_change_no_probability(loss: str, enough: float) -> None:
    """ℓ(y, u) - ℓ(y', u) is the same for all |u| ≤ U where y and y' lie beyond U + κ."""
    rng = np.random.default_rng(12)
    X = rng.uniform(-1.0, 1.0, (40, 6))
    y = 30.0 * (X[:, 0] + rng.standard_cauchy(40))
    unbounded = make(X, y, 2, 0.5, y_bound=math.inf, loss=loss)
    assert unbounded.instance.y_bound == pytest.approx(enough + 0.5 * math.sqrt(6.0))
    clipped, wide = (make(X, y, 2, 0.5, y_bound=b, loss=loss) for b in (enough + 0.72, 40.0))
    wanted = log_law(unbounded, 2.0)
    assert log_law(clipped, 2.0) == pytest.approx(wanted, abs=1e-5)
    assert log_law(wide, 2.0) == pytest.approx(wanted, abs=1e-3)
    assert np.ptp(wanted) > 0.1
    # Of other sizes too, by the same rows.
    larger = [each.instance.with_support_size(4) for each in (unbounded, wide)]
    one, other = (log_law(Data(instance), 2.0) for instance in larger)
    assert one == pytest.approx(other, abs=1e-3)


def test_the_squared_loss_needs_a_range() -> None:
    with pytest.raises(InvalidInput, match="y_bound"):
        make(np.ones((4, 2)), np.arange(4.0), 1, 1.0, y_bound=math.inf)
