"""Exact laws of the noise and of the split, against brute force."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from mipselect.quality.draw import (
    UNIT,
    chosen,
    discrete_laplace,
    held_out,
    in_units,
    noisy,
)
from tests.support.discrete_laplace import discrete_laplace_log_probability


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 4), Fraction(5)])
def test_discrete_laplace_has_its_law(scale: Fraction) -> None:
    source = random.Random(1)
    drawn = Counter(discrete_laplace(scale, source) for _ in range(20_000))
    inside = range(-6, 7)
    laws = [math.exp(discrete_laplace_log_probability(k, float(scale))) for k in inside]
    for k, law in zip(inside, laws, strict=True):
        assert drawn[k] / 20_000 == pytest.approx(law, abs=5.0 * math.sqrt(law / 20_000) + 1e-9)


def test_contributions_are_integers_between_zero_and_one_unit() -> None:
    values = np.array([-1.0, 0.25, 1.0, 7.0, np.nan, np.inf])
    assert in_units(values) == [UNIT // 4 + 3 * UNIT]
    assert in_units(np.empty((0, 2))) == [0, 0]


@pytest.mark.parametrize("moves", [1, 2])
def test_noisy_counts_keep_epsilon_exactly(moves: int) -> None:
    """The loss of counts that move by the sensitivity, in one entry or in two, is ε at most."""
    epsilon = 0.7
    scale = moves / epsilon
    outcomes = range(-40, 41)
    for step in ((moves, 0), (1, moves - 1)):
        losses = [
            sum(
                discrete_laplace_log_probability(k, scale)
                - discrete_laplace_log_probability(k - s, scale)
                for k, s in zip(pair, step, strict=True)
            )
            for pair in ((a, b) for a in outcomes for b in outcomes)
        ]
        assert max(losses) == pytest.approx(epsilon)
        assert min(losses) == pytest.approx(-epsilon)


def test_noise_is_of_the_scale_that_is_audited() -> None:
    source, epsilon = random.Random(3), Fraction(1, 2)
    values = np.array(noisy([0] * 4000, 3, epsilon, source), dtype=float)
    scale = 6.0
    expected = 2.0 * scale**2
    assert values.var() == pytest.approx(expected, rel=0.15)


def test_a_choice_prefers_small_distances() -> None:
    source = random.Random(0)
    drawn = Counter(chosen([0, 4, 8], 2, Fraction(1), source) for _ in range(6000))
    # Permute-and-flip of utilities 0, -1 and -2.
    p, q = math.exp(-1.0), math.exp(-2.0)
    best = 1.0 - p / 2.0 - q / 2.0 + p * q / 3.0
    assert drawn[0] / 6000 == pytest.approx(best, abs=0.02)


def test_the_split_is_uniform_where_n_is_public() -> None:
    source = random.Random(0)
    drawn = Counter(
        tuple(np.flatnonzero(held_out(5, 0.4, "replace-one", source)).tolist())
        for _ in range(10_000)
    )
    assert set(drawn) == set(combinations(range(5), 2))
    assert chisquare(list(drawn.values())).pvalue > 1e-4


def test_the_split_is_independent_where_n_is_private() -> None:
    source = random.Random(0)
    drawn = Counter(tuple(held_out(3, 0.25, "add-remove", source).tolist()) for _ in range(20_000))
    laws = {which: 0.25 ** sum(which) * 0.75 ** (3 - sum(which)) for which in drawn}
    assert len(drawn) == 8
    expected = [20_000 * laws[which] for which in drawn]
    assert chisquare(list(drawn.values()), expected).pvalue > 1e-4


@pytest.mark.parametrize("units", [0, 1, 2, 3, 1000])
def test_some_rows_stay_on_both_sides(units: int) -> None:
    apart = held_out(units, 0.001, "replace-one", random.Random(0))
    assert apart.sum() == (units > 1)
