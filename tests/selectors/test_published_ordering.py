"""The paper's setting at p = 100: mistakes ≥ top-R > MCMC and sample-and-aggregate."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from mipselect.datasets import correlated_gaussian
from mipselect.mechanisms import Mechanism
from mipselect.selectors import (
    MCMCSelector,
    MistakesSelector,
    SampleAggregateSelector,
    TopRSelector,
)

TRUE = (1, 3, 5, 7, 9)
BOUNDS: dict[str, float] = {"x_bound": 0.5, "y_bound": 0.5}
PROBLEM: dict[str, float] = {**BOUNDS, "coef_bound": 1.1, "ridge": 120.0}


@cache
def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    return correlated_gaussian(n, 100, rho=0.1, snr=5.0, support_size=5, seed=2)


def recovery(selector: TopRSelector | MistakesSelector, n: int) -> float:
    return float(np.exp(selector.mechanism(*data(n)).log_probability(TRUE)))


def frequency(mechanism: Mechanism, draws: int) -> float:
    return float(np.mean([mechanism.sample(seed) == TRUE for seed in range(draws)]))


def test_recovery_rises_with_the_rows_and_mistakes_is_ahead() -> None:
    top_r = [recovery(TopRSelector(5, **PROBLEM), n) for n in (3000, 4000, 5000, 8000)]
    mistakes = [recovery(MistakesSelector(5, **PROBLEM), n) for n in (3000, 4000, 5000, 8000)]
    assert top_r == sorted(top_r)
    assert mistakes == sorted(mistakes)
    assert top_r[0] < 0.1 < 0.5 < mistakes[0]
    assert 0.8 < top_r[1] < mistakes[1]
    assert min(top_r[-1], mistakes[-1]) > 0.999


@pytest.mark.parametrize("n", [4000, 5000])
def test_the_chain_and_the_votes_are_behind(n: int) -> None:
    """The published chain: 1,000 steps, ‖β‖₁ ≤ 3.5."""
    top_r = recovery(TopRSelector(5, **PROBLEM), n)
    chain = MCMCSelector(5, coef_bound=3.5, n_steps=1000, **BOUNDS).mechanism(*data(n))
    votes = SampleAggregateSelector(5, relation="replace-one").mechanism(*data(n))
    assert frequency(chain, 80) < top_r - 0.05
    assert frequency(votes, 40) < top_r - 0.05


def test_a_wide_pool_makes_up_for_most_of_what_top_r_lacks() -> None:
    wide = recovery(TopRSelector(5, pool_size=100_000, **PROBLEM), 3000)
    assert wide > recovery(MistakesSelector(5, **PROBLEM), 3000)
    assert wide > 0.7
