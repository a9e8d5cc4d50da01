"""Bounds on the integrals of permute-and-flip, against the same integrals in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from mipselect.mechanisms.supports.permute_and_flip import Masses

KNOWN = [0.0, 0.3, 1.0]


def integral(weights: list[Any], end: Any = 1) -> Any:
    """∫ Π (1 - x u) du over 0..end, as a polynomial, in the arithmetic of the weights."""
    powers: list[Any] = [1]
    for x in weights:
        powers = [a - x * b for a, b in zip([*powers, 0], [0, *powers], strict=True)]
    return sum(a * end ** (k + 1) / (k + 1) for k, a in enumerate(powers))


def fractions(*weights: float) -> list[Fraction]:
    return [Fraction(x) for x in weights]


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("weight", [1.0, 0.5, 0.25, 2.0**-6])
def test_equal_weights_attain_the_lower_bound(weight: float, known: float) -> None:
    for count in (1, 2, 3, 5, 8, 13, 40):
        mass = np.array([weight * count])
        found = Masses(0.0 * mass, mass, np.array([weight])).least_integral(known)
        exact = integral(fractions(known, *[weight] * count))
        assert Fraction(found) <= exact
        assert found == pytest.approx(float(exact), rel=1e-10)


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("end", [1.0, 0.5])
def test_many_tiny_weights_attain_the_upper_bound(end: float, known: float) -> None:
    """So many of 2^-70 that their product is e^-lu but for less than a double can tell."""
    for total in (1e-3, 0.1, 1.0, 7.0, 100.0, 1e5):
        mass = np.array([total])
        found = Masses(mass, mass, np.array([2.0**-70])).most_integral(known, end)
        with mpmath.workdps(50):
            fallen = mpmath.exp(-mpmath.mpf(total) * end)
            once = (1 - fallen) / total
            exact = once - known * (once - end * fallen) / total
            assert exact * (1 - mpmath.mpf(total) * 2.0**-70) <= found
        assert found == pytest.approx(float(exact), rel=1e-10)


@pytest.mark.parametrize("seed", range(60))
def test_a_support_taken_out_leaves_no_more_and_no_less_than_the_others(seed: int) -> None:
    """Also where next to nothing is left of a cell, whose sum is rounded."""
    rng = np.random.default_rng(seed)
    others = (10.0 ** -rng.uniform(0, (1.0, 20.0)[seed % 2], rng.integers(1, 6))).tolist()
    taken = float(rng.choice([1.0, rng.uniform(max(others), 1.0)]))
    mass = np.array([taken + sum(others)])
    one = np.array([1.0])
    left = Masses(mass, mass, one).without(0, taken, taken, max(others))
    assert Fraction(left.least_integral(taken)) <= integral(fractions(taken, *others))
    for end in (1.0, 0.3):
        exact = integral(fractions(taken, *others), Fraction(end))
        assert Fraction(left.most_integral(taken, end)) >= exact
