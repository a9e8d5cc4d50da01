"""Neighbouring data sets of every kind: hostile pairs, tight ones, clear ones, and a row more.

`FAMILIES` lists the kinds. Tight pairs use most of what one row may move; the first member of a
clear pair meets the gap condition of the mistakes method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from mipselect import Instance
from tests.support import block_pairs, weighted_tables
from tests.support.designs import LOSSES, of_classes
from tests.support.exact_audit import Data, Pair

Pairs = tuple[Pair, ...]
SHAPES = [(8, 6, 2), (30, 6, 2), (200, 6, 3), (4, 5, 1)]


def make(
    X: np.ndarray,
    y: np.ndarray,
    s: int,
    coef_bound: float,
    *,
    y_bound: float = 1.0,
    ridge: float = 0.1,
    loss: str = "squared",
) -> Data:
    bounds = {"x_bound": 1.0, "y_bound": y_bound, "coef_bound": coef_bound, "ridge": ridge}
    return Data(Instance(X, y, support_size=s, loss=loss, **bounds))


def like(old: Instance, X: np.ndarray, y: np.ndarray) -> Data:
    """Other rows of the same problem."""
    given = {"y_bound": old.y_bound, "ridge": old.ridge, "loss": old.loss}
    return make(X, y, old.support_size, old.coef_bound, **given)


def replaced(data: Data, row: int, x: np.ndarray, y: float) -> Data:
    """The neighbour with one row exchanged."""
    X, target = data.instance.X.copy(), data.instance.y.copy()
    X[row], target[row] = x, y
    return like(data.instance, X, target)


def with_row(data: Data, x: np.ndarray, y: float) -> Data:
    return like(data.instance, np.vstack([data.instance.X, x]), np.append(data.instance.y, y))


def without_the_first(data: Data) -> Data:
    return like(data.instance, data.instance.X[1:], data.instance.y[1:])


def neighbours(data: Data, count: int, seed: int) -> list[Data]:
    """Random rows for random rows, most of them at the bounds; two classes stay two."""
    rng, p = np.random.default_rng(seed), data.instance.p
    found = []
    for k in range(count):
        row = int(rng.integers(data.instance.n))
        if k % 4 == 0:
            x, y = rng.uniform(-1.0, 1.0, p), rng.uniform(-1.0, 1.0)
        else:
            x, y = rng.choice([-1.0, 1.0], p), rng.choice([-1.0, 1.0])
        if data.instance.classes is not None:
            y = np.sign(y)
            if len(set(np.delete(data.instance.y, row)) | {y}) < 2:
                continue
        if k % 4 == 1:
            x = -data.instance.X[row]
        found.append(replaced(data, row, x, float(y) * data.instance.y_bound))
    return found


def drawn_table(rng: np.random.Generator, k: int, loss: str, y_bound: float) -> Data:
    """Nice, ugly and adversarial columns; few rows and many, targets beyond all bounds."""
    n, p, s = SHAPES[k % 4]
    X = rng.uniform(-1.0, 1.0, (n if k % 8 < 7 or of_classes(loss) else 1, p))
    if k % 3 == 0:
        X = np.sign(X)
    if k % 5 == 0:
        X[:, 1] = X[:, 0]
    if k % 5 == 1:
        X[:, 2] = 0.0
    y = X[:, 0] + 0.7 * X[:, 3] + 0.3 * rng.standard_normal(len(X))
    if y_bound != 1.0:
        y += rng.standard_cauchy(len(X))
        y[:2] = [-y_bound, y_bound][: len(y)]
    y = np.clip(y, -1.0, 1.0) * y_bound ** (k % 2)
    if of_classes(loss):
        y = np.where(y > 0.0, 1.0, -1.0)
        y[:4] = 1.0, 1.0, -1.0, -1.0
    radius, ridge = [0.5, 3.0][k % 2], [1e-3, 1.0][k // 2 % 2]
    return make(X, y, s, radius, y_bound=y_bound, ridge=ridge, loss=loss)


@cache
def pairs(loss: str = "squared", y_bound: float = 1.0) -> Pairs:
    """For the squared loss 580 pairs, for others more than 100."""
    rng = np.random.default_rng(2024)
    found: list[Pair] = []
    designs, each = (20, 29) if (loss, y_bound) == ("squared", 1.0) else (8, 15)
    for k in range(designs):
        data = drawn_table(rng, k, loss, y_bound)
        found += [(data, other) for other in neighbours(data, each, seed=k)]
    return (*found, *tight(loss, y_bound))


def mirrored(
    p: int, n: int, *, loss: str = "squared", y_bound: float = 1.0, shift: float = 0.0
) -> Pair:
    """Neighbours that use nearly the whole sensitivity, at s = 1.

    Every single feature predicts y as well as the others, with its coefficient at the bound.
    One row is right about feature 0 and wrong about all the others; in the neighbour it is the
    other way round. `shift` favours feature 0 by that many sensitivities.
    """
    y = np.random.default_rng(5).choice([-1.0, 1.0], n)
    y[:4] = 1.0, 1.0, -1.0, -1.0
    X = np.repeat(y[:, None], p, axis=1)
    X[0], X[0, 0] = -1.0, 1.0
    wide = y_bound != 1.0
    if not wide:
        X[1:] *= 0.9
    given: dict[str, Any] = {"y_bound": y_bound, "loss": loss, "ridge": 1e-3 if wide else 0.1}
    data = make(X, y * y_bound, 1, 0.15 if wide else 0.6, **given)
    for row in range(1, n):
        if data.values[1] - data.values[0] >= shift * data.instance.sensitivity:
            break
        X[row, 1:] = 0.4 * y[row]
        data = make(X, y * y_bound, 1, 0.6, **given)
    return data, replaced(data, 0, -X[0], y_bound)


@cache
def tight(loss: str = "squared", y_bound: float = 1.0) -> Pairs:
    sizes = [(8, 12), (20, 30)] if y_bound != 1.0 else [*product((4, 5, 8), (10, 20, 40, 160))]
    return tuple(mirrored(p, n, loss=loss, y_bound=y_bound) for p, n in sizes)


@cache
def grown(loss: str = "squared", y_bound: float = 1.0) -> Pairs:
    """A table, and the same with a row that was added: at the bounds, hostile, or zero."""
    rng = np.random.default_rng(9)
    found: list[Pair] = []
    designs, each = (20, 26) if (loss, y_bound) == ("squared", 1.0) else (8, 10)
    for k in range(designs):
        data = drawn_table(rng, k, loss, y_bound)
        p, bound = data.instance.p, min(data.instance.y_bound, 1e7)
        rows = [np.zeros(p), np.ones(p), -np.ones(p), *np.eye(p), *(2.0 * np.eye(p) - 1.0)]
        for j in range(each):
            x = rows[j // 2] if j // 2 < len(rows) else rng.choice([-1.0, 1.0], p)
            found.append((data, with_row(data, x, bound * (-1.0) ** j)))
    for data, other in tight(loss, y_bound):
        rest = without_the_first(data)
        found += [(rest, data), (rest, other)]
    return tuple(found)


@cache
def clear(loss: str = "squared", *, grown: bool = False) -> Pairs:
    rng = np.random.default_rng(77)
    found: list[Pair] = []
    for k in range(12 if loss == "squared" else 3):
        n, p, s = [(400, 6, 2), (1000, 5, 2), (300, 6, 3), (300, 5, 1)][k % 4]
        if loss != "squared":
            n, p, s = 600, 5, 2
        X = rng.choice([-1.0, 1.0], (n, p)) * rng.uniform(0.5, 1.0, (n, p))
        if k % 3 == 0:
            X[:, p - 1] = X[:, p - 2]
        y = np.clip(X[:, :s].sum(axis=1) / s + rng.normal(0.0, 0.1, n), -1.0, 1.0)
        data = make(X, np.where(y > 0.0, 1.0, -1.0) if of_classes(loss) else y, s, 0.9, loss=loss)
        if grown:
            found += [(data, with_row(data, rng.choice([-1.0, 1.0], p), 1.0)) for _ in range(20)]
        else:
            others = neighbours(data, 45 if loss == "squared" else 10, seed=100 + k)
            found += [(data, other) for other in others]
    if loss == "squared" and not grown:
        found += [mirrored(6, 40, shift=2.01), mirrored(4, 80, shift=2.5)]
    assert all(data.meets_condition() for data, _ in found)
    return tuple(found)


def tied_pair() -> Pair:
    """Two disjoint supports explain y equally well, nothing else does, and one row decides."""
    rng = np.random.default_rng(11)
    n = 1000
    a, b, c = rng.choice([-0.5, 0.5], (3, n))
    X = np.column_stack([a + b, a - b, a + c, a - c, rng.choice([-0.5, 0.5], (2, n)).T])
    data = make(X, a, 2, 1.0, y_bound=0.5)
    for row in range(n):
        for x in ([1, 1, -1, -1], [-1, -1, 1, 1]):
            other = replaced(data, row, np.array([*x, 0.0, 0.0]), 0.5)
            if np.argmin(other.values) != np.argmin(data.values):
                return data, other
    raise AssertionError("no single row decides the tie")


@dataclass(frozen=True)
class Family:
    """Pairs of one kind, made when they are asked for."""

    hostile: Callable[[], Pairs]
    tight: Callable[[], Pairs]
    clear: Callable[[], Pairs] = tuple
    grown: Callable[[], Pairs] = tuple


WIDE = [
    ("squared", 0.3), ("squared", 5.0), ("squared", 1e6), ("huber(0.2)", 0.5), ("huber(0.2)", 40.0),
    ("huber(1.0)", 1e3), ("quantile(0.5)", 3.0), ("quantile(0.9)", 1e3),
]  # fmt: skip
"""Losses, and ranges of the target from narrow to wide."""

ARRAYS = {
    loss: Family(*(partial(of, loss) for of in (pairs, tight, clear, grown)))
    for loss in ("squared", *LOSSES)
} | {
    f"{each[0]} to {each[1]:g}": Family(
        partial(pairs, *each), partial(tight, *each), grown=partial(grown, *each)
    )
    for each in WIDE
}
TABLES = {
    "tables": Family(
        weighted_tables.pairs, lambda: tuple(map(weighted_tables.mirrored, (2, 200))),
        weighted_tables.clear_pairs,
    ),
    **{f"weighted {made}": Family(partial(weighted_tables.pairs, made),
                                  partial(weighted_tables.tight, made))
       for made in weighted_tables.MADE},
}  # fmt: skip
BLOCKS = {
    "blocks": Family(block_pairs.hostile, block_pairs.tight, block_pairs.clear),
    "block R²": Family(block_pairs.of_scores, lambda: (block_pairs.flipped(),)),
}
FAMILIES = ARRAYS | TABLES | BLOCKS
