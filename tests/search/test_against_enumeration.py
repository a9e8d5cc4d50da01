"""Every search against brute force: a table of problems, a table of settings, and one judge."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from mipselect.problem.instance import Instance
from mipselect.search.options import SearchOptions
from mipselect.search.setup import Enumeration, set_up
from mipselect.search.tuning import Screening, Strategy
from tests.support.designs import (
    LOSSES,
    of_classes,
    random_block_instance,
    random_grouped_instance,
    random_instance,
    random_loss_instance,
    with_loss,
)
from tests.support.searches import ENDLESS, SOLVERS, check_search

SHAPES = [(12, 2, 3, 2), (5, 8, 1, 2), (15, 4, 1, 1), (15, 4, 1, 3), (15, 4, 1, 4)]
"""Rows, columns, how often each of them is there, and the size: ties, few rows, extreme sizes."""


def shaped(seed: int, loss: str = "squared") -> Instance:
    rng = np.random.default_rng(seed)
    n, p, copies, s = SHAPES[seed % len(SHAPES)]
    X = np.repeat(rng.standard_normal((n, p)), copies, axis=1)
    y = X[:, 0] + 0.1 * rng.standard_normal(n)
    return Instance(
        X, y > 0.0 if of_classes(loss) else y, support_size=s, x_bound=2.0,
        y_bound=3.0, coef_bound=0.9, ridge=1.0, loss=loss,
    )  # fmt: skip


def of_groups(seed: int, loss: str) -> Instance:
    return with_loss(random_grouped_instance(seed, max_p=7, max_s=3), loss)


SQUARED: dict[str, Callable[[int], Instance]] = {
    "columns": partial(random_instance, max_p=14),
    "groups": random_grouped_instance,
    "blocks": random_block_instance,
    "shapes": shaped,
}
CONVEX: dict[str, Callable[[int], Instance]] = {
    f"{name}, {loss}": partial(make, loss=loss)
    for name, make in (("columns", random_loss_instance), ("groups", of_groups), ("shapes", shaped))
    for loss in LOSSES
}
PROBLEMS = SQUARED | CONVEX

CLOSED = (Strategy.PAIRS, Strategy.TRIPLES)
MASTERS = {"enumerated": 0, "patience": ENDLESS, "bases": 2, "supports": 2}
DIVIDED = {"enumerated": 0, "patience": 2, "columns": 4, "bases": 3, "supports": 4}
SETTINGS: dict[str, dict[str, object]] = {
    "as it is": {},
    "masters alone": MASTERS,
    "divided": {**DIVIDED, "screening": Screening(dense=0), "without": CLOSED},
}
"""Without shortcuts for few choices masters and divisions decide."""
OF_GRAM: dict[str, dict[str, object]] = {
    "points at once": {**DIVIDED, "cheap": -1, "without": CLOSED},
    "families at once": {"cheap": 0},
    "a block of G": {"cheap": 0, "few_columns": 0, "screening": Screening(dense=3)},
    "G in time": {"cheap": 5, "few_columns": 0, "screening": Screening(dense=6, tops_columns=4)},
}
"""Further ones of the squared loss."""


@pytest.mark.parametrize(
    ("problem", "setting"),
    [
        *((problem, setting) for problem in PROBLEMS for setting in SETTINGS),
        *((problem, setting) for problem in SQUARED for setting in OF_GRAM),
    ],
)
@pytest.mark.parametrize("seed", range(25))
def test_pools_and_levels(problem: str, setting: str, seed: int) -> None:
    instance, rng = PROBLEMS[problem](seed), np.random.default_rng(seed)
    if setting != "as it is":
        for solver in SOLVERS:
            check_search(instance, solver, 0.0, **(SETTINGS | OF_GRAM)[setting])
        return
    C = instance.number_of_supports
    sizes = {1, int(rng.integers(1, C + 1)), C, "one-swap"}
    for solver in (*SOLVERS, "enumeration"):
        check_search(instance, solver, float(rng.choice([0.0, 0.05])), sizes)


def of_size(p: int, s: int, loss: str) -> Instance:
    rng = np.random.default_rng(p)
    X = rng.standard_normal((40, p))
    return Instance(
        X, X[:, 0] + rng.standard_normal(40), support_size=s, x_bound=2.0, y_bound=3.0,
        coef_bound=2.0, ridge=4.0, loss=loss,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("p", "s", "loss", "solver", "listed", "enumerated"),
    [
        (17, 3, "squared", "auto", 1, True),
        (17, 3, "squared", "native", 1, True),
        (17, 3, "squared", "highs", 680, False),
        (40, 5, "squared", "auto", 1, False),
        (40, 3, "squared", "auto", 9880, True),
        (9, 2, "huber", "auto", 1, True),
        (17, 3, "huber", "auto", 44, False),
        (17, 3, "huber", "auto", 340, True),
    ],
)
def test_few_supports_are_enumerated(
    p: int, s: int, loss: str, solver: str, listed: int, enumerated: bool
) -> None:
    search = set_up(of_size(p, s, loss), SearchOptions(solver), listed=listed)
    assert isinstance(search.method, Enumeration) == enumerated
