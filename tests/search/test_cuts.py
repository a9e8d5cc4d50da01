"""Every cut must hold at every support of its family."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.bounds.modular import Budget
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.branch_and_bound import around_points
from mipselect.search.least_squares.children import children_of
from mipselect.search.least_squares.children_expansion import best_expanded_children
from mipselect.search.least_squares.clusters import by_clusters
from mipselect.search.least_squares.curvature import Curvature, SpectralCurvature
from mipselect.search.least_squares.cuts import sparse_diagonal_cut
from mipselect.search.least_squares.expansion import best_expanded
from mipselect.search.least_squares.measured_curvature import (
    curvature_of,
    spectral_curvatures,
)
from mipselect.search.least_squares.near_columns import LiveSets, near_columns
from mipselect.search.least_squares.node import SquaredNode, squared_node
from mipselect.search.least_squares.shares import gain_shares, largest_gains, screened
from mipselect.search.tuning import TUNING
from tests.support.designs import DESIGNS, Design, random_instance
from tests.support.searches import tree_of


def do_nothing() -> None:
    pass


def close_below(bound: np.ndarray, value: np.ndarray) -> bool:
    return bool(np.all(bound <= value * (1 + 1e-9)))


FIRST = [24, 26, 44]
"""Seeds at which a share is found that leaves out one of the other features."""


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("seed", [*FIRST, *(seed for seed in range(60) if seed not in FIRST)])
def test_sparse_diagonal_cuts_and_shares(seed: int, design: Design) -> None:
    instance = design(seed)
    problem = instance.prepared
    assert isinstance(problem, PreparedSquared)
    rng = np.random.default_rng(seed)
    s, p = instance.support_size, instance.n_features
    for base_size in range(s):
        base = np.sort(rng.choice(p, base_size, replace=False))
        size = s - base_size
        outside = np.setdiff1d(np.arange(p), base)
        live = np.sort(rng.choice(outside, rng.integers(size, len(outside) + 1), replace=False))
        multiplier = float(rng.choice([0.0, 3.0 * instance.ridge]))
        tops = problem.gram.row_tops(live, s, do_nothing) if problem.features.singles else None
        sub = squared_node(problem, base, size, live, multiplier, tops)
        sets = np.array(list(itertools.combinations(range(len(live)), size)))
        supports = np.array([np.concatenate([base, live[row]]) for row in sets], dtype=np.intp)
        values = instance.objectives(supports)
        for count in range(size + 1):
            chosen = np.sort(rng.choice(len(live), count, replace=False))
            cut = sparse_diagonal_cut(sub, chosen)
            assert close_below(-cut.at(sets), values)
        shares = gain_shares(sub)
        bounds = np.array([sub.lower_bound(float(shares[row].sum())) for row in sets])
        assert close_below(bounds, values)
        if problem.features.singles:
            assert close_below(sub.lower_bound(float(largest_gains([sub])[0])), values.min())
        threshold = float(np.median(values))
        kept = screened(sub, threshold, do_nothing)
        below = supports[values < threshold]
        assert set(below[:, base_size:].ravel()) <= set(kept.live)
        none, everything = np.empty(0, dtype=np.intp), np.arange(p)
        limits = replace(TUNING, spectrum=replace(TUNING.spectrum, shares=(1e-3, 0.1, 1.0)))
        whole = squared_node(problem, none, 1, everything, 0.0, None, limits)
        curvatures = [curvature_of(whole), *spectral_curvatures(whole)]
        if problem.features.plain:
            G = problem.gram.full()
            t = float(rng.choice([1e-2, 1.0])) * float(np.median(np.diagonal(G)))
            slack = 1e-9 * (t + float(np.trace(G)))
            # tG(G + tI)⁻¹ ⪯ G has smaller eigenvalues than what a search takes.
            sums = t * G @ np.linalg.inv(G + t * np.eye(p)) if t > 0.0 else None
            curvatures += [] if sums is None else [SpectralCurvature((sums + sums.T) / 2.0, slack)]
        split = int(rng.integers(0, min(size, len(live) - 1) + 1)) if len(live) > size else 0
        halves = [np.arange(len(live) // 2), np.arange(len(live) // 2, len(live))]
        budgets = [Budget(halves[0], split), Budget(halves[1], size - split)]
        starts = (np.full(len(live), size / len(live)), np.eye(len(live))[0])
        for start, curvature in itertools.product(starts, curvatures):
            centred = best_expanded(sub, curvature.at(sub), budgets, start, -np.inf, 0.02)
            gains = centred.constant + centred.terms[sets].sum(axis=1)
            assert close_below(np.array([sub.lower_bound(float(gain)) for gain in gains]), values)
        if problem.features.singles and size > 1:
            check_children(sub, sets, values, curvatures, rng)
            check_clusters(sub, sets, values, rng)
        known = Collector(1, 0.0)
        known.offer(supports[:1], np.array([threshold]))
        kept = around_points(sub, tree_of(problem, collector=known))
        assert set(below[:, base_size:].ravel()) <= set(kept.live)
        assert kept.bound is not None
        assert len(kept.bound.terms) == len(kept.live)


def check_children(
    sub: SquaredNode,
    sets: IntArray,
    values: FloatArray,
    curvatures: list[Curvature],
    rng: np.random.Generator,
) -> None:
    """The bound of every child holds at all supports that belong to it; `sets` are positions."""
    order = rng.permutation(len(sub.live))
    families = len(order) - sub.size + 1
    start = int(rng.integers(0, families))
    stop = int(rng.integers(start + 1, families + 1))
    children = children_of(sub, order, start, stop)
    places = np.sort(np.argsort(order)[sets], axis=1)
    own = (start <= places[:, 0]) & (places[:, 0] < stop)
    k, later = places[own, 0] - start, places[own, 1:] - start - 1
    for curvature in curvatures:
        needed = children.needed_gains(rng.choice(values)) - rng.exponential(1e6)
        convexity = curvature.of_children(children)
        constants, terms, worst, _ = best_expanded_children(children, convexity, needed)
        assert not terms[~children.after].any()
        gains = constants[k] + terms[k[:, None], later].sum(axis=1)
        assert np.all(gains <= worst[k] * (1.0 + 1e-12))
        proven = [sub.lower_bound(float(gain)) for gain in gains + children.step[k] ** 2]
        assert close_below(np.array(proven), values[own])


def check_clusters(
    sub: SquaredNode, sets: IntArray, values: FloatArray, rng: np.random.Generator
) -> None:
    """The division by clusters bounds every set by what its first feature says."""
    looked_at, degree = int(rng.choice([1, 16])), int(rng.integers(1, 5))
    limits = replace(TUNING.near, degree=degree, looked_at=looked_at)
    sub = replace(sub, tuning=replace(TUNING, near=limits))
    near = LiveSets(near_columns(sub.problem, limits)).up_to(sub.size)
    if near is None:
        return
    for needed in (-np.inf, sub.needed_gain(float(rng.choice(values))), np.inf):
        division, inside, keep = by_clusters(sub, near, needed)
        first = np.argsort(division.order)[sets].min(axis=1)
        at_most = np.maximum(division.gains[first], needed)
        at_most[np.isin(sets, keep, invert=True).any(axis=1)] = needed
        proven = [sub.lower_bound(float(gain)) for gain in at_most]
        assert close_below(np.array(proven), values)
        assert all(np.isin(members, sub.live).all() for members in inside.members)


@pytest.mark.parametrize("seed", range(40))
def test_a_cut_without_norm_constraint_is_tight_at_its_own_support(seed: int) -> None:
    instance = random_instance(seed)
    problem = instance.prepared
    assert isinstance(problem, PreparedSquared)
    s = instance.support_size
    everything = np.arange(instance.p)
    sub = squared_node(
        problem,
        np.empty(0, dtype=np.intp),
        s,
        everything,
        0.0,
        problem.gram.row_tops(everything, s, do_nothing),
    )
    chosen = np.arange(s)
    fit = instance.fit(chosen)
    if fit.multiplier == 0.0:
        cut = sparse_diagonal_cut(sub, chosen)
        slack = sub.slack / instance.n
        assert -cut.at(chosen) == pytest.approx(fit.value, rel=1e-8, abs=slack)
