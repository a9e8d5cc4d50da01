"""The curve δ(ε) of normal noise against 60 digits and more, and μ from it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from mipselect.privacy.gaussian_curve import gaussian_delta
from mipselect.regression.noise import largest_mu
from tests.support.hockey_stick import log_gaussian_delta

EPSILONS = [1e-12, 1e-9, 3e-8, 1e-8, 1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0, 3.0, 8.0, 20.0]
DELTAS = [1e-12, 3e-12, 1e-11, 1e-10, 1e-9, 3e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05,
          0.1, 0.3, 0.5]  # fmt: skip
EXTREMES = [
    (epsilon, delta)
    for epsilon in (5e-324, 1e-100, 1e-15, 100.0, 1e3, 1e6)
    for delta in (1e-100, 1e-12, 0.5, 1.0 - 2.0**-53)
] + [(5e-324, 5e-324), (1e-308, 1e-308), (1.0, 5e-324), (1e3, 1e-300)]


def exact_delta(mu: Any, epsilon: Any) -> Any:
    """Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2), to the digits in use."""
    m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)


def check(epsilon: float, delta: float, digits: int) -> None:
    mu = largest_mu(epsilon, delta)
    with mpmath.workdps(digits):
        assert exact_delta(mu, epsilon) <= delta
        above = max(mu * (1 + mpmath.mpf("1e-9")), mpmath.mpf(math.nextafter(mu, math.inf)))
        assert exact_delta(above, epsilon) > delta


def test_mu_is_rounded_down_and_by_little() -> None:
    pairs = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]
    assert len(pairs) >= 210
    for epsilon, delta in pairs:
        check(epsilon, delta, 60)


@pytest.mark.parametrize(("epsilon", "delta"), EXTREMES)
def test_mu_at_the_ends_of_the_floats(epsilon: float, delta: float) -> None:
    check(epsilon, delta, 800)


def test_bounds_hold_the_curve_and_are_near_each_other() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        mu = float(10.0 ** rng.uniform(-12.0, 1.5))
        epsilon = float(rng.choice([0.0, mu * mu, mu * 10.0 ** rng.uniform(-12.0, 1.3)]))
        low, high = gaussian_delta(mu, epsilon)
        assert 0 < low <= high <= low * (1 + Decimal("1e-17"))
        with mpmath.workdps(300):
            assert mpmath.mpf(str(low)) <= exact_delta(mu, epsilon) <= mpmath.mpf(str(high))


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e-9, 1.0, 1e9, 1e154, 1.7e308])
def test_bounds_of_any_doubles_come_to_an_end(size: float) -> None:
    for mu in (5e-324, 1e-9, 1.0, 1e154, 1.7e308):
        low, high = gaussian_delta(mu, size)
        assert 0 <= low <= high <= 1
        assert high > 0, "δ is positive, though no decimal may express it"


def test_the_logarithm_for_the_audit_is_not_below_the_curve() -> None:
    for mu in (1e-11, 1e-6, 1e-3, 0.3, 2.0, 40.0):
        for epsilon in (0.0, 1e-12, 1e-7, 0.2, 3.0):
            if epsilon / mu > 1e4:
                continue
            found = log_gaussian_delta(mu, epsilon)
            with mpmath.workdps(200):
                exact = mpmath.log(exact_delta(mu, epsilon)) if epsilon / mu < 20 else found
                assert exact <= found <= exact + 1e-15 * max(1.0, abs(exact))


def test_a_printed_budget_is_kept_as_well() -> None:
    """A ledger reads the decimals: 1e-6 is above the double of that name, 0.1 below it.

    Of the last four another μ would follow from the doubles alone.
    """
    plain = ((0.1, 1e-6), (0.3, 1e-7), (3e-8, 1e-9), (1.1, 0.1))
    for epsilon, delta in (*plain, (0.1, 3e-6), (0.05, 1e-6), (1.1, 1e-6), (5.7, 0.2)):
        mu = largest_mu(epsilon, delta)
        with mpmath.workdps(60):
            for number in (Fraction(repr(delta)), Fraction(delta)):
                for budget in (repr(epsilon), epsilon):
                    stated = mpmath.mpf(number.numerator) / number.denominator
                    assert exact_delta(mu, budget) <= stated
