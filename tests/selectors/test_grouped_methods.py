"""Methods of rows on features of several columns: their scores by hand, exact sensitivities."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from mipselect.blocks.grid import on_grid
from mipselect.problem.layout import Layout, laid_out
from mipselect.selectors import KendallSelector, MCMCSelector, SampleAggregateSelector, SISSelector
from mipselect.selectors.kendall import SENSITIVITIES
from mipselect.selectors.sample_aggregate import lasso_ballot
from mipselect.selectors.sis import exact_lengths, sums_of_rows
from tests.support.all_selectors import Table

GROUPS = [[3, 0, 5], [1], [6, 2]]
BOUNDS: dict[str, Any] = {"x_bound": [0.9, 0.5, 2.0], "y_bound": 0.7, "coef_bound": 1.1}
HOSTILE = (0.0, 1.0, -1.0, 0.3, 1e-9, 1e6, -1e308, 1.7e308, 5e-324)


def rows(n: int = 60, seed: int = 0, **changes: Any) -> Table:
    """Columns 4 and 7 are always in."""
    X = np.random.default_rng(seed).normal(size=(n, 8))
    y = 0.5 * X[:, 3] - 0.4 * X[:, 5] + 0.2 * X[:, 2] + 0.3 * X[:, 4]
    given = {"groups": GROUPS, "always": [4, 7], **BOUNDS, **changes}
    return Table(X, y, given.pop("support_size", 2), **given)


def neighbour(given: Table, rng: np.random.Generator, relation: str, **changes: Any) -> Table:
    """One row is exchanged for a hostile one, or left out."""
    X, y = given.X.copy(), given.y.copy()
    if relation == "add-remove":
        X, y = X[1:], y[1:]
    elif rng.random() < 0.3:
        X[0], y[0] = -X[0], y[0]
    else:
        X[0], y[0] = rng.choice(HOSTILE, X.shape[1]), rng.choice(HOSTILE)
    return given.like(X, y, **changes)


def clipped(block: np.ndarray, bound: float) -> np.ndarray:
    lengths = np.linalg.norm(block, axis=1, keepdims=True)
    return block * np.minimum(1.0, bound / lengths)


def lengths(layout: Layout, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return exact_lengths(sums_of_rows(layout, X, on_grid(y, 1.0)), layout.features.starts)


def centred_lengths(layout: Layout, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    sums = sums_of_rows(layout, X, on_grid(y, 1.0))
    return exact_lengths(sums, layout.features.starts, rows=len(y))


def test_sis_scores_features_by_the_length_of_their_correlations() -> None:
    given = rows()
    y = np.clip(given.y, -0.7, 0.7) / 0.7
    wanted = [
        np.linalg.norm(clipped(given.X[:, group], bound).T @ y) / bound
        for group, bound in zip(GROUPS, BOUNDS["x_bound"], strict=True)
    ]
    found: Any = given.law(SISSelector(epsilon=1.0))
    # Rows are cut to the grid.
    np.testing.assert_allclose(found.scores, wanted, atol=60 * 2.0**-15)


@pytest.mark.parametrize(("relation", "most"), [("add-remove", 1), ("replace-one", 2)])
@pytest.mark.parametrize("widths", [(1, 2, 3), (200, 1, 7)])
def test_the_sensitivity_of_sis_holds_to_the_last_bit(
    relation: str, most: int, widths: tuple[int, ...]
) -> None:
    """Scores are multiples of GRID², so this is exact; it is reached, and half would fail."""
    rng = np.random.default_rng(2)
    ends = np.cumsum((0, *widths))
    groups = [range(i, j) for i, j in pairwise(ends)]
    layout = laid_out(
        int(ends[-1]), None, groups=groups, always=None, intercept=False,
        x_bound=[0.7, 1.0, 1 / 3],
    )  # fmt: skip
    worst = 0.0
    with np.errstate(all="ignore"):
        for k in range(60):
            X, y = rng.normal(size=(9, ends[-1])) * 10.0 ** (k % 5 - 2), np.ones(9)
            whole = lengths(layout, X, y)
            other = X.copy()
            other[0] = -X[0] if k % 2 else rng.choice(HOSTILE, ends[-1])
            if k % 3 == 0:
                X[0], other[0] = X[1:].sum(axis=0), -X[1:].sum(axis=0)
                whole = lengths(layout, X, y)
            rest = other if relation == "replace-one" else other[1:]
            moved = np.abs(whole - lengths(layout, rest, y[: len(rest)]))
            assert (moved <= most).all()
            worst = max(worst, float(moved.max()))
            order = rng.permutation(9)
            np.testing.assert_array_equal(lengths(layout, X[order], y), whole)
            for row in X:
                for length in lengths(layout, row[None], np.ones(1)):
                    assert length <= 1.0
    assert worst > 0.9 * most


def by_signs(given: Table) -> np.ndarray:
    """|τ̂| of all columns and the target with each other."""
    table = np.column_stack([given.X, given.y])
    signs = np.sign(table[:, None, :] - table[None, :, :])
    tau = np.einsum("abi,abj->ij", signs, signs) / 2.0 / (given.n - 1)
    return np.abs(tau)


@pytest.mark.parametrize("redundancy", ["max", "mean"])
def test_kendall_takes_the_best_column_of_a_feature(redundancy: str) -> None:
    given, combined = rows(), {"max": np.max, "mean": np.mean}[redundancy]
    tau = by_signs(given)
    method = KendallSelector(epsilon=1.0, relation="replace-one", redundancy=redundancy)
    found: Any = given.law(method)
    for chosen in [(), (0,), (1,), (0, 2)]:
        wanted = np.array([tau[group, 8].max() for group in GROUPS])
        if chosen:
            wanted -= combined(
                [[tau[np.ix_(GROUPS[j], group)].max() for group in GROUPS] for j in chosen], axis=0
            )
        np.testing.assert_allclose(found.scores(chosen), wanted, atol=1e-6)
    assert found.sensitivities == (2.0, 4.0)


@pytest.mark.parametrize("relation", SENSITIVITIES)
def test_the_sensitivities_of_kendall_hold_over_hostile_neighbours(relation: str) -> None:
    rng, one = np.random.default_rng(4), SENSITIVITIES[relation]
    worst = 0.0
    for k in range(40):
        redundancy = ("max", "mean")[k // 2 % 2]
        method = KendallSelector(epsilon=1.0, relation=relation, redundancy=redundancy)
        given = rows(12, seed=k, support_size=3)
        if k % 2:
            target = np.arange(12.0)
            target[0] = 20.0 * (-1) ** (k // 2)
            table = np.outer(np.arange(12.0), np.ones(8))
            table[:, [1, 6, 2]] *= -1.0
            given = given.like(table, target)
        other = neighbour(given, rng, relation)
        if k % 2 and relation == "replace-one":
            y = given.y.copy()
            y[0] *= -1.0
            other = given.like(given.X, y)
        laws: list[Any] = [data.law(method, 7) for data in (given, other)]
        for chosen in [(), (0,), (0, 2)]:
            moved = np.abs(laws[0].scores(chosen) - laws[1].scores(chosen)).max()
            assert moved <= laws[0].sensitivities[len(chosen)] + 1e-9
            if not chosen:
                worst = max(worst, moved / one)
    assert 0.9 < worst <= 1.0 + 1e-9


def test_centred_scores_are_lengths_of_covariances_and_move_by_four_at_most() -> None:
    """Scores are multiples of GRID², so this is exact; it is reached, and half would fail."""
    rng = np.random.default_rng(5)
    groups = [range(0, 1), range(1, 4), range(4, 24)]
    layout = laid_out(
        24, None, groups=groups, always=None, intercept=True,
        x_bound=[0.7, 1.0, 1 / 3],
    )  # fmt: skip
    worst = dict.fromkeys(("replaced", "added"), 0.0)
    with np.errstate(all="ignore"):
        for k in range(300):
            n = int(rng.choice([1, 2, 3, 9, 40]))
            X = rng.normal(size=(n, 24)) * 10.0 ** (k % 5 - 2)
            y = np.clip(rng.normal(size=n) * rng.choice([0.3, 3.0]), -1.0, 1.0)
            if k % 2:
                X[1:], y[1:] = X[0], y[0] = 99.0 * rng.choice([-1, 1], 24), 1.0
            whole = centred_lengths(layout, X, y)
            inside = layout.clipped(X)[:, :24] / np.repeat(layout.bounds, [1, 3, 20])
            means = inside - inside.mean(axis=0)
            wanted = [np.linalg.norm(means[:, group].T @ (y - y.mean())) for group in groups]
            np.testing.assert_allclose(whole, wanted, atol=40 * n * 2.0**-15)
            other, changed = X.copy(), y.copy()
            other[0] = -X[0] if k % 3 else rng.choice(HOSTILE, 24)
            changed[0] = rng.choice([-1.0, 1.0, y[0]])
            moved = np.abs(whole - centred_lengths(layout, other, changed)).max()
            worst["replaced"] = max(worst["replaced"], float(moved))
            more = np.vstack([X, other[:1]]), np.append(y, changed[0])
            moved = np.abs(whole - centred_lengths(layout, *more)).max()
            worst["added"] = max(worst["added"], float(moved))
    assert all(3.5 < most <= 4.0 for most in worst.values()), worst


def test_sis_with_an_intercept_is_centred() -> None:
    """A column that hardly varies goes with the mean of y, and tells nothing of it."""
    rng = np.random.default_rng(0)
    n = 3000
    hardly = np.where(rng.random(n) < 0.03, 1.0, -1.0)
    matters = rng.uniform(-1.0, 1.0, n)
    y = np.clip(-0.6 + 0.3 * matters + 0.1 * rng.normal(size=n), -1.0, 1.0)
    table = np.column_stack([hardly, matters])
    for intercept, chosen in ((False, (0,)), (True, (1,))):
        given = Table(table, y, 1, x_bound=1.0, y_bound=1.0, intercept=intercept)
        mechanism = given.law(SISSelector(epsilon=1.0))
        assert mechanism.sensitivity == (4.0 if intercept else 1.0)  # type: ignore[attr-defined]
        assert {tuple(mechanism.sample(seed)) for seed in range(20)} == {chosen}


@pytest.mark.parametrize("penalised", [False, True])
def test_blocks_vote_for_features(penalised: bool) -> None:
    """The Lasso by cvxpy; with a penalty on the intercept or none."""
    given = rows(40, seed=3)
    features = given.problem.layout.features
    table = given.columns[:, :6]
    alpha = 0.05
    coef, level = cp.Variable(6), cp.Variable()
    fit = given.y - table @ coef - level
    loss = cp.sum_squares(fit) / 80.0 + alpha * (cp.norm1(coef) + penalised * cp.abs(level))
    cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL)
    lengths = [np.linalg.norm(coef.value[i:j]) for i, j in ((0, 3), (3, 4), (4, 6))]
    order = [j for j in np.argsort(lengths)[::-1] if lengths[j] > 1e-6]
    options: dict[str, Any] = {"features": features, "penalise_intercept": penalised}
    assert lasso_ballot(table, given.y, k=3, alpha=alpha, **options) == order
    assert lasso_ballot(table, given.y, k=1, features=features) == [0]


def test_one_row_changes_one_ballot_whatever_is_in_it() -> None:
    rng = np.random.default_rng(7)
    blocks = [list(range(k, 30, 3)) for k in range(3)]
    for k in range(30):
        given = rows(30, seed=k)
        other = neighbour(given, rng, "replace-one")
        with np.errstate(all="ignore"):
            votes = [
                data.law(SampleAggregateSelector(epsilon=1.0, n_blocks=3)).votes(blocks)  # type: ignore[attr-defined]
                for data in (given, other)
            ]
        assert votes[0].shape == (3,)
        assert votes[0].sum() == 6.0
        assert np.abs(votes[0] - votes[1]).max() <= 1.0


@pytest.mark.parametrize("intercept", [False, True])
def test_mcmc_fits_all_columns_in_one_ball(intercept: bool) -> None:
    given = rows(25, intercept=intercept)
    found: Any = given.law(MCMCSelector(epsilon=1.0, coef_bound=0.6))
    assert found.sensitivity == pytest.approx((0.7 + 0.6 * 2.0) ** 2)
    parts = [clipped(given.X[:, g], b) for g, b in zip(GROUPS, BOUNDS["x_bound"], strict=True)]
    fixed = [clipped(given.X[:, [j]], 2.0) for j in (4, 7)] + [np.ones((25, 1))] * intercept
    for pair in combinations(range(3), 2):
        table = np.hstack([parts[j] for j in pair] + fixed)
        coef = cp.Variable(table.shape[1])
        squares = cp.sum_squares(np.clip(given.y, -0.7, 0.7) - table @ coef)
        problem = cp.Problem(cp.Minimize(squares), [cp.norm1(coef) <= 0.6])
        problem.solve(solver=cp.CLARABEL)
        assert found.values(pair) == pytest.approx(problem.value, rel=1e-5)


def test_the_sensitivity_of_mcmc_holds_and_does_not_grow_with_columns() -> None:
    rng = np.random.default_rng(8)
    method, worst = MCMCSelector(epsilon=1.0), 0.0
    for k in range(40):
        given = rows(6, seed=k, intercept=k % 2 == 0)
        other = neighbour(given, rng, "replace-one", intercept=k % 2 == 0)
        one, two = given.law(method), other.law(method)
        for pair in combinations(range(3), 2):
            moved = abs(one.values(pair) - two.values(pair))  # type: ignore[attr-defined]
            assert moved <= one.sensitivity * (1.0 + 1e-9)  # type: ignore[attr-defined]
            worst = max(worst, moved / one.sensitivity)  # type: ignore[attr-defined]
    assert worst > 0.01
    found = []
    for width in (1, 200):
        table = rng.normal(size=(5, width + 1))
        wide = Table(
            table, table[:, 0], 1, groups=[range(width), [width]], x_bound=1.0, y_bound=1.0,
            coef_bound=1.0, intercept=True,
        )  # fmt: skip
        assert method.radius_of(wide.problem) == pytest.approx(2**0.5)
        found.append(wide.law(method).sensitivity)  # type: ignore[attr-defined]
    assert found[0] == found[1]
    narrow = Table(np.ones((3, 1)), np.ones(3), 1, x_bound=0.1, y_bound=1.0, intercept=True)
    with_ones: Any = narrow.law(MCMCSelector(epsilon=1.0, coef_bound=2.0))
    assert with_ones.sensitivity == 9.0
