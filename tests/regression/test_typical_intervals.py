"""The law of typical intervals: against a list written out, its privacy exactly, and its draws."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from mipselect.errors import InvalidInput
from mipselect.mechanisms.scores.utilities import spendable
from mipselect.regression import typical_intervals
from mipselect.regression.typical_intervals import (
    EXPONENTS,
    LOG_TOTAL,
    MANTISSAS,
    TOTAL,
    IntervalLaw,
    ListedInterval,
    occupied,
    publicly_drawn,
    weight_of_place,
    weight_of_size,
)

NAN, INF = math.nan, math.inf
SLACK = 1e-9

TABLES = [
    [0.0, 1.0, 2.0, 3.0, 50.0],
    [-1e6, 0.25, 0.25, 0.25, 7.0, 7.5, 1e12],
    [2005.0] * 9,
    [1e-300, -1e-300, 0.0, INF, -INF, NAN, 1e300],
    [float(v) for v in range(0, 40, 3)],
    [NAN, NAN, 4.0],
    [NAN],
    [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 2.0**62, -(2.0**-64)],
]


def intervals_of(*tables: list[float]) -> list[ListedInterval]:
    """All intervals that hold a value of one of some tables, and one that holds none."""
    found = {
        ListedInterval(size.mantissa, size.exponent, place)
        for table in tables
        for size in occupied(IntervalLaw(np.array(table), 1.0, 2).values)
        for place in size.places.tolist()
    }
    empty = ListedInterval(1.0, -64, 3)
    return [*found, empty, ListedInterval(1.5, 10, -12345)]


def test_the_weights_add_up() -> None:
    octave = [sum(map(weight_of_place, range(1 << m, 2 << m))) for m in range(10)]
    assert [2 * mass for mass in octave] == typical_intervals.OF_PLACES[1:11]
    assert weight_of_place(0) == typical_intervals.OF_PLACES[0]
    assert TOTAL < 2**63
    assert sum(typical_intervals.OF_PLACES) < 2**53
    assert math.log(TOTAL) == LOG_TOTAL


@pytest.mark.parametrize("table", TABLES)
def test_occupied_intervals_are_those_with_values(table: list[float]) -> None:
    there = [Fraction(v) for v in table if math.isfinite(v) and abs(v) < typical_intervals.BEYOND]
    values = IntervalLaw(np.array(table), 1.0, 2).values
    sizes = 0
    for size in occupied(values):
        sizes += 1
        h = Fraction(math.ldexp(size.mantissa, size.exponent))
        assert len(set(size.places.tolist())) == len(size.places)
        counted = Counter()
        for v in there:
            # 1.5 · 2^k is no power of two: its smallest cells are rounded, so only this one is.
            cell = math.floor(v / h) if size.mantissa == 1.0 else None
            if cell is not None:
                counted.update(p for p in (cell, cell + 1) if abs(p) < 2**21)
        if size.mantissa == 1.0:
            assert dict(zip(size.places.tolist(), size.inside.tolist(), strict=True)) == counted
        listed = [
            ListedInterval(size.mantissa, size.exponent, p).weight for p in size.places.tolist()
        ]
        assert listed == size.weights.tolist()
    assert sizes == len(MANTISSAS) * len(EXPONENTS)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("epsilon", "outside"), [(0.3, 2), (4.0, 6), (50.0, 1)])
def test_the_law_is_the_exponential_mechanism(
    table: list[float], epsilon: float, outside: int
) -> None:
    law = IntervalLaw(np.array(table), epsilon, outside)
    m = sum(not math.isnan(v) for v in table)
    held = held_by(law)

    def log_weight(interval: ListedInterval) -> float:
        inside = held.get(interval, 0)
        far = abs(20 * (m - inside) - outside * m)
        return math.log(interval.weight) - spendable(epsilon, LOG_TOTAL) * far / 40

    chosen = intervals_of(table)
    *some, empty, _ = chosen
    rest = TOTAL - sum(each.weight for each in some)
    terms = [*map(log_weight, some)]
    terms.append(log_weight(empty) - math.log(empty.weight) + math.log(rest))
    largest = max(terms)
    whole = largest + math.log(math.fsum(math.exp(t - largest) for t in terms))
    expected = np.array([*map(log_weight, chosen)]) - whole
    assert all_logs(law, chosen) == pytest.approx(expected, abs=1e-9)
    for interval in (chosen[0], chosen[len(chosen) // 2], empty):
        assert law.log_probability(interval) == pytest.approx(log_weight(interval) - whole)


def held_by(law: IntervalLaw) -> dict[ListedInterval, int]:
    """How many values the intervals hold that hold one."""
    return {
        ListedInterval(size.mantissa, size.exponent, place): inside
        for size in occupied(law.values)
        for place, inside in zip(size.places.tolist(), size.inside.tolist(), strict=True)
    }


def all_logs(law: IntervalLaw, intervals: list[ListedInterval]) -> np.ndarray:
    """`log_probability` of many intervals, with one look at the values."""
    held, (inside, weights) = held_by(law), law._levels
    levels = np.searchsorted(inside, [held.get(each, 0) for each in intervals])
    shares = np.array([each.weight for each in intervals]) / weights[levels]
    return law._law.log_probabilities()[levels] + np.log(shares)


HOSTILE = [0.0, 1.0, -5.0, 1e9, 1e-20, INF, NAN, 2.0**40, 2.0**40 + 1.0]


def neighbours(table: list[float]) -> list[list[float]]:
    """A table with one row more, with one removed, and with one replaced."""
    found = [[*table, value] for value in HOSTILE]
    for j in {0, len(table) - 1}:
        rest = table[:j] + table[j + 1 :]
        found += [rest, *([*rest, value] for value in HOSTILE)]
    return found


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("epsilon", "outside"), [(0.5, 2), (2.0, 6), (20.0, 19)])
def test_private_under_both_relations(table: list[float], epsilon: float, outside: int) -> None:
    one = IntervalLaw(np.array(table), epsilon, outside)
    for other in neighbours(table):
        two = IntervalLaw(np.array(other), epsilon, outside)
        chosen = intervals_of(table, other)
        losses = all_logs(one, chosen) - all_logs(two, chosen)
        assert np.abs(losses).max() <= epsilon + SLACK


def test_the_whole_of_epsilon_is_used() -> None:
    """An audit that could not fail would find less."""
    epsilon, at, beside = 1.0, ListedInterval(1.0, 0, 0), ListedInterval(1.0, 0, 40)
    values = [0.5] * 18 + [40.5] * 2
    one = IntervalLaw(np.array(values), epsilon, 2)
    two = IntervalLaw(np.array([*values[1:], 40.5]), epsilon, 2)
    found = one.log_probability(at) - two.log_probability(at)
    found -= one.log_probability(beside) - two.log_probability(beside)
    assert found == pytest.approx(epsilon, abs=1e-6)


def test_rounding_is_paid_for() -> None:
    """At a small ε that is a visible part of it."""
    epsilon, at, nowhere = 1e-6, ListedInterval(1.0, 0, 0), ListedInterval(1.0, 0, 40)
    law = IntervalLaw(np.full(1000, 0.5), epsilon, 2)
    found = law.log_probability(at) - law.log_probability(nowhere)
    found -= math.log(at.weight / nowhere.weight)
    expected = spendable(epsilon, LOG_TOTAL) * (18_000 - 2_000) / 40.0
    assert found == pytest.approx(expected, rel=1e-8)
    assert expected < (1.0 - 1e-7) * epsilon * 16_000 / 40.0


def test_no_log_weight_is_so_large_that_its_rounding_is_not_paid_for() -> None:
    """The loss to many digits, of weights as integers, where a log beyond the reach is 10⁵."""
    epsilon, m = 20.7, 16_100
    values = np.repeat([0.5, 40.5], [m * 9 // 10, m // 10])
    laws = [IntervalLaw(some, epsilon, 2) for some in (values, np.append(values[1:], 40.5))]
    with mpmath.workdps(40):
        for place in (0, 40):
            interval, logs = ListedInterval(1.0, 0, place), []
            for law in laws:
                inside, weights = law._levels
                level = int(np.searchsorted(inside, law._inside(interval)))
                part = mpmath.mpf(interval.weight * law._law.weight(level))
                logs.append(mpmath.log(part / (int(weights[level]) * law._law.total)))
            assert abs(logs[0] - logs[1]) <= epsilon


def test_draws_follow_the_law() -> None:
    values = np.array([3.0, 3.5, 4.0, 5.0, 5.5, 6.0, 6.5, 40.0] * 4)
    law, source, draws = IntervalLaw(values, 1.0, 3), random.Random(5), 500
    found = Counter(law.sample(source) for _ in range(draws))
    likely = sorted(found, key=lambda each: -law.log_probability(each))[:12]
    for interval in likely:
        p = math.exp(law.log_probability(interval))
        assert abs(found[interval] - draws * p) < 5.0 * math.sqrt(draws * p * (1.0 - p)) + 1.0
    empty = sum(n for each, n in found.items() if law._inside(each) == 0)
    p = math.exp(law._law.log_probability(0))
    assert law._levels[0][0] == 0
    assert abs(empty - draws * p) < 5.0 * math.sqrt(draws * p * (1.0 - p)) + 1.0


def test_the_public_draw_follows_the_weights() -> None:
    source, draws = random.Random(1), 20_000
    found = Counter()
    for _ in range(draws):
        interval = publicly_drawn(source)
        found["zero"] += interval.place == 0
        found["four"] += abs(interval.place) in range(4, 8)
        found["size"] += interval.exponent == 0
    sizes = sum(map(weight_of_size, EXPONENTS))
    shares = {
        "zero": (1 << 30) / sum(typical_intervals.OF_PLACES),
        "four": typical_intervals.OF_PLACES[3] / sum(typical_intervals.OF_PLACES),
        "size": weight_of_size(0) / sizes,
    }
    for name, p in shares.items():
        assert abs(found[name] - draws * p) < 5.0 * math.sqrt(draws * p * (1.0 - p)), name


def test_typical_intervals_hold_most_values_and_are_not_much_wider() -> None:
    rng = np.random.default_rng(0)
    columns = {
        "ages": rng.normal(50.0, 15.0, 5000),
        "years": rng.normal(2005.0, 4.0, 5000).round(),
        "small": -1e-7 * rng.lognormal(0.0, 1.0, 5000),
        "zero or one": rng.integers(0, 2, 5000).astype(float),
    }
    for (name, values), seed in product(columns.items(), range(5)):
        drawn = IntervalLaw(values, 0.2, 2).sample(random.Random(seed))
        low, high = drawn.centre - drawn.half_width, drawn.centre + drawn.half_width
        share = np.mean((values >= low) & (values < high))
        least = np.diff(np.quantile(values, [0.05, 0.95]))[0] / 2.0
        assert share > 0.8, name
        # No interval leaves out a tenth of two values: of those with both many weigh something.
        assert drawn.half_width < (64.0 if name == "zero or one" else 16.0) * least, name


@pytest.mark.parametrize(("epsilon", "outside"), [(0.0, 2), (1.0, 0), (1.0, 20), (-1.0, 3)])
def test_arguments_are_checked(epsilon: float, outside: int) -> None:
    with pytest.raises(InvalidInput):
        IntervalLaw(np.zeros(3), epsilon, outside)
