"""Near columns, the connected sets of them, and bounds by the clusters of every set."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from mipselect import Instance
from mipselect.arrays import FloatArray
from mipselect.datasets import correlated_gaussian
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.least_squares.clusters import (
    by_clusters,
    cluster_gains,
    far_sums,
    largest_by_first,
)
from mipselect.search.least_squares.near_columns import LiveSets, NearColumns, near_columns
from mipselect.search.least_squares.node import SquaredNode, squared_node
from mipselect.search.tuning import TUNING, Near
from tests.support.designs import random_instance


def prepared(seed: int) -> PreparedSquared:
    problem = random_instance(seed, max_p=14, max_s=5).prepared
    return problem


def near_by(degree: int) -> Near:
    return replace(TUNING.near, degree=degree)


def nearness(problem: PreparedSquared) -> FloatArray:
    G = problem.gram.full()
    scale = np.sqrt(np.diagonal(G) + problem.ridge)
    R = np.abs(G) / np.multiply.outer(scale, scale)
    np.fill_diagonal(R, 0.0)
    return np.asarray(R)


def is_connected(members: tuple[int, ...], near: NDArray[np.bool_]) -> bool:
    reached, waiting = {members[0]}, [members[0]]
    while waiting:
        j = waiting.pop()
        new = [k for k in members if near[j, k] and k not in reached]
        reached.update(new)
        waiting.extend(new)
    return len(reached) == len(members)


SEEDS = [seed for seed in range(60) if prepared(seed).features.count >= 3]


@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_connected_sets_are_all_there_and_what_is_not_near_is_far(seed: int, degree: int) -> None:
    problem = prepared(seed)
    found, R = near_columns(problem, near_by(degree)), nearness(problem)
    p = len(R)
    near = np.zeros((p, p), dtype=bool)
    pairs = found.sets(2)
    assert pairs is not None
    near[tuple(pairs.members)] = near[tuple(pairs.members[::-1])] = True
    assert near.sum() <= degree * p
    # No pair that is left out is nearer than one that is listed.
    assert R[~near].max(initial=0.0) <= R[near].min(initial=1.0) * (1.0 + 1e-12)
    far = -np.sort(-np.where(near, 0.0, R), axis=1)[:, : TUNING.near.tops]
    np.testing.assert_allclose(found.far_entries[: far.shape[1]].T, far, rtol=1e-12)
    for q in range(2, min(p, 5) + 1):
        sets = found.sets(q)
        assert sets is not None
        members = [K for K in itertools.combinations(range(p), q) if is_connected(K, near)]
        assert sorted(map(tuple, sets.members.T.tolist())) == members
        for K, entries in zip(sets.members.T, sets.entries.T, strict=True):
            block = problem.gram.full()[np.ix_(K, K)]
            np.testing.assert_array_equal(entries, block[np.triu_indices(q, 1)])


@pytest.mark.parametrize("seed", range(20))
def test_largest_by_first_is_the_largest_sum_of_disjoint_sizes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, L = int(rng.integers(2, 6)), 7
    with_first = [-np.sort(-rng.exponential(size=L))]
    for _ in range(1, m):
        with_first.append(np.where(rng.random(L) < 0.6, rng.exponential(size=L), 0.0))
    found = largest_by_first(with_first)
    for k in range(L):
        largest = 0.0
        for number in range(m):
            for firsts in itertools.combinations(range(k + 1, L), number):
                for sizes in itertools.product(range(1, m + 1), repeat=number + 1):
                    if sum(sizes) == m:
                        gain = sum(
                            with_first[q - 1][j] for q, j in zip(sizes, (k, *firsts), strict=True)
                        )
                        largest = max(largest, gain)
        # It may take the same cluster twice, which is no less.
        assert found[k] >= largest * (1.0 - 1e-12)
        if m == 2:
            assert found[k] == pytest.approx(max(largest, with_first[0][k]))


def wide_subproblem(seed: int, size: int) -> tuple[SquaredNode, NearColumns]:
    """More features than rows that are looked at, and a base."""
    rng = np.random.default_rng(seed)
    n, p = 200, int(rng.integers(40, 120))
    X, y = correlated_gaussian(n, p, rho=0.6, snr=2.0, support_size=4, seed=seed)
    scales = np.exp(rng.normal(scale=0.5, size=p))
    instance = Instance(
        X * scales, y, support_size=4, x_bound=2.0, y_bound=5.0, coef_bound=2.0, ridge=2.0
    )
    problem = instance.prepared
    base, near = (
        np.sort(rng.choice(p, int(rng.integers(0, 4)), replace=False)),
        near_columns(problem),
    )
    live = np.setdiff1d(np.arange(problem.features.count), base)
    return squared_node(problem, base, size, live, 0.0, None), near


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("seed", range(15))
def test_far_sums_are_not_below_those_of_any_row(seed: int, size: int) -> None:
    sub, near = wide_subproblem(seed, size)
    place = np.full(len(near.scale), -1)
    place[sub.live] = np.arange(len(sub.live))
    pairs = LiveSets(near).up_to(2)
    assert pairs is not None
    sets, (at,) = pairs.among(place)
    alone, omega = sub.g**2 / sub.h, (sub.whitened**2).sum(axis=0) / sub.h
    found = far_sums(sub, sets, place, alone, omega)
    H = sub.dense()
    C = np.abs(H) / np.sqrt(np.multiply.outer(sub.h, sub.h))
    np.fill_diagonal(C, 0.0)
    C[tuple(at)] = C[tuple(at[::-1])] = 0.0
    sums = np.cumsum(-np.sort(-C, axis=1), axis=1)[:, : size - 1]
    assert np.all(sums <= found[1:].T)
    assert np.all(found[0] > 0.0)
    # Those that are looked at are known to the last bit but for the allowance.
    assert np.isclose(found[1:].T, sums, rtol=0.0, atol=1e-9).sum() >= 16 * (size - 1)


@pytest.mark.parametrize("q", [2, 3, 4])
@pytest.mark.parametrize("seed", range(10))
def test_gains_of_clusters_are_those_of_their_blocks(seed: int, q: int) -> None:
    sub, near = wide_subproblem(seed, 4)
    sets = near.sets(q)
    assert sets is not None
    place = np.full(len(near.scale), -1)
    place[sub.live] = np.arange(len(sub.live))
    at = place[sets.members]
    inside = (at >= 0).all(axis=0)
    at, entries = at[:, inside], sets.entries[:, inside]
    far = np.random.default_rng(seed).uniform(0.0, 0.4, len(sub.live))
    found = cluster_gains(sub, entries, at, far)
    H, finite = sub.dense(), 0
    for K, gain in zip(at.T, found, strict=True):
        M = H[np.ix_(K, K)] - np.diag(far[K] * sub.h[K])
        scaled = M / np.sqrt(np.multiply.outer(sub.h[K], sub.h[K]))
        if np.isfinite(gain):
            finite += 1
            assert gain == pytest.approx(sub.g[K] @ np.linalg.solve(M, sub.g[K]), rel=1e-9)
        else:
            assert np.linalg.eigvalsh(scaled)[0] < 0.06
    assert finite > 0


@pytest.mark.parametrize("seed", range(200))
def test_few_features_leave_no_room_for_error(seed: int) -> None:
    """Where all or all but one are in the set, nothing else makes up for a wrong bound."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 6))
    mixing = np.eye(p) + rng.uniform(0.0, 1.5) * rng.standard_normal((p, p))
    X = rng.standard_normal((40, p)) @ mixing
    X += rng.choice([0.0, 20.0]) * rng.standard_normal((40, 1))
    coef = rng.standard_normal(p)
    y = X @ (coef - coef.mean()) + rng.standard_normal(40)
    instance = Instance(
        X, y, support_size=p - 1, x_bound=90.0, y_bound=90.0, coef_bound=90.0, ridge=1e-3
    )
    problem = instance.prepared
    none, everything = np.empty(0, dtype=np.intp), np.arange(p)
    for size in (p - 1, p):
        sub = squared_node(problem, none, size, everything, 0.0, None)
        H, sets = sub.dense(), np.array(list(itertools.combinations(range(p), size)))
        blocks = H[sets[:, :, None], sets[:, None, :]]
        solved = np.linalg.solve(blocks, sub.g[sets][:, :, None])[:, :, 0]
        gains = np.einsum("kj,kj->k", sub.g[sets], solved)
        for degree in range(1, p - 1):
            near = LiveSets(near_columns(problem, near_by(degree))).up_to(size)
            assert near is not None
            for needed in (-np.inf, float(gains.max()), np.inf):
                division, _, keep = by_clusters(sub, near, needed)
                first = np.argsort(division.order)[sets].min(axis=1)
                at_most = np.maximum(division.gains[first], needed)
                assert np.all(at_most >= gains * (1.0 - 1e-12))
                assert np.isin(sets[gains > needed], keep).all()
