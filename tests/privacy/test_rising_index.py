"""Draws from cumulative weights in doubles, coins and exponentials: exact to all their digits."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from mipselect.privacy import randomness
from mipselect.privacy.randomness import rising_index, standard_exponential

TINY = 2.0**-1074

CUMULATIVE = [
    [1.0],
    [0.3],
    [TINY],
    [0.25, 1.0],
    [0.1, 0.1, 0.1, 0.7],
    [0.0, 0.0, 2.0**-1000, 1.0],
    [2.0**-1000, 2.0**-999, 1.0],
    [TINY, 1.0],
    [TINY, 2.0 * TINY, 3.0 * TINY],
    [TINY, 1e-310, 3e-309],
    [2.0**-1022 - TINY, 2.0**-1022],
    [1.0 - 2.0**-53, 1.0],
    [1.0, 1.0 + 2.0**-52],
    [1e-300, 0.1, 1e300],
    [1.0, np.nextafter(1e308, 0.0), 1e308],
    np.cumsum([1.0 / 3.0] * 9).tolist(),
    np.cumsum(10.0 ** np.arange(-40.0, 1.0)).tolist(),
]


class Bits(random.Random):
    """The digits of one point of [0, C[-1]): what `randrange` and `getrandbits` would have said."""

    def __init__(self, point: Fraction, top: Fraction) -> None:
        super().__init__()
        self.rest, self.top = point / top, top

    def randrange(self, stop: int) -> int:  # type: ignore[override]
        scaled = self.rest * stop
        answer = math.floor(scaled)
        self.rest = scaled - answer
        return answer

    def getrandbits(self, k: int) -> int:
        return self.randrange(1 << k)


@pytest.mark.parametrize("cumulative", CUMULATIVE)
def test_every_point_falls_between_the_numbers_where_it_lies(cumulative: list[float]) -> None:
    """On boundaries, within 2^-2000 of them, and in between: no digit is lost."""
    C = np.array(cumulative)
    exact = [Fraction(value) for value in cumulative]
    points = [Fraction(0)]
    for value in exact:
        for away in (Fraction(0), Fraction(1, 2**2000), Fraction(1, 2**60)):
            points += [value - away * exact[-1], value + away * exact[-1], value * Fraction(1, 3)]
    for point in points:
        if 0 <= point < exact[-1]:
            expected = next(k for k, value in enumerate(exact) if point < value)
            assert rising_index(C, Bits(point, exact[-1])) == expected


def test_first_numbers_are_drawn_below_the_largest() -> None:
    """Every first number that can be drawn, at a coarse top: exact shares of all of them."""

    class Fixed(random.Random):
        def __init__(self, answer: int) -> None:
            super().__init__()
            self.answer = answer

        def randrange(self, stop: int) -> int:  # type: ignore[override]
            assert stop == 7
            return self.answer

        def getrandbits(self, k: int) -> int:
            raise AssertionError("all boundaries are multiples of the step")

    C = np.array([2.0, 3.0, 7.0]) * TINY
    assert [rising_index(C, Fixed(k)) for k in range(7)] == [0, 0, 1, 2, 2, 2, 2]


def test_frequencies() -> None:
    C = np.cumsum([0.5, 1e-3, 0.2, 0.0, 3.0])
    source = random.Random(8)
    seen = np.bincount([rising_index(C, source) for _ in range(20_000)], minlength=5)
    assert seen[3] == 0
    kept = [0, 1, 2, 4]
    steps = np.diff(C, prepend=0.0)[kept]
    assert chisquare(seen[kept], 20_000 * steps / C[-1]).pvalue > 1e-4


@pytest.mark.parametrize("log", [0.0, -1e-18, -0.5, -499.0, -501.0, -744.0, -1e4, -1e6])
def test_no_coin_is_too_rare_for_a_double(log: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The probability is a product of normal doubles, each drawn exactly."""
    asked: list[float] = []

    def heads(cumulative: np.ndarray, _: object) -> int:
        asked.append(float(cumulative[0]))
        assert cumulative[1] == 1.0
        return 0

    monkeypatch.setattr(randomness, "rising_index", heads)
    assert randomness.coin(log, random.Random(0))
    assert min(asked) >= 2.0**-1022
    assert math.fsum(map(math.log, asked)) == pytest.approx(log, rel=1e-14, abs=1e-17)
    monkeypatch.setattr(randomness, "rising_index", lambda *_: 1)
    assert not randomness.coin(log, random.Random(0))


@pytest.mark.parametrize(
    "words",
    [[2**63], [2**56], [3, 2**63], [0, 0, 0, 2**57], [2**64 - 1, 2**64 - 1, 5], [2**64 - 2**54, 7]],
)
def test_an_exponential_has_all_its_digits(words: list[int]) -> None:
    """-ln U at the ends of U, where doubles of U would have few bits or none."""

    class Words(random.Random):
        def getrandbits(self, k: int) -> int:
            assert k == 64
            return words.pop(0)

    point, bits, words = 0, 64 * len(words), list(words)
    for word in words:
        point = (point << 64) + word
    U = Fraction(2 * point + 1, 2 << bits)
    expected = standard_exponential(Words())
    with localcontext() as context:
        context.prec = 120
        exact = -(Decimal(U.numerator) / Decimal(U.denominator)).ln()
        assert abs(Decimal(expected) / exact - 1) < Decimal(2) ** -50
    assert not words


def test_exponentials_follow_their_law() -> None:
    source = random.Random(3)
    drawn = [standard_exponential(source) for _ in range(20_000)]
    assert kstest(drawn, "expon").pvalue > 1e-6
