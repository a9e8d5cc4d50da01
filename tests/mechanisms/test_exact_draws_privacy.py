"""Privacy of exact draws as it is defined: all supports of many pairs, both relations and laws."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from mipselect import ExponentialMechanism, Instance, PermuteAndFlip
from mipselect.mechanisms.supports import exact
from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.privacy.concentrated import bounded_range_rho
from tests.mechanisms.test_bounded_range import largest_rho, spread
from tests.support.exact_audit import (
    Data,
    largest_loss,
    make,
    mirrored_pair,
    neighbours,
    pairs,
    with_row,
)
from tests.support.soft_draws import Judged

ROUNDING = 1.0 + 1e-9
"""Probabilities are right to 1e-12 of themselves."""

BOX = ["hinge", "huber(0.3)", "quantile(0.5)", "quantile(0.9)"]
SETTINGS: list[dict[str, Any]] = [
    {},
    {"sizes": (1, 3)},
    {"sizes": range(1, 5), "complexity": 0.0, "prior_weights": [1.0, 9.0, 0.1, 2.0, 1e-3]},
    {"sizes": (2,), "prior_weights": [1e100, 1e-100, 1.0, 1.0, 1e50]},
]
KINDS = pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip])
Kind = type[ExactDraws]
Pairs = tuple[tuple[Data, Data], ...]


def log_law(data: Data, kind: Kind, epsilon: float, **options: Any) -> np.ndarray:
    """Log probabilities of all supports, by size and then in their order."""
    if "prior_weights" in options:
        options["prior_weights"] = np.resize(options["prior_weights"], data.instance.n_features)
    mechanism = kind(data.instance, epsilon, **options)
    assert mechanism.listed
    return np.asarray(mechanism._draws._law.log_probabilities())  # type: ignore[union-attr]


def law_of(kind: Kind, epsilon: float, **options: Any) -> Any:
    return partial(log_law, kind=kind, epsilon=epsilon, **options)


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
def grown(loss: str = "squared", each: int = 26) -> Pairs:
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


@cache
def replaced_rows(loss: str, each: int) -> Pairs:
    rng = np.random.default_rng(10)
    found: list[tuple[Data, Data]] = [mirrored_pair(5, 20, loss=loss)]
    for k in range(8):
        data = start(rng, loss, k)
        others = neighbours(data, each, seed=k)
        found += [(data, other) for other in others if both_classes(other)]
    return tuple(found)


def both_classes(data: Data) -> bool:
    return data.instance.classes is None or len(np.unique(data.instance.y)) == 2


def row_less(*datasets: Data) -> list[tuple[Data, Data]]:
    """Each table without its first row, on which the two differ."""
    found = []
    for data in datasets:
        old = data.instance
        rest = make(old.X[1:], old.y[1:], old.support_size, old.coef_bound, loss=old.loss)
        found.append((rest, data))
    return found


def test_there_are_enough_pairs() -> None:
    assert len(pairs()) >= 500
    assert len(grown()) >= 500
    assert sum(len(replaced_rows(loss, 16)) for loss in BOX) >= 500


@pytest.mark.parametrize("options", SETTINGS)
@KINDS
def test_squared_loss_under_both_relations(kind: Kind, options: dict[str, Any]) -> None:
    """ε where a row is replaced, half of it where one is added; hostile pairs use most of it."""
    epsilon = 0.5 if "sizes" in options else 4.0
    law = law_of(kind, epsilon, **options)
    lost = largest_loss(law, pairs())
    assert (0.1 if options else 0.8) * epsilon < lost <= epsilon * ROUNDING
    assert largest_loss(law, grown()) <= epsilon / 2.0 * ROUNDING


@pytest.mark.parametrize("options", [{}, {"sizes": (1, 2)}])
@KINDS
def test_half_the_sensitivity_fails(
    kind: Kind, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs that use nearly all of ε, also where the largest of several sizes decides on Δ."""
    tight = [mirrored_pair(p, n) for p in (5, 8) for n in (10, 40)]
    ends = [end for pair in tight for end in row_less(*pair)]
    law = law_of(kind, 1.0, **options)
    assert largest_loss(law, tight) <= ROUNDING
    assert 0.3 < largest_loss(law, ends) <= 0.5 * ROUNDING
    right = exact.exact_rate

    def twice(*of: Any) -> Any:
        rate = right(*of)
        return replace(rate, rate=2.0 * rate.rate)

    monkeypatch.setattr(exact, "exact_rate", twice)
    assert largest_loss(law, tight) > 1.0
    assert largest_loss(law, ends) > 0.5


@pytest.mark.parametrize("loss", BOX)
@KINDS
def test_box_losses_under_both_relations(kind: Kind, loss: str) -> None:
    for options in ({}, {"sizes": (1, 2)}):
        audited = replaced_rows(loss, 16)[:: 1 if loss == "hinge" and not options else 9]
        lost = largest_loss(law_of(kind, 1.0, **options), audited)
        assert 0.02 < lost <= ROUNDING
    assert largest_loss(law_of(kind, 1.0), grown(loss, 7)[::3]) <= 0.5 * ROUNDING


@pytest.mark.deep
@pytest.mark.parametrize("loss", BOX)
def test_box_losses_on_all_pairs(loss: str) -> None:
    for options in ({}, {"sizes": (1, 2)}):
        law = law_of(ExponentialMechanism, 1.0, **options)
        assert largest_loss(law, replaced_rows(loss, 16)) <= ROUNDING
        assert largest_loss(law, grown(loss, 7)) <= 0.5 * ROUNDING


def drawn_log_law(data: Data, epsilon: float, **options: Any) -> np.ndarray:
    """The law of what is really drawn by cells: every path of one try, given acceptance."""
    judged = Judged(data.instance, epsilon, **options)
    law = judged.try_once()
    law.pop(None, None)
    total = math.fsum(law.values())
    return np.array([math.log(law[support] / total) for support in judged.supports])


def test_what_is_really_drawn_by_cells_is_private() -> None:
    """Not a formula: probabilities of all paths of the random source, on both sides."""
    replaced = [*pairs()[::67], mirrored_pair(5, 20)]
    added = [*grown()[::67], *row_less(*mirrored_pair(5, 20))]
    for epsilon in (0.5, 4.0):
        law = partial(drawn_log_law, epsilon=epsilon)
        assert 0.5 * epsilon < largest_loss(law, replaced) <= epsilon * ROUNDING
        assert 0.2 * epsilon < largest_loss(law, added) <= 0.5 * epsilon * ROUNDING
    sizes = largest_loss(partial(drawn_log_law, epsilon=1.0, sizes=(1, 2)), replaced[::3])
    assert sizes <= ROUNDING


@pytest.mark.deep
def test_box_losses_really_drawn_by_cells_are_private() -> None:
    for loss in BOX:
        law = partial(drawn_log_law, epsilon=1.0)
        assert largest_loss(law, replaced_rows(loss, 16)[::50]) <= ROUNDING
        assert largest_loss(law, grown(loss, 7)[::60]) <= 0.5 * ROUNDING


@KINDS
def test_blocks_of_rows(kind: Kind) -> None:
    """Neighbours in the same partitions: a row at its worst, constant blocks, a huge value."""
    rng = np.random.default_rng(1)
    audited = []
    for k in range(24):
        X = rng.choice([-1.0, 1.0], (12, 5)) * (rng.random((12, 5)) if k % 2 else 1.0)
        y = X[:, 0] + 0.5 * X[:, 1] if k % 3 else rng.standard_normal(12)
        other, row = X.copy(), int(rng.integers(12))
        other[row] = [0.0, 1e300, -1.0, 1e-300, X[(row + 1) % 12, 4]] if k % 4 else -X[row]
        moved = y.copy()
        moved[row] = [-y[row], 1e300, 0.0][k % 3]
        options: Any = {"support_size": 2, "block_rows": 2, "partitions": 2, "partition_seed": k}
        one, two = (
            Data(Instance.from_blocks(*data, **options)) for data in ((X, y), (other, moved))
        )
        audited.append((one, two))
    assert 0.3 < largest_loss(law_of(kind, 3.0), audited) <= 3.0 * ROUNDING


def test_the_law_is_that_of_the_supports_in_their_order() -> None:
    data = pairs()[0][0]
    mechanism = PermuteAndFlip(data.instance, 2.0, sizes=(1, 2))
    supports = [s for size in (1, 2) for s in combinations(range(data.instance.p), size)]
    logs = [mechanism.log_probability(support) for support in supports]
    np.testing.assert_allclose(log_law(data, PermuteAndFlip, 2.0, sizes=(1, 2)), logs, atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_permute_and_flip_is_not_of_bounded_range_and_states_no_more_than_a_pure_rho(
    epsilon: float,
) -> None:
    apart = rho = 0.0
    for pair in (*pairs()[::3], *(mirrored_pair(p, 40) for p in (40, 200))):
        logs, moved = (log_law(one, PermuteAndFlip, epsilon) for one in pair)
        apart, rho = max(apart, spread(logs, moved)), max(rho, largest_rho(logs, moved))
    stated = PermuteAndFlip(pairs()[0][0].instance, epsilon).guarantee.rho
    assert apart > 1.1 * epsilon
    assert stated is not None
    assert rho <= stated
    assert stated == 4.0 * (bounded_range_rho(epsilon) or 0.0)
