"""Guarantee of a draw of a support when a row is added or removed.

A further row raises n R(S), for every S, by at most nΔ: all log weights move in one direction, so
that half of what two directions would cost is saved; what τ leaves open may still be on either side
(docs/mathematics/top-r-and-mistakes.md, (4)).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.decimals import exact, round_up
from mipselect.privacy.guarantee import RELATIONS, Guarantee


def both_relations(
    guarantee: Guarantee,
    epsilon_add_remove: float,
    relations: Collection[str] = RELATIONS,
    *,
    rho_of: Callable[[float], float | None] = bounded_range_rho,
) -> dict[str, Guarantee]:
    """State a guarantee under replace-one, and the ε of the same draw under add-remove if known.

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
