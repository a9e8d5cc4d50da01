"""Privacy of permute-and-flip as it is defined: all supports of many pairs, both relations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from mipselect import Instance, PermuteAndFlip
from mipselect.mechanisms.supports import exact
from mipselect.privacy.concentrated import bounded_range_rho
from tests.mechanisms.test_bounded_range import largest_rho, spread
from tests.mechanisms.test_exact_draws_privacy import (
    BOX,
    SETTINGS,
    grown,
    largest_loss,
    replaced_rows,
    row_less,
)
from tests.support.exact_audit import Data, mirrored_pair, pairs

ROUNDING = 1.0 + 1e-9
"""Probabilities are right to 1e-12 of themselves."""


def log_law(instance: Instance, epsilon: float, **options: Any) -> np.ndarray:
    if "prior_weights" in options:
        options["prior_weights"] = np.resize(options["prior_weights"], instance.n_features)
    mechanism = PermuteAndFlip(instance, epsilon, **options)
    assert mechanism.listed
    mechanism.prepare()
    return np.asarray(mechanism._draws._law.log_probabilities())


def loss_of(audited: Iterable[tuple[Data, Data]], epsilon: float, **options: Any) -> float:
    return largest_loss(audited, lambda data: log_law(data, epsilon, **options))


def test_the_law_is_that_of_the_supports_in_their_order() -> None:
    data = pairs()[0][0].instance
    mechanism = PermuteAndFlip(data, 2.0, sizes=(1, 2))
    supports = [s for size in (1, 2) for s in combinations(range(data.p), size)]
    logs = [mechanism.log_probability(support) for support in supports]
    np.testing.assert_allclose(log_law(data, 2.0, sizes=(1, 2)), logs, atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_replacing_a_row_costs_epsilon(epsilon: float) -> None:
    """The most hostile pairs use nearly all of it."""
    lost = loss_of(pairs(), epsilon)
    assert (0.95 if epsilon <= 1.0 else 0.8) * epsilon < lost <= epsilon * ROUNDING


@pytest.mark.parametrize("options", SETTINGS[1:])
def test_sizes_and_priors_cost_nothing_more(options: dict[str, Any]) -> None:
    assert 0.1 < loss_of(pairs()[::3], 1.0, **options) <= ROUNDING


@pytest.mark.parametrize("options", [{}, *SETTINGS[1:3]])
def test_adding_a_row_costs_half_of_epsilon(options: dict[str, Any]) -> None:
    lost = loss_of(grown(), 4.0, **options)
    assert 0.3 < lost <= 2.0 * ROUNDING


def test_adding_the_most_hostile_row_uses_the_half() -> None:
    ends = [end for p in (5, 8) for n in (10, 40) for end in row_less(*mirrored_pair(p, n))]
    assert 0.45 < loss_of(ends, 1.0) <= 0.5 * ROUNDING


def cheap(data: Instance, share: float, **options: Any) -> np.ndarray:
    """The law with a share of the constant, at ε = 1."""
    right = exact.exact_rate

    def wrong(*of: Any) -> Any:
        rate = right(*of)
        return replace(rate, rate=rate.rate / share)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "exact_rate", wrong)
        return log_law(data, 1.0, **options)


@pytest.mark.parametrize("options", [{}, {"sizes": (1, 2)}])
def test_half_of_the_constant_fails(options: dict[str, Any]) -> None:
    tight = [mirrored_pair(p, n) for p in (5, 8) for n in (10, 40)]
    assert largest_loss(tight, lambda data: cheap(data, 1.0, **options)) <= ROUNDING
    assert largest_loss(tight, lambda data: cheap(data, 0.5, **options)) > 1.2
    ends = [end for pair in tight for end in row_less(*pair)]
    assert largest_loss(ends, lambda data: cheap(data, 1.0, **options)) <= 0.5 * ROUNDING
    assert largest_loss(ends, lambda data: cheap(data, 0.5, **options)) > 0.6


@pytest.mark.parametrize("loss", BOX)
def test_other_losses_under_both_relations(loss: str) -> None:
    for options in ({}, {"sizes": (1, 2)}):
        replaced = replaced_rows(loss, 16)[:: 1 if loss == "hinge" and not options else 9]
        assert 0.02 < loss_of(replaced, 1.0, **options) <= ROUNDING
    assert loss_of(grown(loss, 7)[::3], 1.0) <= 0.5 * ROUNDING


def test_blocks_of_rows() -> None:
    """Neighbours in the same partitions: a row at its worst, constant blocks, a huge value."""
    rng = np.random.default_rng(1)
    found = 0.0
    for k in range(24):
        X = rng.choice([-1.0, 1.0], (12, 5)) * (rng.random((12, 5)) if k % 2 else 1.0)
        y = X[:, 0] + 0.5 * X[:, 1] if k % 3 else rng.standard_normal(12)
        other, row = X.copy(), int(rng.integers(12))
        other[row] = [0.0, 1e300, -1.0, 1e-300, X[(row + 1) % 12, 4]] if k % 4 else -X[row]
        moved = y.copy()
        moved[row] = [-y[row], 1e300, 0.0][k % 3]
        logs = []
        for data in ((X, y), (other, moved)):
            instance = Instance.from_blocks(
                *data, support_size=2, block_rows=2, partitions=2, partition_seed=k
            )
            logs.append(log_law(instance, 3.0))
        found = max(found, float(np.abs(logs[0] - logs[1]).max()))
    assert 0.3 < found <= 3.0 * ROUNDING


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_it_is_not_of_bounded_range_and_states_no_more_than_a_pure_rho(epsilon: float) -> None:
    apart = rho = 0.0
    for data, other in pairs()[::3]:
        logs, moved = (log_law(one.instance, epsilon) for one in (data, other))
        apart, rho = max(apart, spread(logs, moved)), max(rho, largest_rho(logs, moved))
    for p in (40, 200):
        logs, moved = (log_law(one.instance, epsilon) for one in mirrored_pair(p, 40))
        apart, rho = max(apart, spread(logs, moved)), max(rho, largest_rho(logs, moved))
    stated = PermuteAndFlip(pairs()[0][0].instance, epsilon).guarantee.rho
    assert apart > 1.1 * epsilon
    assert stated is not None
    assert rho <= stated
    assert stated == 4.0 * (bounded_range_rho(epsilon) or 0.0)
