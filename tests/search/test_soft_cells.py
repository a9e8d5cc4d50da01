"""Cells and laws of subsets against enumeration: bounds, the largest weight, and the sum of all."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

from mipselect import Instance
from mipselect.mechanisms.supports import rejection_sampler
from mipselect.privacy.randomness import rising_index
from mipselect.search.soft import LargestWeight
from mipselect.search.soft.polynomials import SEGMENT, log_cumulative_sum, subset_law
from mipselect.search.soft.spaces import space_of
from mipselect.search.tuning import TUNING
from tests.support.designs import least_ridge, random_instance
from tests.support.soft_draws import Judged, hostile, log_drawn, of_a_prior_alone


def refine_randomly(judged: Judged, rng: random.Random, steps: int) -> None:
    """By excess, as draws do, and any cell at all, as rejections and intervals do."""
    for _ in range(steps):
        if rng.random() < 0.5:
            judged.partition.refine()
        else:
            numbers = sorted(number for number, _ in judged.partition.numbered)
            judged.partition.refine_cell(rng.choice(numbers))


@pytest.mark.parametrize("convex", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("seed", range(0, 600, 25))
def test_cells_of_hostile_designs(seed: int, grouped: bool, convex: bool) -> None:
    for k in range(seed, seed + (3 if convex else 8)):
        max_p = 8 - grouped - 2 * convex
        judged = hostile(k, convex=convex, grouped=grouped, steps_before=0, max_p=max_p)
        rng = random.Random(k)
        judged.check_cells()
        for steps in (rng.randrange(14), 8):
            refine_randomly(judged, rng, steps)
            judged.check_cells()
            judged.check_intervals()
        if grouped:
            judged.check_sampler()


@pytest.mark.parametrize("crowded", [0, 3, 100])
def test_cells_without_row_sums_of_the_gram_matrix(
    crowded: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with many columns: row sums are found after some cells, or not at all."""
    tuning = replace(
        TUNING,
        few_columns=0,
        screening=replace(TUNING.screening, tops_columns=0),
        refining=replace(TUNING.refining, crowded=crowded),
    )
    monkeypatch.setattr(rejection_sampler, "space_of", partial(space_of, tuning=tuning))
    for seed in range(12):
        judged = hostile(seed, steps_before=0)
        refine_randomly(judged, random.Random(seed), 8)
        judged.check_cells()
        judged.check_intervals()


@pytest.mark.parametrize(
    ("p", "s"), [(14, 1), (14, 3), (14, 7), (14, 13), (14, 14), (1, 1), (2, 1)]
)
def test_sizes_from_one_to_all(p: int, s: int) -> None:
    rng = np.random.default_rng(p * s)
    X = rng.standard_normal((40, p)) + 0.7 * rng.standard_normal((40, 1))
    y = X[:, 0] + 0.3 * rng.standard_normal(40)
    judged = Judged(instance_of(X, y, s, ridge=0.5), 3.0)
    for _ in range(4):
        judged.check_cells()
        judged.partition.refine()
    judged.check_intervals()


def instance_of(X: np.ndarray, y: np.ndarray, s: int, **options: Any) -> Instance:
    given = {"x_bound": 3.0, "y_bound": 3.0, "coef_bound": 2.0, "ridge": 1.0, **options}
    return Instance(X, y, support_size=s, **given)


@pytest.mark.parametrize("ridge", [1e-3, 1e-9, least_ridge(25, 4, 3.0)])
@pytest.mark.parametrize("radius", [0.3, 2.0, 1e6])
def test_ridges_below_the_digits_of_the_moments(ridge: float, radius: float) -> None:
    """Copies, multiples and sums of columns, and a response that they explain to the last digit."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (25, 7))
    X[:, 3] = X[:, 4] = X[:, 0]
    X[:, 5] = 0.5 * X[:, 1]
    X[:, 6] = X[:, 0] + X[:, 1]
    for y in (X[:, 6], X[:, 6] + 1e-9 * rng.standard_normal(25)):
        for s in (2, 3, 4):
            judged = Judged(instance_of(X, y, s, ridge=ridge, coef_bound=radius), 2.0)
            judged.check_cells()
            for _ in range(6):
                judged.partition.refine()
            judged.check_cells()
            judged.check_intervals()
            assert judged.mechanism.sample(1) in judged.supports


class Interrupted(BaseException):
    """What Ctrl-C is."""


def interrupt() -> None:
    raise Interrupted


def test_an_interrupt_anywhere_leaves_the_partition_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stop in every function that refining calls, then go on: no cell and no chance is lost."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 8)) + rng.standard_normal((30, 1))
    instance = instance_of(X, X[:, 0] + X[:, 1] + rng.standard_normal(30), 4)
    places = [
        ("mipselect.search.soft.partition.tight", 3),
        ("mipselect.search.soft.partition.parts_of", 0),
        ("mipselect.search.soft.partition.subset_law", 2),
        ("mipselect.search.soft.partition._inherited", 1),
    ]
    for name, calls in places:
        judged = Judged(instance, 20.0, steps_before=0)
        partition = judged.partition
        before = dict(partition.numbered)
        with monkeypatch.context() as patch:
            module, function = name.rsplit(".", 1)
            original = getattr(__import__(module, fromlist=["_"]), function)
            left = [calls]

            def stopped(*args: Any, original: Any = original, left: Any = left) -> Any:
                left[0] -= 1
                if left[0] < 0:
                    raise Interrupted
                return original(*args)

            patch.setattr(name, stopped)
            interrupted = False
            while not interrupted:
                before = dict(partition.numbered)
                try:
                    assert partition.refine()
                except Interrupted:
                    interrupted = True
        assert dict(partition.numbered) == before
        judged.check_cells()
        waiting = {number for _, number in partition._heap}
        assert {number for number, cell in before.items() if not cell.final} <= waiting


def test_refining_ends_at_exact_cells() -> None:
    judged = Judged(random_instance(20, max_p=6), 1e3)
    for _ in range(500):
        if not judged.partition.refine():
            break
    else:
        raise AssertionError("there was always something left")
    judged.check_cells()


def test_a_tick_may_stop_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = Judged(random_instance(14, max_p=8), 20.0)

    before = dict(judged.partition.numbered)
    monkeypatch.setattr(judged.partition, "_tick", interrupt)
    for number in before:
        cell = before[number]
        if not cell.final:
            with pytest.raises(Interrupted):
                judged.partition.refine_cell(number)
    assert dict(judged.partition.numbered) == before
    assert not judged.partition.refine_cell(10**9)


def largest_of(judged: Judged) -> LargestWeight:
    draws = judged.draws
    return LargestWeight(judged.partition, draws._log_weight, draws._rate.allowance)


@np.errstate(all="ignore")
def weights(judged: Judged) -> list[float]:
    return [judged.draws._log_weight(np.array(support)) for support in judged.supports]


@pytest.mark.parametrize(("convex", "grouped"), [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("block", range(4))
def test_it_bounds_and_then_is_the_largest(block: int, convex: bool, grouped: bool) -> None:
    for seed in range(30 * block, 30 * block + (3 if convex else 8)):
        judged = hostile(seed, convex=convex, grouped=grouped, steps_before=0, max_p=7)
        logs, scale = weights(judged), largest_of(judged)
        with np.errstate(all="ignore"):
            for _ in range(seed % 5):
                assert scale.log_largest >= max(logs)
                judged.partition.refine()
            assert not scale.proven
            scale.prove()
            assert scale.proven
            assert scale.log_largest == max(logs)
            judged.partition.refine()
            assert scale.log_largest == max(logs)
        judged.check_cells()


def test_a_proof_that_is_stopped_leaves_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = 0
    for seed in range(12):
        judged = hostile(seed, steps_before=0, max_p=7)
        logs, scale = weights(judged), largest_of(judged)
        with monkeypatch.context() as patch:
            patch.setattr(judged.partition, "_tick", interrupt)
            try:
                with np.errstate(all="ignore"):
                    scale.prove()
            except Interrupted:
                stopped += 1
                assert not scale.proven
        assert scale.log_largest >= max(logs)
        judged.check_cells()
        with np.errstate(all="ignore"):
            scale.prove()
        assert scale.log_largest == max(logs)
        assert math.isfinite(scale.log_largest)
    assert stopped > 5


def test_weights_that_are_above_their_bounds_by_what_is_allowed() -> None:
    """As where a value is below R and the one that bounds are measured from above it."""
    for seed in range(12):
        judged, rng = hostile(seed, steps_before=0, max_p=7), np.random.default_rng(seed)
        known = np.array(weights(judged)) + rng.uniform(-0.5, 0.5, len(judged.supports))
        rough = dict(zip(judged.supports, known.tolist(), strict=True))

        def log_weight(support: np.ndarray, rough: dict = rough) -> float:
            return rough[tuple(support.tolist())]

        scale = LargestWeight(judged.partition, log_weight, 0.5 + 1e-6)
        with np.errstate(all="ignore"):
            assert scale.log_largest >= known.max()
            scale.prove()
        assert scale.log_largest == known.max()


def check_whole(judged: Judged, logs: list[float], allowance: float) -> None:
    """Compare with the sum over all supports, to 40 digits."""
    with np.errstate(all="ignore"):
        low, high = judged.partition.log_total(allowance)
    with mpmath.workdps(40):
        log = mpmath.log(sum(mpmath.exp(mpmath.mpf(each)) for each in logs))
        assert low <= log <= high


def test_totals_of_weights_that_are_off_by_what_is_allowed() -> None:
    for seed in range(12):
        judged, rng = hostile(seed, steps_before=3, max_p=6), np.random.default_rng(seed)
        logs = weights(judged)
        with np.errstate(all="ignore"):
            while judged.partition.refine():
                pass
        rough = np.array(logs) + rng.choice([-0.5, 0.5], len(logs))
        check_whole(judged, rough.tolist(), 0.5 + 1e-6)


def test_weights_of_features_whose_sums_are_rounded() -> None:
    for seed in range(20):
        judged = of_a_prior_alone(seed, 6)
        assert largest_of(judged).log_largest >= max(weights(judged))
        judged = of_a_prior_alone(seed, 3)
        check_whole(judged, weights(judged), 0.0)


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
            drawn = log_drawn(law, len(weights), T)
            true = float(log - total)
            # Far below e^-693 a law is lifted, so that no probability is zero.
            if true > -600.0:
                assert abs(drawn - true) <= law.rounding + 1e-14
            else:
                assert drawn >= true - law.rounding - 1e-14
            assert math.isfinite(drawn)


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
