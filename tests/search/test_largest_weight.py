"""The largest weight of all supports: bounded by cells at every stage, and proven exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mipselect.search.progress import TimeUp
from mipselect.search.soft import LargestWeight
from tests.support.soft_draws import Judged, hostile, of_a_prior_alone


def scale_of(judged: Judged) -> LargestWeight:
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
        logs, scale = weights(judged), scale_of(judged)
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
        logs, scale = weights(judged), scale_of(judged)
        with monkeypatch.context() as patch:
            patch.setattr(judged.partition, "_tick", stop)
            try:
                with np.errstate(all="ignore"):
                    scale.prove()
            except TimeUp:
                stopped += 1
                assert not scale.proven
        assert scale.log_largest >= max(logs)
        judged.check_cells()
        with np.errstate(all="ignore"):
            scale.prove()
        assert scale.log_largest == max(logs)
        assert math.isfinite(scale.log_largest)
    assert stopped > 5


def stop() -> None:
    raise TimeUp


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


def test_weights_of_features_whose_sums_are_rounded() -> None:
    for seed in range(20):
        judged = of_a_prior_alone(seed, 6)
        scale = LargestWeight(judged.partition, judged.draws._log_weight, 0.0)
        assert scale.log_largest >= max(weights(judged))
