"""Exact draws: integers against exact arithmetic, extremes, and who may call a draw private."""

from __future__ import annotations

import math
import random
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from math import comb, isfinite, log

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from mipselect.errors import InvalidInput
from mipselect.privacy import randomness
from mipselect.privacy.randomness import (
    IntegerWeights,
    generator,
    log_ratio,
    rising_index,
    standard_exponential,
    uniform_subset,
)

HALF_ULP = Fraction(1, 2**51)


def weights_of(drawn: IntegerWeights) -> list[int]:
    return [drawn.weight(k) for k in range(len(drawn.mantissas))]


def exact_exp(value: float) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        context.Emin = -(10**9)
        return Fraction(Decimal(value).exp())


class Rejected(Exception):
    """The draw asked for more than its script."""


class Scripted(random.Random):
    """Answers a draw: a number below the total, then the place of a member and its bits."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        super().__init__()

    def randrange(self, stop: int) -> int:
        if not self.answers:
            raise Rejected
        answer = self.answers.pop(0)
        if answer >= stop:
            raise Rejected
        return answer

    def getrandbits(self, bits: int) -> int:
        return self.randrange(1 << bits)


def exact_law(weights: IntegerWeights) -> dict[int, Fraction]:
    """The probability of every index, over all numbers that a draw can be given."""
    reached = Counter(weights.draw(Scripted(number, 0, 0)) for number in range(weights.total))
    law: dict[int, Fraction] = {}
    for first, share in reached.items():
        number = next(n for n in range(weights.total) if weights.draw(Scripted(n, 0, 0)) == first)
        accepted: Counter[int] = Counter()
        for place in range(len(weights.mantissas)):
            for bits in range(2 << randomness.MANTISSA_BITS):
                try:
                    accepted[weights.draw(Scripted(number, place, bits))] += 1
                except Rejected:
                    continue
        for k, count in accepted.items():
            law[k] = Fraction(share * count, weights.total * accepted.total())
    return law


def test_every_integer_below_the_sum_belongs_to_its_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomness, "MANTISSA_BITS", 3)
    zeros = np.zeros(3, dtype=np.int32)
    weights = IntegerWeights(np.array([1, 2, 5]), zeros, {})
    assert weights.total == 8
    assert exact_law(weights) == {0: Fraction(1, 8), 1: Fraction(2, 8), 2: Fraction(5, 8)}
    for index, probability in enumerate((1 / 8, 2 / 8, 5 / 8)):
        assert weights.log_probability(index) == pytest.approx(log(probability), rel=1e-15)
        assert weights.log_probability(index, among=10**40) == pytest.approx(
            log(probability) - 40 * log(10), rel=1e-15
        )


@given(st.lists(st.floats(-3000.0, 3000.0), min_size=2, max_size=6))
@settings(max_examples=60)
def test_weights_are_exponentials_to_the_last_bits(logs: list[float]) -> None:
    """Nothing is cut off, however small a weight is against the largest."""
    weights = weights_of(IntegerWeights.from_logs(logs))
    relative = np.array(logs) - max(logs)
    reference = int(np.argmax(relative))
    for weight, value in zip(weights, relative, strict=True):
        ratio = Fraction(weight, weights[reference]) / exact_exp(value)
        assert abs(ratio - 1) <= 2 * HALF_ULP


@given(
    st.lists(
        st.tuples(st.floats(-2e6, 0.0), st.floats(-1.0, 1.0), st.integers(1, 10**30)),
        min_size=2,
        max_size=6,
    )
)
@settings(max_examples=60)
def test_a_change_of_the_logs_by_a_moves_no_probability_by_more_than_2a(
    entries: list[tuple[float, float, int]],
) -> None:
    """Pure ε survives the integers, also below 2^-128 and at the floor, where rounding could
    double a weight."""
    logs, moves, counts = (list(column) for column in zip(*entries, strict=True))
    for a in (1e-3, 1.0):
        moved = np.array(logs) + a * np.array(moves)
        one = IntegerWeights.from_logs(logs, dict(enumerate(counts)))
        two = IntegerWeights.from_logs(moved, dict(enumerate(counts)))
        for k in range(len(logs)):
            change = abs(one.log_probability(k) - two.log_probability(k))
            assert change <= 2 * a + 1e-8


def test_multiplicities_of_any_size_are_exact() -> None:
    many = comb(10_000, 50) - 7
    weights = weights_of(IntegerWeights.from_logs([0.0, -1.5, -1.5], {2: many}))
    assert weights[2] == many * weights[1]
    huge = IntegerWeights.from_logs([0.0, 0.0], {1: 10**30})
    assert huge.log_probability(0) == pytest.approx(-30 * log(10), rel=1e-14)
    assert huge.log_probability(1) == pytest.approx(-1e-30, rel=1e-12, abs=0.0)


def test_nothing_is_impossible_and_nothing_overflows() -> None:
    logs = [0.0, -50.0, -800.0, -1e5, -1e9, -1e300, -np.inf]
    weights = IntegerWeights.from_logs(logs, {1: 10**30})
    assert min(weights_of(weights)) >= 1
    found = [weights.log_probability(k) for k in range(len(logs))]
    assert all(isfinite(value) for value in found)
    scale = np.log1p(np.exp(-50 + 30 * np.log(10)))
    assert found[2] == pytest.approx(-800.0 - scale, rel=1e-13)
    assert found[3] == pytest.approx(-1e5 - scale, rel=1e-13)
    assert found[4] == found[5] == found[6] == pytest.approx(-(2**20) * log(2) - scale)
    same = IntegerWeights.from_logs([1e308, 1e308 - 1e293])
    assert isfinite(same.log_probability(1))


def test_the_floor_depends_on_the_number_of_weights_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomness, "MEMORY_BITS", 2000)
    for scale in (1.0, 1e6):
        weights = IntegerWeights.from_logs([0.0, -1e4 * scale, -1e4])
        assert weights.log_probability(1) == pytest.approx(-666 * log(2), rel=1e-14)
    above = IntegerWeights.from_logs([0.0, -400.0])
    assert above.log_probability(1) == pytest.approx(-400.0)


@pytest.mark.parametrize("logs", [[], [np.nan, 0.0], [np.inf, 0.0], [-np.inf], [[0.0]]])
def test_logs_that_are_no_logs_are_refused(logs: list[float]) -> None:
    with pytest.raises(InvalidInput):
        IntegerWeights.from_logs(logs)


@pytest.mark.parametrize("counts", [{1: 0}, {1: -1}, {2: 1}, {-1: 1}])
def test_multiplicities_must_be_positive(counts: dict[int, int]) -> None:
    with pytest.raises(InvalidInput):
        IntegerWeights.from_logs([0.0, 0.0], counts)


@given(st.integers(1, 10**200), st.integers(0, 10**200), st.integers(-200, 200))
@example(10**30, 1, 0)
def test_log_ratio_is_precise(part: int, rest: int, digits: int) -> None:
    """Next to zero and next to one alike."""
    part, rest = part * 10 ** max(digits, 0), rest * 10 ** max(-digits, 0)
    value = log_ratio(part, part + rest)
    with localcontext() as context:
        context.prec = 450
        expected = float((Decimal(part) / Decimal(part + rest)).ln())
    assert value == pytest.approx(expected, rel=1e-14, abs=0.0)


@pytest.mark.parametrize("seed", range(5))
def test_the_draw_is_exact(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As likely as its weight says is every index, alone in its bin or not."""
    monkeypatch.setattr(randomness, "MANTISSA_BITS", 3)
    rng = np.random.default_rng(seed)
    logs = rng.choice([0.0, -0.1, -0.4, -1.0, -2.5, -4.0], 20)
    weights = IntegerWeights.from_logs(logs, {3: 17, 11: 2, 12: 1})
    expected = [Fraction(weight, weights.total) for weight in weights_of(weights)]
    law = exact_law(weights)
    assert [law[k] for k in range(20)] == expected


def test_sizes_come_in_after_the_floor() -> None:
    size = comb(10_000, 50)
    weights = IntegerWeights.from_logs(
        [0.0, -1.0, -np.inf], log_sizes=np.log([1.0, 7.0, float(size)]), log_outcomes=log(size)
    )
    assert weights.log_probability(1) - weights.log_probability(0) == pytest.approx(log(7) - 1)
    floor = weights.log_probability(2) - log(size)
    assert floor - weights.log_probability(0) == pytest.approx(-(2**20) * log(2) - log(size))


def test_a_change_of_the_logs_moves_classes_of_any_size_as_little() -> None:
    rng = np.random.default_rng(3)
    sizes = rng.uniform(0.0, 500.0, 40)
    for scale in (1.0, 1e3, 1e6):
        logs = rng.normal(0.0, scale, 40)
        moved = logs + 0.5 * rng.uniform(-1.0, 1.0, 40)
        laws = [
            IntegerWeights.from_logs(x, log_sizes=sizes, log_outcomes=600.0).log_probabilities()
            for x in (logs, moved)
        ]
        assert np.abs(laws[0] - laws[1]).max() <= 1.0 + 1e-7


def test_subsets_are_uniform_and_sorted() -> None:
    source = random.Random(4)
    seen = Counter(uniform_subset(source, 5, 2) for _ in range(5000))
    assert set(seen) == set(combinations(range(5), 2))
    assert chisquare(list(seen.values())).pvalue > 1e-3
    assert uniform_subset(source, 5, 0) == ()
    assert uniform_subset(source, 3, 3) == (0, 1, 2)


def test_who_may_call_a_draw_private() -> None:
    class Loaded(random.SystemRandom):
        def getrandbits(self, k: int) -> int:
            return 0

    assert isinstance(generator(None)[0], random.SystemRandom)
    assert generator(None)[1]
    assert generator(random.SystemRandom())[1]
    loaded = random.SystemRandom()
    vars(loaded)["getrandbits"] = lambda bits: 0
    source, private = generator(loaded)
    assert private
    assert source.getrandbits(512) > 0
    for rng in (0, np.uint8(3), random.Random(1), np.random.default_rng(1), Loaded()):
        assert not generator(rng)[1]
    given_source = random.Random(1)
    assert generator(given_source)[0] is given_source


def test_seeds_are_reproducible() -> None:
    def bits(rng: object) -> int:
        return generator(rng)[0].getrandbits(128)

    assert bits(5) == bits(np.int64(5)) == bits(random.Random(5))
    assert bits(5) != bits(6)
    assert bits(np.random.default_rng(5)) == bits(np.random.default_rng(5))
    numpy_rng = np.random.default_rng(5)
    assert bits(numpy_rng) != bits(numpy_rng)
    assert bits(None) != bits(None)


@pytest.mark.parametrize("rng", ["5", 5.0, True, object(), np.random])
def test_what_is_no_generator_is_refused(rng: object) -> None:
    with pytest.raises(InvalidInput, match="rng"):
        generator(rng)


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
