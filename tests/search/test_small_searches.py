"""Where few supports exist all are evaluated; nothing else is asked of a solver then."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect import Instance
from mipselect.search.enumeration import Enumeration
from mipselect.search.levels import find_levels
from mipselect.search.options import SearchOptions
from mipselect.search.progress import Run
from mipselect.search.setup import Search, set_up
from mipselect.search.supports import find_supports
from tests.support.designs import LOSSES, all_supports, random_instance, random_loss_instance
from tests.support.searches import levels_by, supports_by


@pytest.mark.parametrize("loss", ["squared", *LOSSES])
def test_enumeration_gives_what_the_bounds_give(loss: str) -> None:
    for seed in range(12 if loss == "squared" else 4):
        instance = random_instance(seed) if loss == "squared" else random_loss_instance(seed, loss)
        method = Enumeration(instance.prepared, instance.p, batch=7)

        def search(instance: Instance = instance, method: Enumeration = method) -> Search:
            return Search(instance, method, 0.0, Run.start())

        values = np.sort(instance.objectives(all_supports(instance)))
        for R in {1, max(1, len(values) // 2), len(values)}:
            pool, bounded = find_supports(search(), R), supports_by(instance, R, tolerance=0.0)
            assert pool.certified
            assert pool.values == pytest.approx(bounded.values, rel=1e-9)
            assert pool.values == pytest.approx(values[:R], rel=1e-9)
            assert pool.rest_bound == pytest.approx([*values, np.inf][R], rel=1e-9)
        levels, bounded = find_levels(search()), levels_by(instance, tolerance=0.0)
        assert levels.certified
        assert np.array_equal(levels.bounds, levels.values)
        assert levels.values == pytest.approx(bounded.values, rel=1e-9)


def of_size(p: int, s: int, loss: str = "squared") -> Instance:
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
def test_who_searches(
    p: int, s: int, loss: str, solver: str, listed: int, enumerated: bool
) -> None:
    search = set_up(of_size(p, s, loss), SearchOptions(solver), listed=listed)
    assert isinstance(search.method, Enumeration) == enumerated
