"""What is proven when a search is stopped: nothing false, and nothing thrown away."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

from mipselect.errors import InvalidInput, NotCertified
from mipselect.problem.instance import Instance
from mipselect.search.least_squares import tree
from mipselect.search.levels import find_levels
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.search.progress import TimeUp
from mipselect.search.supports import find_supports
from tests.support.counted_searches import spread
from tests.support.designs import (
    DESIGNS,
    all_supports,
    distances,
    random_instance,
    random_loss_instance,
    with_loss,
)
from tests.support.designs import LOSSES as ALL_LOSSES
from tests.support.searches import run_of, search_by, supports_by

LOSSES = ["squared", "huber(1.35)"]


def instance_of(loss: str) -> Instance:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 12)) + 0.2 * rng.standard_normal((300, 1))
    y = X[:, :3] @ [1.0, 0.7, 0.4] + rng.standard_normal(300)
    base = Instance(X, y, support_size=4, x_bound=2.0, y_bound=4.0, coef_bound=2.0, ridge=5.0)
    return with_loss(base, loss)


def stopped(find, instance: Instance, looks: int, **tuned) -> tuple[object, NotCertified | None]:
    """What a search ends with after so many looks at the clock, and its refusal."""
    try:
        return find(search_by(instance, run=run_of(looks), **tuned)), None
    except NotCertified as error:
        return error.partial, error


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("cheap", [0, 200])
def test_a_stopped_pool_is_proven_as_far_as_it_says(loss: str, cheap: int) -> None:
    instance = instance_of(loss)
    supports = all_supports(instance)
    values = instance.objectives(supports)
    ranked = np.sort(values)
    tuned = {"cheap": cheap, "bases": 2, "supports": 2}
    some = 0
    for looks in range(1, 90, 1 if loss == "squared" else 6):
        pool, refused = stopped(lambda s: find_supports(s, 34), instance, looks, **tuned)
        if pool is None:
            continue
        assert isinstance(pool, SupportPool)
        unlisted = [pool.position(support) is None for support in supports]
        assert pool.rest_bound <= values[unlisted].min() * (1.0 + 1e-9)
        assert (refused is None) == (len(pool) == 34 and pool.certified)
        rows = pool.certified_rows
        if refused is not None and rows:
            some += 1
            assert str(refused).endswith(f"a pool of {rows} is certified")
        for size in range(1, len(pool) + 1):
            part = pool.first(size)
            assert part.certified == (size <= rows)
            if part.certified:
                assert np.all(part.values <= ranked[:size] + part.allowance * (1 + 1e-9))
    assert some > 3 or loss != "squared"


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("cheap", [0, 200])
def test_stopped_levels_are_proven_as_far_as_they_say(loss: str, cheap: int) -> None:
    instance = instance_of(loss)
    supports = all_supports(instance)
    values = instance.objectives(supports)
    tuned = {"cheap": cheap, "bases": 2, "supports": 2}
    some = 0
    for looks in range(1, 90, 1 if loss == "squared" else 6):
        levels, refused = stopped(find_levels, instance, looks, **tuned)
        if levels is None:
            continue
        assert isinstance(levels, MistakeLevels)
        away = distances(supports, levels.supports[0])
        for row, bound in enumerate(levels.bounds):
            assert bound <= values[away == row].min() * (1.0 + 1e-9)
        if refused is None:
            assert levels.certified
            continue
        assert refused.bound <= values[away >= 1].min() * (1.0 + 1e-9)
        proven = levels.certified_rows - 1
        if proven > 0:
            some += 1
            assert f"levels 1 to {proven} of 4 around the " in str(refused)
            if "the optimum" in str(refused):
                assert levels.values[0] <= values.min() * (1.0 + 1e-9)
    assert some > 2


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("loss", [*LOSSES, "hinge", "quantile(0.5)"])
@pytest.mark.parametrize("find", [lambda search: find_supports(search, 34), find_levels])
def test_a_refusal_says_what_is_proven_and_how_far_that_is(loss: str, early: bool, find) -> None:
    instance = instance_of(loss)
    least = instance.objectives(all_supports(instance)).min()
    _, refused = stopped(find, instance, 1 if early else 9)
    assert refused is not None
    assert 0.8 * least <= refused.bound
    assert early or re.search(r"was (needed|found): a gap of \d\S*, \d+% of", str(refused))


@pytest.mark.parametrize("seed", range(0, 60, 20))
@pytest.mark.parametrize("quick", [0, 1024])
def test_relaxations_are_below_every_support(
    quick: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "QUICK_COLUMNS", quick)
    of_losses = [partial(random_loss_instance, loss=loss) for loss in ALL_LOSSES]
    for design in [*DESIGNS, *of_losses]:
        for k in range(seed, seed + 20):
            instance = design(k)
            search = search_by(instance)
            bound = search.relaxed()
            least = instance.objectives(all_supports(instance)).min()
            assert bound <= least * (1.0 + 1e-9)


@pytest.mark.parametrize("loss", [None, *ALL_LOSSES])
@pytest.mark.parametrize("tuned", [{}, {"cheap": 0, "bases": 2, "supports": 2, "worth": 0}])
def test_the_bound_of_a_refusal_is_true_whenever_the_search_is_stopped(
    loss: str | None, tuned: dict[str, int]
) -> None:
    """It holds for all that is not listed, and is the relaxation at least."""
    for seed in range(2):
        designs = [partial(random_loss_instance, loss=loss)] if loss else DESIGNS
        for design in designs:
            instance = design(seed)
            supports = all_supports(instance)
            values = instance.objectives(supports)
            relaxed = search_by(instance).relaxed()
            for find in (lambda search: find_supports(search, 5), find_levels):
                for looks in range(1, 60, 1 if loss is None else 3):
                    found, refused = stopped(find, instance, looks, **tuned)
                    if refused is None:
                        break
                    left = np.ones(len(values), dtype=bool)
                    if isinstance(found, SupportPool):
                        left = np.array([found.position(row) is None for row in supports])
                    elif isinstance(found, MistakeLevels):
                        left = distances(supports, found.supports[0]) > 0
                    assert refused.bound <= values[left].min(initial=np.inf) * (1.0 + 1e-9)
                    assert refused.bound >= relaxed


@pytest.mark.deep
def test_the_bound_of_a_refusal_is_the_least_of_all_open_nodes() -> None:
    """Nodes that are left open deep in a level are bounded better than all supports together."""
    instance, better = spread(30, 18, 6, 0.5, 0.3, 0.01), 0
    relaxed = search_by(instance).relaxed()
    for looks in range(1, 260, 6):
        _, refused = stopped(find_levels, instance, looks, cheap=0)
        better += refused is not None and refused.bound > 1.05 * relaxed
    assert better > 3


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("find", [lambda search: find_supports(search, 34), find_levels])
def test_a_certificate_that_is_complete_when_time_is_up_is_kept(
    loss: str, find, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = instance_of(loss)
    search = search_by(instance)
    center = search.method.center(instance.support_size, search.run)
    complete, last = type(center).search_level, search.levels - 1

    def late(self, level, collector, run) -> None:
        complete(self, level, collector, run)
        if level == last:
            raise TimeUp

    monkeypatch.setattr(type(center), "search_level", late)
    assert find(search).certified


@pytest.mark.parametrize("seed", range(20))
def test_a_part_of_a_pool_is_the_smaller_pool(seed: int) -> None:
    instance = random_instance(seed)
    pool = supports_by(instance, 12, tolerance=0.0)
    assert pool.certified_rows == len(pool)
    for rows in range(1, len(pool) + 1):
        part, smaller = pool.first(rows), supports_by(instance, rows, tolerance=0.0)
        assert part.certified
        assert part.values == pytest.approx(smaller.values, rel=1e-12)


@pytest.mark.parametrize("rows", [0, 13, True, 1.0])
def test_a_part_has_at_least_one_row_and_at_most_all(rows: object) -> None:
    pool = find_supports(search_by(instance_of("squared")), 12)
    with pytest.raises(InvalidInput, match=r"rows must be an integer in 1\.\.12"):
        pool.first(rows)  # type: ignore[arg-type]
