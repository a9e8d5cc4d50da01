"""The sum of all weights by bounds of cells, where weights are known up to an allowance."""

from __future__ import annotations

import mpmath
import numpy as np

from mipselect.search.soft import Totals
from tests.support.soft_draws import Judged, hostile, of_a_prior_alone


def check_whole(judged: Judged, logs: list[float], allowance: float) -> None:
    """Compare with the sum over all supports, to 40 digits."""
    totals = Totals(judged.partition, judged.draws._space, allowance)
    with np.errstate(all="ignore"):
        (low, high), slack = totals.whole(), totals.slack
    with mpmath.workdps(40):
        log = mpmath.log(sum(mpmath.exp(mpmath.mpf(each)) for each in logs))
        assert low - slack <= log <= high + slack


def test_weights_that_are_off_by_what_is_allowed() -> None:
    for seed in range(12):
        judged, rng = hostile(seed, steps_before=3, max_p=6), np.random.default_rng(seed)
        with np.errstate(all="ignore"):
            logs = [judged.draws._log_weight(np.array(support)) for support in judged.supports]
            while judged.partition.refine():
                pass
        rough = np.array(logs) + rng.choice([-0.5, 0.5], len(logs))
        check_whole(judged, rough.tolist(), 0.5 + 1e-6)


def test_weights_of_features_whose_sums_are_rounded() -> None:
    for seed in range(20):
        judged = of_a_prior_alone(seed, 3)
        logs = [judged.draws._log_weight(np.array(support)) for support in judged.supports]
        check_whole(judged, logs, 0.0)
