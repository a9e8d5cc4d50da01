"""Bounds in doubles against R in rational arithmetic, where everything cancels."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from mipselect import Instance
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.soft.cells import Origin
from mipselect.search.soft.least_squares import LeastSquaresSpace, SquaredFamily
from tests.support.designs import least_ridge

RIDGES = [1.0, 1e-3, 1e-6, 1e-9, 1e-10, 1e-11, least_ridge(12, 3, 1.0)]
RADIUS = 1e3


def design(kind: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Copies and near copies, sums, tiny columns, huge and tiny responses."""
    X = rng.uniform(-1.0, 1.0, (12, 6))
    if kind == 0:
        X[:, 3] = X[:, 0]
        X[:, 4] = X[:, 0] + 1e-8 * rng.standard_normal(12)
    elif kind == 1:
        X[:, 3] = X[:, 0] - X[:, 1]
        X[:, 4] = X[:, 0] + X[:, 2]
        X[:, 5] = 1e-7 * X[:, 0]
    elif kind == 2:
        X = np.outer(rng.uniform(-1.0, 1.0, 12), np.ones(6)) + 1e-6 * X
    elif kind == 3:
        X = np.sign(X)
        X[:, 5] = -X[:, 0]
    else:
        X *= 10.0 ** -np.arange(6.0)
    y = X[:, 0] + X[:, 3] if kind % 2 else rng.uniform(-1.0, 1.0, 12)
    return X, y


def exact_values(
    X: np.ndarray, y: np.ndarray, ridge: float, supports: list[tuple[int, ...]]
) -> dict[tuple[int, ...], Fraction]:
    """R without the norm constraint, which could only raise it: (d - b·A⁻¹b) / 2n."""
    n, p = X.shape
    columns = [[Fraction(v) for v in column] for column in X.T.tolist()]
    target = [Fraction(v) for v in y.tolist()]

    def dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
        return sum((u * v for u, v in zip(a, b, strict=True)), Fraction(0))

    G = [[dot(columns[j], columns[k]) for k in range(p)] for j in range(p)]
    b, d = [dot(columns[j], target) for j in range(p)], dot(target, target)
    found = {}
    for T in supports:
        # Gaussian elimination of [[G_TT + λI, b], [b, d]]; the last pivot is 2nR.
        M = [[G[j][k] + (Fraction(ridge) if j == k else 0) for k in T] + [b[j]] for j in T]
        M.append([b[k] for k in T] + [d])
        for i in range(len(T)):
            for row in range(i + 1, len(M)):
                factor = M[row][i] / M[i][i]
                M[row] = [u - factor * v for u, v in zip(M[row], M[i], strict=True)]
        found[T] = M[-1][-1] / (2 * n)
    return found


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("kind", range(5))
def test_bounds_hold_at_every_support(kind: int, ridge: float) -> None:
    """Dominance, every centre, and pairs; at the root, in children, and in theirs."""
    rng = np.random.default_rng(kind)
    X, y = design(kind, rng)
    instance = Instance(
        X, y, support_size=3, x_bound=1.0, y_bound=2.0, coef_bound=RADIUS, ridge=ridge
    )
    problem = instance.prepared
    assert isinstance(problem, PreparedSquared)
    everything = [T for k in (1, 2, 3) for T in itertools.combinations(range(6), k)]
    exact = exact_values(instance.X, instance.y, ridge, everything)
    allowed = Fraction(2.0 * instance.value_error)
    problem.gram.full()
    space = LeastSquaresSpace(problem, 0.0, 3, lambda: None)
    families = [space.root(size) for size in (1, 2, 3)]
    keep = np.arange(6)
    children = [
        space.families([Origin(family, taken, np.delete(keep, taken))])[0]
        for family in families[1:]
        for taken in range(6)
    ]
    grandchildren = [
        space.families([Origin(child, taken, np.delete(np.arange(5), taken))])[0]
        for child in children
        if child.node.size == 2
        for taken in range(5)
    ]
    for family in [*families, *children, *grandchildren]:
        assert isinstance(family, SquaredFamily)
        bounds = list(family.floors())
        for _ in range(4):
            inclusion = rng.choice([1e-3, 0.011, 0.3, 0.99, 1.0], len(family.node.live))
            if (found := family.expanded(inclusion)) is not None:
                bounds.append(found)
        for bound in bounds:
            check(family, bound, exact, allowed)


def check(
    family: SquaredFamily,
    bound: ModularBound,
    exact: dict[tuple[int, ...], Fraction],
    allowed: Fraction,
) -> None:
    for positions in itertools.combinations(range(len(family.node.live)), family.node.size):
        at = list(positions)
        T = tuple(sorted([*family.node.base.tolist(), *family.node.live[at].tolist()]))
        low = -bound.constant - float(bound.terms[at].sum())
        assert Fraction(low) <= exact[T] + allowed, T
