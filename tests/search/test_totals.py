"""Shares of features and sizes by bounds of cells, where weights are known up to an allowance."""

from __future__ import annotations

import mpmath
import numpy as np

from mipselect.search.soft import Totals
from tests.support.soft_draws import Judged, hostile, of_a_prior_alone


def check_shares(judged: Judged, logs: list[float], allowance: float) -> None:
    """Compare with sums over all supports, to 40 digits."""
    totals = Totals(judged.partition, judged.draws._space, allowance)
    p = judged.instance.n_features
    with np.errstate(all="ignore"):
        whole, parts = totals.whole(), [totals.of_features(p), *totals.of_sizes().values()]
        found = [part.share(whole, totals.slack) for part in parts]
    sizes = totals.of_sizes()
    with mpmath.workdps(40):
        weights = [mpmath.exp(mpmath.mpf(log)) for log in logs]
        every = list(zip(judged.supports, weights, strict=True))
        shares = [sum(w for S, w in every if j in S) for j in range(p)]
        shares += [sum(w for S, w in every if len(S) == size) for size in sizes]
        low = np.concatenate([np.atleast_1d(part.low) for part in found])
        high = np.concatenate([np.atleast_1d(part.high) for part in found])
        for share, least, most in zip(shares, low.tolist(), high.tolist(), strict=True):
            log = mpmath.log(share / sum(weights))
            assert least <= log <= most


def test_weights_that_are_off_by_what_is_allowed() -> None:
    for seed in range(12):
        judged, rng = hostile(seed, steps_before=3, max_p=6), np.random.default_rng(seed)
        with np.errstate(all="ignore"):
            logs = [judged.draws._log_weight(np.array(support)) for support in judged.supports]
            while judged.partition.refine():
                pass
        rough = np.array(logs) + rng.choice([-0.5, 0.5], len(logs))
        check_shares(judged, rough.tolist(), 0.5 + 1e-6)


def test_weights_of_features_whose_sums_are_rounded() -> None:
    for seed in range(20):
        judged = of_a_prior_alone(seed, 3)
        logs = [judged.draws._log_weight(np.array(support)) for support in judged.supports]
        check_shares(judged, logs, 0.0)
