"""Exact audits for every loss, with its own sensitivity; half of that must fail somewhere."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from mipselect.mechanisms import ExponentialMechanism, Mistakes, SupportMechanism, TopR
from tests.support.designs import LOSSES, of_classes
from tests.support.exact_audit import (
    Data,
    levels_of,
    loss_of,
    make,
    mirrored_pair,
    neighbours,
    pool_of,
)

ROUNDING = 1.0 + 1e-7


@cache
def pairs(loss: str) -> tuple[tuple[Data, Data], ...]:
    """More than 100 neighbouring pairs; for the hinge every row's y is -1 or +1."""
    rng = np.random.default_rng(7)
    found: list[tuple[Data, Data]] = []
    for k in range(8):
        n, p, s = [(8, 6, 2), (30, 5, 2), (100, 5, 3), (4, 5, 1)][k % 4]
        X = rng.uniform(-1.0, 1.0, (n, p))
        if k % 2 == 0:
            X = np.sign(X)
        if k % 3 == 0:
            X[:, 1] = X[:, 0]
        y = np.clip(X[:, 0] + 0.7 * X[:, 3] + rng.normal(0.0, 0.3, n), -1.0, 1.0)
        if of_classes(loss):
            y = np.where(y > 0.0, 1.0, -1.0)
            y[:4] = [1.0, 1.0, -1.0, -1.0]
        data = make(X, y, s, [0.5, 3.0][k % 2], ridge=[1e-3, 1.0][k // 2 % 2], loss=loss)
        found += [(data, other) for other in neighbours(data, 15, seed=k)]
    return (*found, *(mirrored_pair(5, n, loss=loss) for n in (10, 20, 40, 80)))


def top_r(size: int, share: float = 1.0) -> object:
    def build(data: Data) -> SupportMechanism:
        R = min(size, data.instance.number_of_supports)
        pool = pool_of(data, R)
        return TopR(replace(pool, sensitivity=share * pool.sensitivity), 1.0)

    return build


@pytest.mark.parametrize("loss", LOSSES)
def test_top_r_and_the_exponential_mechanism_are_private(loss: str) -> None:
    assert len(pairs(loss)) > 100
    for size in (1, 4, 10**6):
        assert loss_of(top_r(size), pairs(loss)) <= ROUNDING
    assert loss_of(lambda data: ExponentialMechanism(data.instance, 1.0), pairs(loss)) <= ROUNDING


@pytest.mark.parametrize("loss", LOSSES)
def test_half_of_the_sensitivity_is_not_private(loss: str) -> None:
    assert loss_of(top_r(10**6, 0.5), pairs(loss)) > 1.1


@pytest.mark.parametrize("loss", LOSSES)
def test_mistakes_is_private_under_its_condition(loss: str) -> None:
    rng = np.random.default_rng(5)
    audited: list[tuple[Data, Data]] = []
    for k in range(3):
        X = rng.choice([-1.0, 1.0], (600, 5)) * rng.uniform(0.5, 1.0, (600, 5))
        y = np.clip(X[:, :2].sum(axis=1) / 2 + rng.normal(0.0, 0.1, 600), -1.0, 1.0)
        y = np.where(y > 0.0, 1.0, -1.0) if of_classes(loss) else y
        data = make(X, y, 2, 0.9, loss=loss)
        assert data.meets_condition()
        others = neighbours(data, 10, seed=k)
        audited += [(data, other) for other in others]
    assert loss_of(lambda data: Mistakes(levels_of(data), 1.0), tuple(audited)) <= ROUNDING
