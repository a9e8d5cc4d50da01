"""Cells against enumeration: every bound at every support, whatever was refined."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from mipselect import Instance
from mipselect.mechanisms.supports import rejection_sampler
from mipselect.search.soft.partition import Partition
from mipselect.search.soft.spaces import space_of
from mipselect.search.tuning import TUNING
from tests.support.designs import least_ridge, random_instance
from tests.support.soft_draws import Judged, hostile


def refine_randomly(judged: Judged, rng: random.Random, steps: int) -> None:
    """By excess, as draws do, and any cell at all, as rejections and intervals do."""
    for _ in range(steps):
        if rng.random() < 0.5:
            judged.partition.refine()
        else:
            numbers = sorted(number for number, _ in judged.partition.numbered)
            judged.partition.refine_cell(rng.choice(numbers))


@pytest.mark.parametrize("block", range(6))
@pytest.mark.parametrize("convex", [False, True])
def test_cells_of_hostile_designs(block: int, convex: bool) -> None:
    for seed in range(100 * block, 100 * block + (5 if convex else 14)):
        judged = hostile(seed, convex=convex, steps_before=0, max_p=6 if convex else 8)
        rng = random.Random(seed)
        judged.check_cells()
        refine_randomly(judged, rng, rng.randrange(10))
        judged.check_cells()
        judged.check_intervals()
        refine_randomly(judged, rng, 8)
        judged.check_cells()
        judged.check_intervals()


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


@pytest.mark.parametrize("block", range(4))
@pytest.mark.parametrize("convex", [False, True])
def test_cells_of_features_of_several_columns(block: int, convex: bool) -> None:
    for seed in range(100 * block, 100 * block + (4 if convex else 10)):
        judged = hostile(
            seed, convex=convex, grouped=True, steps_before=0, max_p=5 if convex else 7
        )
        rng = random.Random(seed)
        judged.check_cells()
        refine_randomly(judged, rng, rng.randrange(14))
        judged.check_cells()
        judged.check_intervals()
        judged.check_sampler()


@pytest.mark.deep
@pytest.mark.parametrize("convex", [False, True])
def test_cells_of_many_hostile_designs(convex: bool) -> None:
    for seed in range(1000, 1100 if convex else 1400):
        judged = hostile(seed, convex=convex, max_p=7 if convex else 11)
        rng = random.Random(seed)
        refine_randomly(judged, rng, rng.randrange(25))
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
        ("mipselect.search.soft.cells.subset_law", 2),
        ("mipselect.search.soft.cells._inherited", 1),
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

    def tick(_: Partition) -> None:
        raise Interrupted

    before = dict(judged.partition.numbered)
    monkeypatch.setattr(judged.partition, "_tick", lambda: tick(judged.partition))
    for number in before:
        cell = before[number]
        if not cell.final:
            with pytest.raises(Interrupted):
                judged.partition.refine_cell(number)
    assert dict(judged.partition.numbered) == before
    assert not judged.partition.refine_cell(10**9)
