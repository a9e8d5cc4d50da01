"""Values of all supports, certificates by brute force, and exact comparisons of laws."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any

import numpy as np

from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.problem.instance import Instance
from mipselect.search.pool import MistakeLevels, SupportPool

ORDERS = (1.0 + 1e-6, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)


@dataclass(frozen=True, eq=False)
class Data:
    """One instance, or block scores, with all supports in lexicographic order."""

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


Pair = tuple[Data, Data]
Build = Callable[[Data, int], Any]
"""A mechanism for data; the number varies its certificate."""


@cache
def all_supports(p: int, s: int) -> np.ndarray:
    return np.array(list(combinations(range(p), s)))


def log_probabilities(mechanism: Any, data: Data) -> np.ndarray:
    """Of all outcomes, by size and then in their order."""
    if isinstance(mechanism, ExactDraws):
        return np.asarray(mechanism._draws._law.log_probabilities())  # type: ignore[union-attr]
    return np.array([mechanism.log_probability(support) for support in data.supports])


def excess(logs: Any, other: Any, epsilon: float) -> float:
    """The smallest δ for which the two laws are (ε, δ)-close, both ways."""
    p, q = np.exp(logs), np.exp(other)
    one = np.maximum(p - np.exp(epsilon) * q, 0.0).sum()
    return max(one, np.maximum(q - np.exp(epsilon) * p, 0.0).sum())


def largest_rho(logs: Any, other: Any) -> float:
    """The least ρ with D_α ≤ αρ both ways, over some orders α."""
    alphas = np.array(ORDERS)
    sums = [
        np.logaddexp.reduce(np.outer(alphas, p) + np.outer(1.0 - alphas, q), axis=1)
        for p, q in ((logs, other), (other, logs))
    ]
    return float((np.max(sums, axis=0) / (alphas * (alphas - 1.0))).max())


@dataclass
class Used:
    """The most that pairs need of what is stated: of ε, or of δ where there is one; of ρ.

    `apart` is how far the logs of two outcomes move apart, in units of ε.
    """

    loss: float = 0.0
    rho: float = 0.0
    apart: float = 0.0


def used(
    build: Build,
    pairs: Iterable[Pair],
    relation: str = "replace-one",
    law: Callable[[Any, Data], np.ndarray] = log_probabilities,
) -> Used:
    """Judge a mechanism by the laws of both members of every pair."""
    found, last, logs = Used(), None, np.empty(0)
    for k, (data, other) in enumerate(pairs):
        if data is not last:
            mechanism = build(data, k)
            last, logs, stated = data, law(mechanism, data), mechanism.guarantees[relation]
        moved = law(build(other, k + 1), other)
        if stated.delta:
            share = excess(logs, moved, stated.epsilon) / stated.delta
        else:
            share = float(np.abs(logs - moved).max()) / stated.epsilon
        found.loss = max(found.loss, share)
        found.apart = max(found.apart, float(np.ptp(logs - moved)) / stated.epsilon)
        if stated.rho is not None:
            found.rho = max(found.rho, largest_rho(logs, moved) / stated.rho)
    return found


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
    rest = float(np.min(values[unlisted], initial=np.inf))
    public = _public(instance, tolerance)
    return SupportPool(data.supports[listed], values[listed], rest, **public)


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
    public = _public(instance, tolerance)
    return MistakeLevels(data.supports[chosen], values[chosen], np.array(bounds), **public)


def _public(instance: Instance, tolerance: float) -> dict[str, Any]:
    return {
        "tolerance": tolerance,
        "sensitivity": instance.sensitivity,
        "n_features": instance.n_features,
        "feature_names": instance.feature_names,
        "relations": instance.problem.relations,
    }
