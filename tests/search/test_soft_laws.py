"""Laws of subsets and pairs against enumeration, with logs that span thousands."""

from __future__ import annotations

import itertools
import math
import random
from functools import partial

import numpy as np
import pytest

from mipselect.privacy.randomness import rising_index
from mipselect.search.soft.polynomials import SEGMENT, log_cumulative_sum, subset_law

LONG = np.longdouble


def spreads(L: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    ties = np.repeat(rng.standard_normal((L + 1) // 2), 2)[:L]
    return [
        np.zeros(L),
        rng.standard_normal(L),
        -1e6 + rng.standard_normal(L),
        3000.0 * rng.standard_normal(L),
        1e6 * rng.standard_normal(L),
        SEGMENT * np.arange(L),
        np.where(np.arange(L) == L // 2, 5000.0, -5000.0),
        ties,
    ]


def exact_logs(weights: np.ndarray, m: int) -> dict[tuple[int, ...], LONG]:
    logs = {
        T: sum((LONG(weights[j]) for j in T), LONG(0))
        for T in itertools.combinations(range(len(weights)), m)
    }
    return logs


def log_total(logs: list[LONG]) -> LONG:
    top = max(logs)
    return top + np.log(sum(np.exp(log - top) for log in logs))


@pytest.mark.parametrize("m", [0, 1, 2, 5, 8, 9])
def test_subset_laws_are_elementary_symmetric(m: int) -> None:
    for weights in spreads(9, m):
        law = subset_law(weights, m)
        exact = exact_logs(weights, m)
        total = log_total(list(exact.values()))
        scale = 1.0 + float(np.abs(weights).max())
        assert abs(float(LONG(law.log_total) - total)) <= 1e-14 * scale * (m + 1)
        assert law.rounding <= 1e-11 * scale
        inclusion = law.log_inclusion()
        for j in range(len(weights)):
            members = [log for T, log in exact.items() if j in T]
            if members and float(log_total(members) - total) > -700.0:
                true = float(log_total(members) - total)
                assert inclusion[j] == pytest.approx(true, abs=max(law.rounding, 1e-13))
        for T, log in exact.items():
            drawn = drawn_log(law, weights, T)
            true = float(log - total)
            # Far below e^-693 a law is lifted, so that no probability is zero.
            if true > -600.0:
                assert abs(drawn - true) <= law.rounding + 1e-14
            else:
                assert drawn >= true - law.rounding - 1e-14
            assert math.isfinite(drawn)


def drawn_log(law, weights: np.ndarray, T: tuple[int, ...]) -> float:
    places = np.empty(len(weights), dtype=int)
    places[law.order] = np.arange(len(weights))
    script = iter(sorted(places[list(T)].tolist(), reverse=True))
    drawn, log = law.draw(lambda _: next(script))
    assert sorted(drawn.tolist()) == list(T)
    return float(log)


def test_subset_laws_are_right_to_what_they_allow_at_two_thousand_features() -> None:
    """Totals in extended precision; draws by the stated law of the last member."""
    rng = np.random.default_rng(4)
    for weights in (
        rng.standard_normal(2000),
        np.zeros(2000),
        1e4 * rng.standard_normal(2000),
        np.concatenate([np.full(1990, -3.0), np.full(10, 1e6)]),
    ):
        m = 6
        law = subset_law(weights, m)
        rising = np.sort(weights).astype(LONG)
        table = [np.zeros(2001, dtype=LONG)]
        for _ in range(m):
            terms = rising + table[-1][:-1]
            table.append(np.concatenate([[LONG(-np.inf)], np.logaddexp.accumulate(terms)]))
        assert abs(float(LONG(law.log_total) - table[m][-1])) <= law.rounding
        source = random.Random(1)
        for _ in range(30):
            chosen: list[int] = []

            positions, log = law.draw(partial(remembered, source, chosen))
            assert len(set(positions.tolist())) == m
            exact = rising[chosen].sum() - table[m][-1]
            assert abs(float(exact) - log) <= law.rounding


def remembered(source: random.Random, chosen: list[int], cumulative: np.ndarray) -> int:
    chosen.append(rising_index(cumulative, source))
    return chosen[-1]


def test_every_prefix_of_a_cumulative_law_rises() -> None:
    rng = np.random.default_rng(0)
    for scale in (0.0, 1e-9, 1.0, 1e3, 1e6, 1e9):
        weights = scale * rng.standard_normal(300) + rng.choice([0.0, -1e5])
        law = subset_law(weights, 5)
        for k in range(1, 6):
            for end in (k, k + 1, 100, 300):
                C = law.cumulative(k, end)
                assert np.all(C[: k - 1] == 0.0)
                assert np.all(np.diff(C[k - 1 :]) > 0.0)
                assert C[k - 1] > 0.0


def test_cumulative_sums_across_segments() -> None:
    rising = np.sort(np.concatenate([np.linspace(-5000.0, 5000.0, 40), np.full(30, 599.9)]))
    expected = np.logaddexp.accumulate(rising.astype(LONG))
    np.testing.assert_allclose(log_cumulative_sum(rising), expected.astype(float), rtol=1e-15)
