"""Supports by number, intervals, log weights, and guarantees under both relations."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.decimals import exact, round_up
from mipselect.privacy.guarantee import RELATIONS, Guarantee


@dataclass(frozen=True, eq=False)
class Interval:
    """Proven ends, not an error bar. Sensitive."""

    low: float
    high: float


def rank(support: Sequence[int], n_features: int) -> int:
    """Return how many supports come before `support`, sorted, in lexicographic order.

    A later one shares the first i members and has a larger one in place i, so its other s - i
    members are among the p - 1 - S_i features after S_i: C(p, s) - 1 - rank = Σ_i C(p-1-S_i, s-i).
    """
    s = len(support)
    later = sum(comb(n_features - 1 - j, s - i) for i, j in enumerate(support))
    return comb(n_features, s) - 1 - later


def unrank(number: int, n_features: int, size: int) -> tuple[int, ...]:
    """Return the support, sorted, whose `rank` is `number`, 0 ≤ number < C(p, s)."""
    later = comb(n_features, size) - 1 - number
    support: list[int] = []
    room = n_features
    for left in range(size, 0, -1):
        room = _largest_with(left, later, room)
        later -= comb(room, left)
        support.append(n_features - 1 - room)
    return tuple(support)


def _largest_with(k: int, count: int, end: int) -> int:
    """Return the largest m < end with C(m, k) ≤ count."""
    return bisect_right(range(end), count, key=lambda m: comb(m, k)) - 1


def score_log_weights(values: FloatArray, epsilon: float, sensitivity: float) -> FloatArray:
    """Compute -ε (R - R[0]) / 2Δ of every value: log weights of the exponential mechanism.

    They are relative to the first value, for R itself may be large against Δ.
    """
    with np.errstate(over="ignore"):
        logs: FloatArray = -epsilon * ((values - values[0]) / (2.0 * sensitivity))
    return logs


def both_relations(
    guarantee: Guarantee,
    epsilon_add_remove: float,
    relations: Collection[str] = RELATIONS,
    *,
    rho_of: Callable[[float], float | None] = bounded_range_rho,
) -> dict[str, Guarantee]:
    """State a guarantee under replace-one, and the ε of the same draw under add-remove if known.

    A further row raises n R(S), for every S, by at most nΔ: all log weights move in one direction,
    so that half of what two directions would cost is saved; what τ leaves open may still be on
    either side (docs/mathematics/top-r-and-mistakes.md, (4)).

    Where the draw states a ρ, `rho_of` says what follows from an ε. By default it is of bounded
    range, and so it is in one direction: the log weights that move by between 0 and ε of
    add-remove are no more than that apart.
    """
    if "add-remove" not in relations:
        return {guarantee.relation: guarantee}
    rho = None if guarantee.rho is None else rho_of(epsilon_add_remove)
    other = Guarantee(
        epsilon_add_remove, guarantee.delta, "add-remove", guarantee.conditions, rho=rho
    )
    return {guarantee.relation: guarantee, other.relation: other}


def one_direction(epsilon: float, tolerance: float = 0.0) -> float:
    """Compute (ε/2)(1 + τ/(Δ+τ)), rounded up, for values known up to τ = `tolerance` Δ."""
    t = exact(tolerance)
    return round_up(exact(epsilon) / 2 * (1 + t / (1 + t)))


def gap_in_one_direction(epsilon: float, tolerance: float) -> float:
    """Compute ε₀(½ + τ/2Δ)/(1 + τ/2Δ), rounded up: the cost of the gap test under add-remove.

    n times the gap moves by nΔ at most, half of what it moves by under replace-one, and the
    bound on it by τ more; the noise is that of replace-one.
    """
    t = exact(tolerance)
    return round_up(exact(epsilon) * (1 + t) / (2 + t))
