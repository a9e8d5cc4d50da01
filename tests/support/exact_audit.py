"""Pools and levels by brute force, neighbouring data sets, and exact comparisons of laws."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

import numpy as np

from mipselect.mechanisms import SupportMechanism
from mipselect.problem.instance import Instance
from mipselect.search.pool import MistakeLevels, SupportPool


@dataclass(frozen=True, eq=False)
class Data:
    """One instance with the value of every support, in lexicographic order."""

    instance: Instance

    @cached_property
    def supports(self) -> np.ndarray:
        return all_supports(self.instance.n_features, self.instance.support_size)

    @cached_property
    def values(self) -> np.ndarray:
        return self.instance.objectives(self.supports)

    @property
    def gap(self) -> float:
        best, second = np.sort(self.values)[:2]
        return float(second - best)

    def meets_condition(self) -> bool:
        return self.gap > 2.0 * self.instance.sensitivity * (1.0 + 1e-9)


@cache
def all_supports(p: int, s: int) -> np.ndarray:
    return np.array(list(combinations(range(p), s)))


def log_probabilities(mechanism: SupportMechanism, data: Data) -> np.ndarray:
    return np.array([mechanism.log_probability(support) for support in data.supports])


def largest_loss(law: Callable[[Data], np.ndarray], audited: Iterable[tuple[Data, Data]]) -> float:
    """The largest |log P_D(S) - log P_D'(S)|; a law is computed once where pairs share it."""
    worst, last, logs = 0.0, None, np.empty(0)
    for data, other in audited:
        if data is not last:
            last, logs = data, law(data)
        worst = max(worst, float(np.abs(logs - law(other)).max()))
    return worst


def loss_of(
    build: Callable[[Data], SupportMechanism], audited: Iterable[tuple[Data, Data]]
) -> float:
    """The `largest_loss` of a mechanism over the supports of one size."""
    return largest_loss(lambda data: log_probabilities(build(data), data), audited)


def excess(logs: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    """The smallest δ for which the two laws are (ε, δ)-close, both ways."""
    p, q = np.exp(logs), np.exp(other)
    one = np.maximum(p - np.exp(epsilon) * q, 0.0).sum()
    return max(one, np.maximum(q - np.exp(epsilon) * p, 0.0).sum())


def pool_of(
    data: Data, size: int, tolerance: float = 0.0, *, late: float = 0.0, seed: int = 0
) -> SupportPool:
    """A pool that is right up to its tolerance, and as wrong within it as `late` says.

    With late = 0 the R best supports are listed. Otherwise the last listed one is the worst
    that lies within late · τ of the R-th value, and the places between are filled at random.
    """
    values, instance = data.values, data.instance
    tau = tolerance * instance.sensitivity
    order = np.argsort(values, kind="stable")
    threshold = values[order[size - 1]] + late * tau
    last = order[np.flatnonzero(values[order] <= threshold)[-1]]
    needed = [k for k in order if values[k] < values[last] - tau and k != last]
    free = [k for k in order if values[last] - tau <= values[k] <= values[last] and k != last]
    if late == 0.0:
        listed = list(order[:size])
    else:
        filling = np.random.default_rng(seed).permutation(free)[: size - 1 - len(needed)]
        listed = [*needed, *filling, last]
    assert len(listed) == size
    listed.sort(key=lambda k: (values[k], k))
    unlisted = np.setdiff1d(np.arange(len(values)), listed)
    return SupportPool(
        supports=data.supports[listed],
        values=values[listed],
        rest_bound=float(np.min(values[unlisted], initial=np.inf)),
        tolerance=tolerance,
        sensitivity=instance.sensitivity,
        n_features=instance.n_features,
        feature_names=instance.feature_names,
        relations=instance.problem.relations,
    )


def levels_of(
    data: Data, tolerance: float = 0.0, *, late: float = 0.0, low: float = 0.0
) -> MistakeLevels:
    """Levels that are right up to their tolerance, and as wrong within it as asked.

    A level's support is the worst within late · τ of its best, its bound low · τ below its
    best, as far as the certificate allows.
    """
    values, instance = data.values, data.instance
    tau = tolerance * instance.sensitivity
    best = int(np.argmin(values))
    outside = np.sum(~np.isin(data.supports, data.supports[best]), axis=1)
    chosen, bounds = [best], [values[best]]
    for level in range(1, outside.max() + 1):
        members = np.flatnonzero(outside == level)
        lowest = values[members].min()
        near = members[values[members] <= lowest + late * tau]
        chosen.append(near[np.argmax(values[near])])
        bounds.append(max(lowest - low * tau, values[chosen[-1]] - tau, values[best]))
    return MistakeLevels(
        supports=data.supports[chosen],
        values=values[chosen],
        bounds=np.array(bounds),
        tolerance=tolerance,
        sensitivity=instance.sensitivity,
        n_features=instance.n_features,
        feature_names=instance.feature_names,
        relations=instance.problem.relations,
    )


def replaced(data: Data, row: int, x: np.ndarray, y: float) -> Data:
    """The neighbour with one row exchanged."""
    old = data.instance
    X, target = old.X.copy(), old.y.copy()
    X[row], target[row] = x, y
    return make(
        X,
        target,
        old.support_size,
        old.coef_bound,
        y_bound=old.y_bound,
        ridge=old.ridge,
        loss=old.loss,
    )


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
    return Data(
        Instance(
            X,
            y,
            support_size=s,
            x_bound=1.0,
            y_bound=y_bound,
            coef_bound=coef_bound,
            ridge=ridge,
            loss=loss,
        )
    )


def neighbours(data: Data, count: int, seed: int) -> list[Data]:
    """Random rows for random rows, most of them at the bounds; classes stay classes."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(count):
        row = int(rng.integers(data.instance.n))
        p = data.instance.p
        if k % 4 == 0:
            x, y = rng.uniform(-1.0, 1.0, p), rng.uniform(-1.0, 1.0)
        else:
            x, y = rng.choice([-1.0, 1.0], p), rng.choice([-1.0, 1.0])
        if data.instance.classes is not None:
            y = np.sign(y)
        if k % 4 == 1:
            x = -data.instance.X[row]
        found.append(replaced(data, row, x, float(y) * data.instance.y_bound))
    return found


def mirrored_pair(
    p: int = 6, n: int = 40, *, shift: float = 0.0, loss: str = "squared"
) -> tuple[Data, Data]:
    """Neighbours that use nearly the whole sensitivity, at s = 1.

    Every single feature predicts y as well as the others, with its coefficient at the bound.
    One row is right about feature 0 and wrong about all the others; in the neighbour it is the
    other way round. `shift` favours feature 0 by that many sensitivities.
    """
    rng = np.random.default_rng(5)
    y = rng.choice([-1.0, 1.0], n)
    X = np.repeat(y[:, None], p, axis=1) * 0.9
    y[0], X[0] = 1.0, -1.0
    X[0, 0] = 1.0
    data = make(X, y, 1, 0.6, loss=loss)
    wanted = shift * data.instance.sensitivity
    for row in range(1, n):
        if data.values[1] - data.values[0] >= wanted:
            break
        X[row, 1:] = 0.4 * y[row]
        data = make(X, y, 1, 0.6, loss=loss)
    return data, replaced(data, 0, -X[0], 1.0)


@cache
def pairs() -> tuple[tuple[Data, Data], ...]:
    """600 neighbouring pairs, 15 or 20 supports each: nice, ugly and adversarial designs."""
    rng = np.random.default_rng(2024)
    found: list[tuple[Data, Data]] = []
    for k in range(20):
        n, p, s = [(8, 6, 2), (30, 6, 2), (200, 6, 3), (1, 5, 2)][k % 4]
        X = rng.uniform(-1.0, 1.0, (n, p))
        if k % 3 == 0:
            X = np.sign(X)
        if k % 5 == 0:
            X[:, 1] = X[:, 0]
        if k % 5 == 1:
            X[:, 2] = 0.0
        y = np.clip(X[:, 0] + 0.7 * X[:, 3] + rng.normal(0.0, 0.3, n), -1.0, 1.0)
        data = make(X, y, s, [0.5, 3.0][k % 2], ridge=[1e-3, 1.0][k // 2 % 2])
        found += [(data, other) for other in neighbours(data, 29, seed=k)]
    for p in (4, 5, 6, 8):
        for n in (10, 20, 40, 80, 160):
            found.append(mirrored_pair(p, n))
    return tuple(found)


@cache
def separated_pairs() -> tuple[tuple[Data, Data], ...]:
    """500 pairs and more whose first member meets the gap condition of the mistakes method."""
    rng = np.random.default_rng(77)
    found: list[tuple[Data, Data]] = []
    for k in range(12):
        n, p, s = [(400, 6, 2), (1000, 5, 2), (300, 6, 3), (300, 5, 1)][k % 4]
        X = rng.choice([-1.0, 1.0], (n, p)) * rng.uniform(0.5, 1.0, (n, p))
        if k % 3 == 0:
            X[:, p - 1] = X[:, p - 2]
        y = np.clip(X[:, :s].sum(axis=1) / s + rng.normal(0.0, 0.1, n), -1.0, 1.0)
        data = make(X, y, s, 0.9)
        assert data.meets_condition()
        found += [(data, other) for other in neighbours(data, 45, seed=100 + k)]
    found.append(mirrored_pair(6, 40, shift=2.01))
    found.append(mirrored_pair(4, 80, shift=2.5))
    assert all(data.meets_condition() for data, _ in found)
    return tuple(found)


def tied_pair() -> tuple[Data, Data]:
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


def with_row(data: Data, x: np.ndarray, y: float) -> Data:
    old = data.instance
    return make(
        np.vstack([old.X, x]),
        np.append(old.y, y),
        old.support_size,
        old.coef_bound,
        y_bound=old.y_bound,
        ridge=old.ridge,
        loss=old.loss,
    )


@cache
def grown() -> tuple[tuple[Data, Data], ...]:
    """500 pairs: a table, and the same with one row more, mostly at the bounds."""
    rng = np.random.default_rng(40)
    found = []
    for k in range(20):
        n, p, s = [(8, 6, 2), (30, 6, 2), (200, 6, 3), (1, 5, 2)][k % 4]
        X = rng.uniform(-1.0, 1.0, (n, p))
        if k % 3 == 0:
            X[:, 1] = X[:, 0]
        y = np.clip(X[:, 0] + 0.7 * X[:, 3] + rng.normal(0.0, 0.3, n), -1.0, 1.0)
        data = make(X, y, s, [0.5, 3.0][k % 2], ridge=[1e-3, 1.0][k // 2 % 2])
        for j in range(24):
            x = rng.choice([-1.0, 1.0], p) if j % 4 else rng.uniform(-1.0, 1.0, p)
            found.append((data, with_row(data, x, float(rng.choice([-1.0, 1.0])))))
    for p in (4, 6, 8, 10):
        for n in (5, 10, 20, 40, 80):
            data, _ = mirrored_pair(p, n)
            for x in (np.eye(p)[0] * 2.0 - 1.0, 1.0 - np.eye(p)[0] * 2.0):
                found.append((data, with_row(data, x, 1.0)))
    return tuple(found)
