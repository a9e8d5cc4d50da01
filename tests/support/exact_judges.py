"""Judges of bounds: each tells whether one holds, in exact arithmetic, on the node of a seed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np

from mipselect import Instance
from mipselect.restricted.fenchel import FenchelBounds
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.convex.cuts import fenchel_cut
from mipselect.search.convex.method import ConvexNeighbourhood
from mipselect.search.cut_proof import CutProof
from mipselect.search.cuts import least_value
from mipselect.search.least_squares.children import children_of
from mipselect.search.least_squares.children_expansion import ChildrenExpansion
from mipselect.search.least_squares.clusters import by_clusters
from mipselect.search.least_squares.curvature import SpectralCurvature, UniformCurvature
from mipselect.search.least_squares.cuts import sparse_diagonal_cut
from mipselect.search.least_squares.expansion import PointBounds
from mipselect.search.least_squares.measured_curvature import curvature_of, spectral_curvatures
from mipselect.search.least_squares.near_columns import LiveSets, near_columns
from mipselect.search.least_squares.node import SquaredNode, gains_alone, squared_node
from mipselect.search.neighbourhood import Engine
from mipselect.search.node import Node
from mipselect.search.soft import partition
from mipselect.search.soft.convex import modular_bounds
from mipselect.search.soft.polynomials import subset_law
from mipselect.search.tuning import TUNING
from tests.support.exactly import DIGITS, ExactMoments, least_eigenvalue
from tests.support.near_singular_blocks import (
    copies,
    dominates,
    left_of,
    near_copies,
    nearly_the_intercept,
    scales,
    whole_of,
)


def hostile(seed: int, *, p: int = 4, s: int = 2, **given: Any) -> PreparedSquared:
    """Few rows, columns of any scale, copies or near copies, and a ridge of any size."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((int(rng.integers(3, 12)), p))
    kind = seed % 4
    if kind == 0:
        X *= 10.0 ** rng.uniform(-8.0, 8.0, p)
    elif kind == 1:
        X[:, 1:] = X[:, :1] + 1e-12 * X[:, 1:]
    elif kind == 2:
        X = np.round(X.astype(np.float32), 1)
        X[:, -1] = X[:, 0] + 1e-4 * X[:, 1]
    y = X[:, 0] / np.abs(X[:, 0]).max() + rng.choice([1e-6, 1.0]) * rng.standard_normal(len(X))
    bound = float(np.abs(X).max())
    ridge = float(10.0 ** rng.uniform(-9.0, 3.0)) * bound**2
    bounds = {"x_bound": bound, "y_bound": 9.0, "coef_bound": 1e9 / bound, "ridge": ridge, **given}
    problem = Instance(X, y, support_size=s, **bounds).prepared
    assert isinstance(problem, PreparedSquared)
    return problem


def node(problem: PreparedSquared, base: list[int], size: int, live: list[int]) -> SquaredNode:
    return squared_node(problem, np.array(base, dtype=np.intp), size, np.array(live), 0.0, None)


def single_gains(seed: int) -> bool:
    """v_B - g_j²/h_j, which is the value itself."""
    problem = hostile(seed)
    sub = node(problem, [0], 1, [1, 2, 3])
    exact = ExactMoments(problem, sub.ridge)
    return all(
        2 * problem.n * Fraction(sub.lower_bound(float(gain))) <= exact.doubled([0, j])
        for j, gain in zip(sub.live.tolist(), gains_alone(sub), strict=True)
    )


def needed_gains(seed: int) -> bool:
    """What an addition gains that brings R below a cutoff, by as little as a double can tell."""
    problem = hostile(seed)
    sub = node(problem, [0], 1, [1, 2, 3])
    exact = ExactMoments(problem, sub.ridge)
    for gain, j in zip(gains_alone(sub), sub.live.tolist(), strict=True):
        value = exact.doubled([0, j]) / (2 * problem.n)
        cutoff = float(value)
        while Fraction(cutoff) <= value:
            cutoff = float(np.nextafter(cutoff, np.inf))
        if not gain > sub.needed_gain(cutoff):
            return False
    return True


def factors(seed: int) -> bool:
    """Copies of columns with a ridge that is lost in their digits have a Cholesky factor."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.standard_normal((9, 1)), 4, axis=1)
    problem = PreparedSquared.of_rows(X, X[:, 0], ridge=1e-17, radius=1.0)
    try:
        sub = node(problem, [0, 1, 2], 1, [3])
    except np.linalg.LinAlgError:
        return False
    return bool(np.linalg.eigvalsh(problem.gram.block(np.arange(4)) + sub.ridge * np.eye(4))[0] > 0)


def expanded_gains(seed: int) -> bool:
    """The bound around the coefficients of all live features, which is their gain."""
    problem = hostile(seed, p=5)
    sub = node(problem, [0], 4, [1, 2, 3, 4])
    around_points = PointBounds(sub, UniformCurvature(0.0).at(sub))
    around_points.admit(np.arange(4))
    bound, _ = around_points.around(np.ones(4))
    proven = Fraction(bound.constant) + sum(map(Fraction, bound.terms.tolist()))
    return proven >= ExactMoments(problem, sub.ridge).gain([0], [1, 2, 3, 4])


def gains_of_children(seed: int) -> bool:
    """The same of a child, around the coefficients of all that it may add."""
    problem = hostile(seed, p=5)
    sub = node(problem, [0], 4, [1, 2, 3, 4])
    child = children_of(sub, np.arange(4), 0, 1)
    convexity = UniformCurvature(0.0).of_children(child)
    around_points = ChildrenExpansion(child, convexity, np.array([-np.inf]))
    around_points.admit(np.arange(3))
    constants, terms, _ = around_points.around(np.array([0]), np.ones((1, 3)))
    proven = Fraction(float(constants[0])) + sum(map(Fraction, terms[0].tolist()))
    return proven >= ExactMoments(problem, sub.ridge).gain([0, 1], [2, 3, 4])


def sparse_diagonal_cuts(seed: int) -> bool:
    """Cuts at every set, on every other one of its size."""
    problem = hostile(seed)
    sub = node(problem, [0], 2, [1, 2, 3])
    exact = ExactMoments(problem, sub.ridge)
    pairs = [np.array(pair) for pair in itertools.combinations(range(3), 2)]
    values = [exact.doubled([0, *sub.live[pair].tolist()]) for pair in pairs]
    for chosen in pairs:
        cut = sparse_diagonal_cut(sub, chosen)
        for pair, value in zip(pairs, values, strict=True):
            proven = sum(map(Fraction, cut.terms[pair].tolist()), Fraction(cut.constant))
            if -2 * problem.n * proven > value:
                return False
    return True


def gains_of_clusters(seed: int) -> bool:
    """The gain of a set that is one cluster, of columns that are not too near for clusters."""
    problem = hostile(4 * seed + 3)
    sub = node(problem, [0], 3, [1, 2, 3])
    near = LiveSets(near_columns(problem, replace(TUNING.near, degree=9, least=0.0))).up_to(3)
    assert near is not None
    division, _, _ = by_clusters(sub, near, -math.inf)
    proven = float(division.gains[0])
    return math.isinf(proven) or Fraction(proven) >= ExactMoments(problem, sub.ridge).gain(
        [0], [1, 2, 3]
    )


def least_of_near_sets(seed: int) -> bool:
    """The least eigenvalues of G + λI on near columns, scaled to a diagonal of ones."""
    problem = hostile(seed)
    G = problem.gram.full() + problem.ridge * np.eye(4)
    sets = near_columns(problem, replace(TUNING.near, degree=9, least=0.0)).sets(3)
    assert sets is not None
    return all(
        least <= least_eigenvalue(G[np.ix_(K, K)], np.diagonal(G)[K])
        for K, least in zip(sets.members.T, sets.least.tolist(), strict=True)
    )


def singular(seed: int) -> PreparedSquared:
    """Fewer directions than columns, at any scale."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 2)) @ rng.standard_normal((2, 4)) * 10.0 ** rng.uniform(-4, 4)
    X += 10.0 ** rng.uniform(-9, -5) * np.abs(X).max() * rng.standard_normal(X.shape)
    return in_its_own_scale(X)


def in_its_own_scale(X: np.ndarray) -> PreparedSquared:
    """Two of the columns, with bounds and a ridge in the unit of the largest entry."""
    bound = float(np.abs(X).max())
    bounds = {"x_bound": bound, "y_bound": 9.0, "coef_bound": 9.0, "ridge": bound**2}
    problem = Instance(X, X[:, 0] / bound, support_size=2, **bounds).prepared
    assert isinstance(problem, PreparedSquared)
    return problem


def whole(problem: PreparedSquared) -> SquaredNode:
    everything = np.arange(problem.features.count)
    return squared_node(problem, everything[:0], 1, everything, 0.0, None)


def least_curvature(seed: int) -> bool:
    """The least eigenvalue of G."""
    problem = singular(seed)
    curvature = curvature_of(whole(problem))
    assert isinstance(curvature, UniformCurvature)
    least = least_eigenvalue(problem.gram.full())
    return curvature.excess <= max(least, mpmath.mpf(0))


def curvature_beside_columns(seed: int) -> bool:
    """The least eigenvalue of what a column that is always in leaves of columns near to it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 4))
    X[:, 1:] = X[:, :1] + 10.0 ** rng.uniform(-6, -3) * X[:, 1:]
    bounds = {"x_bound": 9.0, "y_bound": 9.0, "coef_bound": 9.0, "always": [0]}
    instance = Instance(X, X[:, 0], support_size=2, ridge=10.0 ** rng.uniform(-8, -4), **bounds)
    problem = instance.prepared
    curvature = curvature_of(whole(problem))
    assert isinstance(curvature, UniformCurvature)
    with mpmath.workdps(DIGITS):
        A = mpmath.matrix(problem.gram.full().tolist()) + problem.ridge * mpmath.eye(4)
        left = A[:3, :3] - A[:3, 3:] * A[3:, :3] / A[3, 3]
        least = min(mpmath.eigsy(left, eigvals_only=True)) - problem.ridge
    return curvature.excess <= max(least, mpmath.mpf(0))


def spectra_of_rows(seed: int) -> bool:
    """XᵀU min(1, t/Ω) UᵀX of two rows, which G is not below."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2, 4)) * 10.0 ** rng.uniform(-4, 4)
    X[1] = X[seed % 2] + 10.0 ** rng.uniform(-9, 0) * X[1]
    problem = in_its_own_scale(X)
    return left_over(problem, spectral_curvatures(whole(problem)))


def left_over(problem: PreparedSquared, found: Sequence[SpectralCurvature]) -> bool:
    """E ⪯ G + aI for every E, of which there is one at least."""
    assert found
    with mpmath.workdps(DIGITS):
        G = mpmath.matrix(problem.gram.full().tolist())
        left = [G - mpmath.matrix(curvature.E.tolist()) for curvature in found]
        least = [min(mpmath.eigsy(some, eigvals_only=True)) for some in left]
    return all(a >= -curvature.slack for a, curvature in zip(least, found, strict=True))


def block_curvature(seed: int) -> bool:
    """H ⪰ D of features of several columns."""
    design = (near_copies, nearly_the_intercept, scales, copies)[seed % 4]
    blocks = design(np.random.default_rng(seed))
    unit = float(np.abs(np.hstack(blocks)).max()) ** 2
    ridge = unit * 10.0 ** (-3.0 * (seed // 4 % 4))
    instance, features = whole_of(blocks, ridge, intercept=seed % 3 == 0)
    D = curvature_of(features).at(features).block(np.arange(instance.n_features))
    with mpmath.workdps(DIGITS):
        return dominates(left_of(instance, features.ridge), D * (1.0 - 1e-12))


def dual_point(seed: int) -> FenchelBounds:
    rng = np.random.default_rng(seed)
    weights, ridge = 10.0 ** rng.uniform(-8.0, 8.0, (1, 7)), float(10.0 ** rng.uniform(0.0, 4.0))
    # The constant of a loss has an allowance of its own, for what is small against it.
    return FenchelBounds(
        constants=rng.uniform(0.0, 1.0, 1) * np.median(weights) / ridge,
        weights=weights,
        n=int(rng.integers(3, 99)),
        ridge=ridge,
        radius=1e12,
        always=np.zeros(1),
    )


def exact_dual_bound(bounds: FenchelBounds, support: list[int], nu: Fraction) -> Fraction:
    """(1/n) [c - νr²/2 - Σ w_j² / 2(λ+ν)]."""
    total = sum((Fraction(float(bounds.weights[0, j])) for j in support), Fraction(0))
    doubled = 2 * Fraction(float(bounds.constants[0])) - nu * Fraction(bounds.radius) ** 2
    return (doubled - total / (Fraction(bounds.ridge) + nu)) / (2 * bounds.n)


def cuts_of_dual_points(seed: int) -> bool:
    bounds = dual_point(seed)
    cut = fenchel_cut(bounds, 0, bounds.own(0, np.array([0])), bounds.weights[0, 1:], 0.0)
    proven = Fraction(cut.constant) + sum(map(Fraction, cut.terms[:3].tolist()))
    return -proven <= exact_dual_bound(bounds, [0, 1, 2, 3], Fraction(0))


def shares_of_dual_points(seed: int) -> bool:
    bounds = dual_point(seed)
    (bound,) = modular_bounds(bounds, 0, Node(np.array([0]), 3, np.arange(1, 7)))
    proven = Fraction(bound.constant) + sum(map(Fraction, bound.terms[:3].tolist()))
    return -proven <= exact_dual_bound(bounds, [0, 1, 2, 3], Fraction(0))


def bounds_of_dual_points(seed: int) -> bool:
    bounds = dual_point(seed)
    largest = int(np.argmax(bounds.weights[0]))
    proven = bounds.bound(0, bounds.weights[0, largest : largest + 1])
    return Fraction(float(proven[0])) <= exact_dual_bound(bounds, [largest], Fraction(0))


def levels_of_dual_points(seed: int) -> bool:
    """One of forty features stays: its weight is what is left of the sum of all of them."""
    rng = np.random.default_rng(seed)
    weights = np.append(rng.uniform(1.0, 1.1, 40), rng.uniform(0.0, 1e-9, 40))[None]
    bounds = replace(dual_point(seed), constants=np.zeros(1), weights=weights)

    class OnePoint:
        p = 80

        def bounds(self, supports: np.ndarray) -> FenchelBounds:
            return bounds

    around = ConvexNeighbourhood(OnePoint(), Engine(), np.arange(40), 1.0)
    entering = 40 + np.argsort(-weights[0, 40:])[:39]
    worst = [int(np.argmax(weights[0])), *entering.tolist()]
    return Fraction(around.level_bound(39)) <= exact_dual_bound(bounds, worst, Fraction(0))


def proofs_of_cuts(seed: int) -> bool:
    """A target one rounding above the least choice."""
    rng = np.random.default_rng(seed)
    terms = rng.uniform(0, 3, 6) * 10.0 ** rng.uniform(-9, 0, 6)
    cut = ModularBound(-float(rng.uniform(1, 3)), terms)
    value = min(
        -Fraction(cut.constant) - sum(Fraction(float(cut.terms[j])) for j in T)
        for T in itertools.combinations(range(6), 3)
    )
    target = float(value)
    while Fraction(target) <= value:
        target = float(np.nextafter(target, np.inf))
    proof = CutProof([cut], 3, least_value(cut, 3) - 1.0, set())
    return not proof.decide(target, lambda: None).proven


def laws_of_subsets(seed: int) -> bool:
    """The log probability of what is drawn."""
    rng = np.random.default_rng(seed)
    logs = rng.uniform(-30.0, 30.0, 8)
    law = subset_law(logs, 3)
    with mpmath.workdps(DIGITS):
        weights = [mpmath.exp(mpmath.mpf(float(x))) for x in logs]
        sets = itertools.combinations(range(8), 3)
        total = mpmath.log(sum(weights[a] * weights[b] * weights[c] for a, b, c in sets))
        positions, drawn = law.draw(lambda C: int(rng.choice(np.flatnonzero(C > 0.0))))
        exact = sum(mpmath.mpf(float(logs[j])) for j in positions) - total
        return abs(drawn - exact) <= law.rounding


def totals_of_cells(seed: int) -> bool:
    """The total of cells whose own laws are exact."""
    rng = np.random.default_rng(seed)
    logs, law = rng.uniform(-9.0, 9.0, 20), SimpleNamespace(rounding=0.0)
    cells = {k: SimpleNamespace(log_upper=float(x), law=law) for k, x in enumerate(logs)}
    with mpmath.workdps(DIGITS):
        total = mpmath.log(sum(mpmath.exp(mpmath.mpf(float(x))) for x in logs))
    return partition._Arrangement(cells).log_upper >= total
