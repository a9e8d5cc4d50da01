"""Privacy of exact draws as it is defined: all supports of many pairs, both relations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from mipselect import ExponentialMechanism, Instance
from mipselect.mechanisms.supports import exact
from tests.support.exact_audit import Data, make, mirrored_pair, neighbours, pairs, with_row
from tests.support.soft_draws import Judged

ROUNDING = 1.0 + 1e-12
BOX = ["hinge", "huber(0.3)", "quantile(0.5)", "quantile(0.9)"]

SETTINGS: list[dict[str, Any]] = [
    {},
    {"sizes": (1, 3)},
    {"sizes": range(1, 5), "complexity": 0.0, "prior_weights": [1.0, 9.0, 0.1, 2.0, 1e-3]},
    {"sizes": (2,), "prior_weights": [1e100, 1e-100, 1.0, 1.0, 1e50]},
]


def log_law(instance: Instance, epsilon: float, **options: Any) -> np.ndarray:
    if "prior_weights" in options:
        options["prior_weights"] = np.resize(options["prior_weights"], instance.p)
    mechanism = ExponentialMechanism(instance, epsilon, **options)
    return np.array(
        [
            mechanism.log_probability(support)
            for size in mechanism.sizes
            for support in combinations(range(instance.p), size)
        ]
    )


def largest_loss(
    audited: Iterable[tuple[Data, Data]], law: Callable[[Instance], np.ndarray]
) -> float:
    worst, last, logs = 0.0, None, np.empty(0)
    for data, other in audited:
        if data is not last:
            last, logs = data, law(data.instance)
        worst = max(worst, float(np.abs(logs - law(other.instance)).max()))
    return worst


@cache
def grown(loss: str = "squared", each: int = 26) -> tuple[tuple[Data, Data], ...]:
    """A table, and the same with a row that was added: at the bounds, hostile, or zero."""
    rng = np.random.default_rng(9)
    found: list[tuple[Data, Data]] = []
    starts = [data for data, _ in [*pairs()[:: 29 * 4], *(mirrored_pair(p, 30) for p in (5, 7))]]
    for k in range(20):
        listed = loss == "squared" and k < len(starts)
        data = starts[k] if listed else start(rng, loss, k)
        p, bound = data.instance.p, data.instance.y_bound
        rows = [np.zeros(p), np.ones(p), -np.ones(p), *np.eye(p), *(2.0 * np.eye(p) - 1.0)]
        for j in range(each):
            x = rows[j // 2] if j // 2 < len(rows) else rng.choice([-1.0, 1.0], p)
            found.append((data, with_row(data, x, bound * (-1.0) ** j)))
    return tuple(found)


def start(rng: np.random.Generator, loss: str, k: int) -> Data:
    n, p, s = [(8, 5, 2), (25, 5, 2), (60, 6, 3), (6, 5, 1)][k % 4]
    X = rng.uniform(-1.0, 1.0, (n, p))
    if k % 2:
        X = np.sign(X)
    if k % 3 == 0:
        X[:, 1] = X[:, 0]
    y = np.clip(X[:, 0] + 0.7 * X[:, 3] + rng.normal(0.0, 0.3, n), -1.0, 1.0)
    if loss == "hinge":
        y = np.where(y > 0.0, 1.0, -1.0)
        y[:4] = 1.0, -1.0, 1.0, -1.0
    return make(X, y, s, [0.5, 3.0][k % 2], ridge=[1e-3, 1.0][k // 2 % 2], loss=loss)


@cache
def replaced_rows(loss: str, each: int) -> tuple[tuple[Data, Data], ...]:
    rng = np.random.default_rng(10)
    found: list[tuple[Data, Data]] = [mirrored_pair(5, 20, loss=loss)]
    for k in range(8):
        data = start(rng, loss, k)
        others = neighbours(data, each, seed=k)
        found += [(data, other) for other in others if both_classes(other)]
    return tuple(found)


def both_classes(data: Data) -> bool:
    return data.instance.classes is None or len(np.unique(data.instance.y)) == 2


def test_there_are_enough_pairs() -> None:
    assert len(pairs()) >= 500
    assert len(grown()) >= 500
    assert sum(len(replaced_rows(loss, 16)) for loss in BOX) >= 500


@pytest.mark.parametrize("options", SETTINGS)
def test_squared_loss_under_replacing_a_row(options: dict[str, Any]) -> None:
    epsilon = 0.5 if "sizes" in options else 4.0
    assert largest_loss(pairs(), lambda data: log_law(data, epsilon, **options)) <= epsilon


@pytest.mark.parametrize("options", SETTINGS)
def test_squared_loss_under_adding_a_row(options: dict[str, Any]) -> None:
    """Half of it."""
    epsilon = 0.5 if "sizes" in options else 4.0
    assert largest_loss(grown(), lambda data: log_law(data, epsilon, **options)) <= epsilon / 2.0


def cheap(data: Instance, share: float, **options: Any) -> np.ndarray:
    """The law with a share of the sensitivity, at ε = 1."""
    right = exact.exact_rate

    def wrong(*of: Any) -> Any:
        rate = right(*of)
        return replace(rate, rate=rate.rate / share)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "exact_rate", wrong)
        return log_law(data, 1.0, **options)


@pytest.mark.parametrize("options", [{}, {"sizes": (1, 2)}])
def test_half_the_sensitivity_fails(options: dict[str, Any]) -> None:
    """Pairs that use nearly all of ε, also where the largest of several sizes decides on Δ."""
    tight = [mirrored_pair(p, n) for p in (5, 8) for n in (10, 40)]
    assert largest_loss(tight, lambda data: cheap(data, 1.0, **options)) <= ROUNDING
    assert largest_loss(tight, lambda data: cheap(data, 0.5, **options)) > 1.0
    ends = [(one, other) for pair in tight for one, other in row_less(*pair)]
    assert largest_loss(ends, lambda data: cheap(data, 1.0, **options)) <= 0.5 * ROUNDING
    assert largest_loss(ends, lambda data: cheap(data, 0.5, **options)) > 0.5


def row_less(*datasets: Data) -> list[tuple[Data, Data]]:
    """Each table without its first row, on which the two differ."""
    found = []
    for data in datasets:
        old = data.instance
        rest = make(old.X[1:], old.y[1:], old.support_size, old.coef_bound, loss=old.loss)
        found.append((rest, data))
    return found


@pytest.mark.parametrize("loss", BOX)
def test_box_losses_under_replacing_a_row(loss: str) -> None:
    for options in ({}, {"sizes": (1, 2)}):
        audited = replaced_rows(loss, 16)[:: 1 if loss == "hinge" and not options else 9]
        lost = largest_loss(audited, lambda data, o=options: log_law(data, 1.0, **o))
        assert 0.02 < lost <= ROUNDING


@pytest.mark.deep
@pytest.mark.parametrize("loss", BOX)
def test_box_losses_on_all_pairs(loss: str) -> None:
    for options in ({}, {"sizes": (1, 2)}):
        audited = replaced_rows(loss, 16)
        assert largest_loss(audited, lambda d, o=options: log_law(d, 1.0, **o)) <= ROUNDING
        added = grown(loss, 7)
        assert largest_loss(added, lambda d, o=options: log_law(d, 1.0, **o)) <= 0.5 * ROUNDING


@pytest.mark.parametrize("loss", BOX)
def test_box_losses_under_adding_a_row(loss: str) -> None:
    audited = grown(loss, 7)[::3]
    assert largest_loss(audited, lambda data: log_law(data, 1.0)) <= 0.5 * ROUNDING


def drawn_log_law(instance: Instance, epsilon: float, **options: Any) -> np.ndarray:
    """The law of what is really drawn by cells: every path of one try, given acceptance."""
    judged = Judged(instance, epsilon, **options)
    law = judged.try_once()
    law.pop(None, None)
    total = math.fsum(law.values())
    return np.array([math.log(law[support] / total) for support in judged.supports])


def test_what_is_really_drawn_by_cells_is_private() -> None:
    """Not a formula: probabilities of all paths of the random source, on both sides."""
    replaced = [*pairs()[::67], mirrored_pair(5, 20)]
    for epsilon in (0.5, 4.0):
        lost = largest_loss(replaced, lambda data, e=epsilon: drawn_log_law(data, e))
        assert 0.5 * epsilon < lost <= epsilon * ROUNDING
        added = [*grown()[::67], *row_less(*mirrored_pair(5, 20))]
        lost = largest_loss(added, lambda data, e=epsilon: drawn_log_law(data, e))
        assert 0.2 * epsilon < lost <= 0.5 * epsilon * ROUNDING
    sizes = largest_loss(replaced[::3], lambda data: drawn_log_law(data, 1.0, sizes=(1, 2)))
    assert sizes <= ROUNDING


@pytest.mark.deep
def test_box_losses_really_drawn_by_cells_are_private() -> None:
    for loss in BOX:
        replaced = replaced_rows(loss, 16)[::50]
        assert largest_loss(replaced, lambda data: drawn_log_law(data, 1.0)) <= ROUNDING
        added = grown(loss, 7)[::60]
        assert largest_loss(added, lambda data: drawn_log_law(data, 1.0)) <= 0.5 * ROUNDING
