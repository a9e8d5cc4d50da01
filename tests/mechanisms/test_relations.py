"""What one row moves where the loss is known, and what draws cost where a row is added."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from mipselect import (
    ExponentialMechanism,
    Instance,
    Ledger,
    Mistakes,
    PermuteAndFlip,
    StableOptimum,
    TopR,
    top_supports,
)
from mipselect.errors import BudgetExceeded, InvalidInput, NotCertified, RelationMismatch
from mipselect.losses import checked_loss
from mipselect.mechanisms import NoisyMax
from mipselect.mechanisms.supports import law
from mipselect.mechanisms.supports.base import gap_in_one_direction
from mipselect.mechanisms.supports.law import complexity_prior, exact_rate
from mipselect.mechanisms.supports.propose_test_release import GapTest
from mipselect.selectors import ExponentialSelector
from tests.support.designs import random_instance
from tests.support.exact_audit import Data, levels_of, log_probabilities, pool_of, used
from tests.support.pairs import clear, grown, make, pairs

EPSILON = 1.0
TAU = 0.5


def exponential(data: Data) -> ExponentialMechanism:
    return ExponentialMechanism(data.instance, EPSILON)


def of_rows(n: int) -> Any:
    """What a rate is computed from, of n rows that nobody needs."""
    data, _ = pairs()[30]
    problem = data.instance.problem
    bounds = problem.bound("y_bound"), problem.prediction_bound
    return SimpleNamespace(
        n=n,
        problem=problem,
        support_size=problem.support_size,
        ridge=problem.ridge,
        sensitivity=problem.sensitivity(n),
        oscillation=problem.oscillation(n),
        value_error_of=lambda rows: problem.stated_loss.value_error(rows, *bounds),
    )


def share_of_half(epsilon: float, n: int, roundings: float) -> float:
    """Cost of a draw under add-remove in units of ε/2, errors of arithmetic included.

    A row moves n R by v = nw more for one support than for another; no two n R are more than nv
    apart, so that a c that is not the same for n and n + 1 moves weights too.
    """
    one, other = of_rows(n), of_rows(n + 1)
    prior = complexity_prior(10, (one.support_size,), 1.0, None)
    rates = [exact_rate(epsilon, cast(Instance, each), prior, roundings) for each in (one, other)]
    share, less = (
        2.0 * rate.rate * each.oscillation / epsilon
        for rate, each in zip(rates, (one, other), strict=True)
    )
    each = 8.0 * roundings
    errors = max(each * r.error / m.oscillation for r, m in zip(rates, (one, other), strict=True))
    logs = each * max(rate.rounding for rate in rates) / epsilon
    return share * (1.0 + errors) + n * (share - less) + logs


@pytest.mark.parametrize("roundings", [ExponentialMechanism._roundings, PermuteAndFlip._roundings])
@pytest.mark.parametrize("epsilon", [1e-7, 1.0, 1e4])
def test_rounding_is_paid_for_with_another_row_too(
    roundings: float, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*range(1, 50), 300, 4095, 8191, 8192, 8193, 100_000, 2**18 - 1, 2**22, 2**24 - 1]
    rows += [2**24, 2**24 + 1, 2**27, 2**31 - 2]
    for n in rows:
        # That c is a double is part of the errors of logs.
        assert share_of_half(epsilon, n, roundings) <= 1.0 + 2.0 * n * law.EPS
    monkeypatch.setattr(law, "with_another_row", lambda share, n: 2.0 * share(n))
    assert all(
        share_of_half(epsilon, n, roundings) > 1.0 + 2.0 * n * law.EPS for n in (20, 300, 100_000)
    )


@pytest.mark.parametrize("n", [1, 2, 37, 1023, 1024, 5000])
def test_what_is_reserved_is_the_sum_that_is_stated(n: int) -> None:
    """Exactly for a share that is constant, and at most what shares at powers of 2 make of it."""
    last = 2**13
    assert law.with_another_row(lambda _: 0.25, n, last) == pytest.approx(0.5, rel=1e-12)
    stated = 2.0 * n * (1.0 + sum(1.0 / (t - 1) for t in range(n + 1, last + 1)))
    assert stated * (1.0 - 1e-12) <= law.with_another_row(float, n, last) <= 2.0 * stated


def test_where_a_ridge_is_not_enough_for_any_n_nothing_is_stated_for_another_row() -> None:
    """A refusal for one row more would tell how many there are."""
    rng = np.random.default_rng(0)
    bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0}
    X = rng.uniform(-1.0, 1.0, (30, 4))
    for ridge, relations in ((1e-6, {"replace-one"}), (0.1, {"replace-one", "add-remove"})):
        instance = Instance(X, X[:, 0], support_size=2, ridge=ridge, **bounds)
        assert set(ExponentialMechanism(instance, 1.0).guarantees) == relations
        selector = ExponentialSelector(2, ridge=ridge, **bounds)
        assert set(selector.stated(instance.problem)) == relations
        assert set(selector.mechanism(X, X[:, 0]).guarantees) == relations


@pytest.mark.parametrize("late", [0.0, 1.0])
def test_top_r_pays_for_what_its_tolerance_leaves_open(late: float) -> None:
    def top_r(data: Data, _: int) -> TopR:
        return TopR(pool_of(data, 3, TAU, late=late), EPSILON)

    cost = top_r(grown()[0][0], 0).guarantees["add-remove"].epsilon
    assert cost == pytest.approx(0.5 * EPSILON * (1.0 + TAU / (1.0 + TAU)), rel=1e-12)
    assert used(top_r, grown(), "add-remove").loss <= 1.0


@pytest.mark.parametrize("tolerance", [1e-5, 0.5])
def test_the_test_of_a_gap_pays_for_what_its_tolerance_leaves_open(tolerance: float) -> None:
    """With another row n times the gap moves by nΔ, and its proven bound by nτ more."""
    gaps = 80.0, 80.0 + 1.0 + tolerance
    one, other = (GapTest(gap, 1.0, tolerance, EPSILON, 1e-3) for gap in gaps)
    cost = gap_in_one_direction(EPSILON, tolerance)
    assert one.log_fail - other.log_fail == pytest.approx(cost, rel=1e-9)
    assert cost > 0.5 * EPSILON


def test_a_ledger_pays_under_its_own_relation() -> None:
    data, _ = pairs()[30]
    ledger = Ledger(0.5, relation="add-remove")
    release = exponential(data).release(ledger)
    assert release.guarantee.relation == "add-remove"
    assert ledger.spent.epsilon == 0.5
    with pytest.raises(BudgetExceeded):
        exponential(data).release(ledger)
    assert exponential(data).release(Ledger(1.0)).guarantee.epsilon == 1.0
    with pytest.raises(RelationMismatch):
        NoisyMax([1.0, 2.0], 1.0).release(Ledger(1.0, relation="add-remove"))


def test_the_stable_optimum_is_told_where_it_is_stable() -> None:
    data, _ = clear()[0]
    for found in (pool_of(data, 3), levels_of(data)):
        mechanism = StableOptimum(found, 50.0, 1e-3, exponential(data))
        logs = log_probabilities(mechanism, data)
        assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-12)
        assert np.argmax(logs) == np.argmin(data.values)
        assert logs.max() > -1e-9
        assert mechanism.sample(3) == tuple(data.supports[np.argmin(data.values)])
        assert mechanism.guarantee.epsilon == 51.0
        assert mechanism.guarantee.delta == 1e-3
        assert not mechanism.guarantee.conditions
    unstable, _ = pairs()[30]
    mechanism = StableOptimum(pool_of(unstable, 3), 0.1, 1e-3, exponential(unstable))
    fallback = log_probabilities(exponential(unstable), unstable)
    assert np.abs(log_probabilities(mechanism, unstable) - fallback).max() < 0.02


def test_what_is_no_stable_optimum_is_refused() -> None:
    data, other = pairs()[30][0], pairs()[90][0]
    pool, fallback = pool_of(data, 3), exponential(data)
    with pytest.raises(InvalidInput, match="delta"):
        StableOptimum(pool, 1.0, 0.5, fallback)
    with pytest.raises(InvalidInput, match="same features"):
        StableOptimum(pool, 1.0, 1e-3, exponential(other))
    with pytest.raises(InvalidInput, match="conditions"):
        StableOptimum(pool, 1.0, 1e-3, Mistakes(levels_of(data), 1.0))
    with pytest.raises(InvalidInput, match="MistakeLevels or a SupportPool"):
        StableOptimum(data.instance, 1.0, 1e-3, fallback)
    wrong = replace(pool, rest_bound=-1.0)
    with pytest.raises(NotCertified):
        StableOptimum(wrong, 1.0, 1e-3, fallback)


def test_one_support_says_nothing_of_the_second_best() -> None:
    """Its rest bound has to reach the best value less τ only: where it stops is of no use."""
    instance = random_instance(3)
    pool = top_supports(instance, 2)
    fallback = ExponentialMechanism(instance, 1.0)
    StableOptimum(pool, 1.0, 1e-6, fallback)
    with pytest.raises(InvalidInput, match="mistake_levels or a pool of two or more"):
        StableOptimum(pool.first(1), 1.0, 1e-6, fallback)


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
    bounds = (enough + 0.5 * math.sqrt(2.0), enough + 1.2, 40.0)
    narrow, wanted, wide = (log_law(make(X, y, 2, 0.5, y_bound=b, loss=loss)) for b in bounds)
    assert narrow == pytest.approx(wanted, abs=1e-5)
    assert wide == pytest.approx(wanted, abs=1e-3)
    assert np.ptp(wanted) > 0.1
