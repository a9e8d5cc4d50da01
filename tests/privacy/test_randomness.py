"""Exact draws: integers against exact arithmetic, extremes, and who may call a draw private."""

from __future__ import annotations

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
from scipy.stats import chisquare

from mipselect.errors import InvalidInput
from mipselect.privacy.randomness import IntegerWeights, generator, log_ratio, uniform_subset

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
            for bits in range(2 << weights.mantissa_bits):
                try:
                    accepted[weights.draw(Scripted(number, place, bits))] += 1
                except Rejected:
                    continue
        for k, count in accepted.items():
            law[k] = Fraction(share * count, weights.total * accepted.total())
    return law


def test_every_integer_below_the_sum_belongs_to_its_index() -> None:
    zeros = np.zeros(3, dtype=np.int32)
    weights = IntegerWeights(np.array([1, 2, 5]), zeros, {}, mantissa_bits=3)
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


def test_the_floor_depends_on_the_number_of_weights_alone() -> None:
    for scale in (1.0, 1e6):
        weights = IntegerWeights.from_logs([0.0, -1e4 * scale, -1e4], memory_bits=2000)
        assert weights.log_probability(1) == pytest.approx(-666 * log(2), rel=1e-14)
    above = IntegerWeights.from_logs([0.0, -400.0], memory_bits=2000)
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
def test_the_draw_is_exact(seed: int) -> None:
    """As likely as its weight says is every index, alone in its bin or not."""
    rng = np.random.default_rng(seed)
    logs = rng.choice([0.0, -0.1, -0.4, -1.0, -2.5, -4.0], 20)
    weights = IntegerWeights.from_logs(logs, {3: 17, 11: 2, 12: 1}, mantissa_bits=3)
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
