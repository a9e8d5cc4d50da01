from __future__ import annotations

import math
from dataclasses import replace
from threading import Thread

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mipselect.errors import BudgetExceeded, InvalidInput
from mipselect.mechanisms import NoisyMax
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.accountant import statements
from mipselect.privacy.concentrated import (
    bounded_range_rho,
    largest_pure_epsilon,
    pure_rho,
    rho_epsilon,
)
from mipselect.privacy.decimals import exact


def ledger_with(guarantees: list[Guarantee], delta: float = 0.5) -> Ledger:
    ledger = Ledger(1e9, delta)
    for guarantee in guarantees:
        ledger.spend(guarantee)
    return ledger


def by_way(ledger: Ledger, delta: float = 1e-6) -> dict:
    return {found.way: found for found in statements(ledger.entries, delta)}


def test_sums_and_what_follows_from_no_rho() -> None:
    mixed = [Guarantee(1e-5)] * 3 + [Guarantee(0.3, 1e-7), Guarantee(2.0)]
    found = by_way(ledger_with(mixed))
    assert found["sum"].epsilon == 2.30003
    assert found["rho"].epsilon is None
    for delta in (0.0, 1.0, -1e-9, "1"):
        with pytest.raises(InvalidInput, match="delta"):
            statements((), delta)


@pytest.mark.parametrize("seed", range(40))
def test_the_conversion_of_rho_is_not_below_the_best_order(seed: int) -> None:
    """The least over all α, to 40 digits, for budgets of any size."""
    rng = np.random.default_rng(seed)
    rho, delta = 10.0 ** rng.uniform(-12, 4), 10.0 ** rng.uniform(-300, -0.3)
    middle = 0.5 * (math.log(-math.log(delta)) - math.log(rho))
    with mpmath.workdps(40):
        low, high = mpmath.exp(middle - 12), mpmath.exp(middle + 12)
        while high - low > 1e-30 * low:
            # The slope in α, times (α-1)², rises.
            excess = mpmath.sqrt(low * high)
            rises = rho * excess**2 + mpmath.log1p(excess) + mpmath.log(delta) > 0
            low, high = (low, excess) if rises else (excess, high)
        least = (1 + excess) * rho + mpmath.log(excess / (1 + excess))
        least -= mpmath.log((1 + excess) * delta) / excess
        assert least <= rho_epsilon(rho, delta) <= least + 1e-9 * abs(least)


def test_the_conversion_of_rho_holds_for_a_gaussian() -> None:
    """Noise of deviation σ has ρ = 1/2σ² exactly and a δ in closed form (Balle and Wang 2018)."""
    for sigma in (0.5, 1.0, 5.0, 50.0):
        for delta in (1e-2, 1e-6, 1e-10):
            epsilon = rho_epsilon(1 / (2 * sigma**2), delta)
            upper = math.erfc((epsilon * sigma - 1 / (2 * sigma)) / math.sqrt(2)) / 2
            lower = math.erfc((epsilon * sigma + 1 / (2 * sigma)) / math.sqrt(2)) / 2
            true = upper - math.exp(epsilon) * lower
            assert 0.0 < true <= delta
    assert rho_epsilon(0.0, 1e-6) == rho_epsilon(5e-324, 1e-6) == 0.0
    assert rho_epsilon(1e300, 1e-300) >= 1e300


@example(5.3896842239067616e-160)
@given(st.floats(1e-300, 1e100))
def test_rho_of_an_epsilon_is_rounded_up_and_back_down(epsilon: float) -> None:
    assert exact(pure_rho(epsilon)) >= exact(epsilon) ** 2 / 2
    assert exact(bounded_range_rho(epsilon, 3)) >= exact(epsilon) ** 2 / 24
    rho = exact(pure_rho(epsilon))
    found = largest_pure_epsilon(rho)
    assert exact(found) ** 2 / 2 <= rho
    if epsilon > 1e-150:
        assert found >= epsilon * (1 - 1e-12)


def test_guarantees_carry_rho() -> None:
    one = Guarantee(0.1, rho=bounded_range_rho(0.1))
    assert one.rho == 0.00125
    assert one.times(50).rho == 0.0625
    assert (one + one).rho == 0.0025
    assert (one + Guarantee(1.0)).rho == 0.50125
    assert (one + Guarantee(1.0, 1e-9)).rho is None
    assert (Guarantee(1.0) + Guarantee(1.0)).rho is None
    assert replace(one, private=False).rho == one.rho
    assert Guarantee(0.1, 0.0, "add-remove", rho=0.01).to("replace-one").rho == 0.04
    assert one == Guarantee(0.1)
    assert one.to_dict() == {**Guarantee(0.1).to_dict(), "rho": 0.00125}
    assert Guarantee(0.1, 1e-6).concentrated is None
    assert Guarantee(0.1, 1e-6, rho=0.3).concentrated == 0.3
    assert Guarantee(2.0).concentrated == Guarantee(2.0, rho=7.0).concentrated == 2.0
    assert Guarantee(1e200).concentrated is bounded_range_rho(1e200) is None
    assert Guarantee(1e200, rho=1.0).concentrated == 1.0
    assert (one + Guarantee(1e200)).rho is None
    for wrong in (-1.0, math.inf, math.nan, "1"):
        with pytest.raises(InvalidInput, match="rho"):
            Guarantee(1.0, rho=wrong)


def test_a_ledger_that_counts_rho() -> None:
    ledger = Ledger(rho=6.25, delta=1e-6)
    assert ledger.currency == "rho"
    assert ledger.budget.epsilon == pytest.approx(23.697, abs=1e-3)
    for _ in range(50):
        NoisyMax([1.0, 0.0], 1.0, noise="gumbel").release(ledger)
    assert ledger.spent == ledger.budget
    assert ledger.remaining.rho == 0.0
    with pytest.raises(BudgetExceeded, match=r"asked for ρ = 1\.25e-05, but only ρ = 0\.0"):
        NoisyMax([1.0, 0.0], 0.01, noise="gumbel").release(ledger)
    pure = Ledger(rho=0.5, delta=1e-6)
    assert pure.remaining == Guarantee(1.0)
    pure.spend(Guarantee(0.6))
    pure.spend(pure.remaining)
    assert pure.remaining.rho == 0.0
    with pytest.raises(BudgetExceeded):
        Ledger(rho=1e300, delta=0.1).spend(Guarantee(1e200))
    with pytest.raises(BudgetExceeded, match="none follows"):
        Ledger(rho=1.0, delta=0.1).spend(Guarantee(0.1, 1e-3))


def test_a_rho_beyond_all_floats_is_none() -> None:
    """Each of two draws states one; their sum did not fit, and the ledger could not be read."""
    ledger = Ledger(1e300)
    for _ in range(2):
        ledger.spend(Guarantee(1.5e154))
    assert ledger.spent.epsilon == 3e154
    assert ledger.spent.rho is None
    assert statements(ledger.entries, delta=1e-6)[-1].epsilon is None


def test_notes_are_public_settings() -> None:
    ledger = Ledger(1.0)
    noting = ledger.noting({"epsilon": 0.1, "sizes": [1, 2]})
    noting.spend(Guarantee(0.1), "x")
    assert ledger.entries[0].asked == {"epsilon": 0.1, "sizes": [1, 2]}
    for wrong in ({"x": math.nan}, {"x": object()}, {"x": "y" * 30_000}, 5):
        with pytest.raises(InvalidInput, match="settings to note"):
            ledger.noting(wrong)


def test_reading_while_others_charge() -> None:
    """Sums are read under the same lock as they are written."""
    ledger = Ledger(1e6)
    stop: list[bool] = []

    def charge() -> None:
        for _ in range(2000):
            ledger.spend(Guarantee(0.1))
        stop.append(True)

    thread = Thread(target=charge)
    thread.start()
    while not stop:
        spent = ledger.spent
        assert spent.rho == pytest.approx(0.05 * spent.epsilon)
    thread.join()
