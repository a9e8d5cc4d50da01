"""Joint guarantee of a fixed set of releases, counted in two ways.

Both hold for a set that was fixed before the first of them was drawn. The sum also limits what is
chosen step by step, and so does ρ where it is the currency; else it informs, and allows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from mipselect.privacy.accountant import LedgerEntry, total_rho
from mipselect.privacy.concentrated import rho_epsilon
from mipselect.privacy.decimals import exact, round_up
from mipselect.validation import checked_share

SUM, RHO = "sum", "rho"

MEANINGS = {
    SUM: "ε and δ added up; holds for any draws, also step by step",
    RHO: "ρ of zero-concentrated privacy added up; for a set that was fixed beforehand",
}
"""The ways of counting, and the statement that belongs to each."""

LIMITED = "ρ of zero-concentrated privacy added up; the ledger's limit on it holds step by step"


@dataclass(frozen=True)
class Statement:
    """Joint guarantee of a set of releases, in one way of counting.

    Attributes
    ----------
    way : {"sum", "rho"}
    epsilon : float or None
        None where this way says nothing.
    delta : float
    rho : float or None
        The sum, for "rho".
    meaning : str
        When it holds; or why it says nothing.

    Examples
    --------
    >>> from mipselect.privacy import LedgerEntry, statements
    >>> from mipselect import Guarantee
    >>> found = statements([LedgerEntry(Guarantee(0.5), "a draw")] * 4, delta=1e-6)
    >>> found[0].way, found[0].epsilon
    ('sum', 2.0)
    """

    way: str
    epsilon: float | None
    delta: float
    rho: float | None
    meaning: str


def statements(
    entries: Sequence[LedgerEntry], delta: float, currency: str = "epsilon"
) -> tuple[Statement, ...]:
    """Count a set of entries by their sum and by ρ, at δ = `delta`.

    Parameters
    ----------
    entries : sequence of LedgerEntry
        All under one relation.
    delta : float
        0 < δ < 1, for the second way; the sum has the δ that was charged.
    currency : str
        Currency of the ledger: where it counts ρ, its budget of ρ holds step by step.

    References
    ----------
    Bun and Steinke, "Concentrated differential privacy", 2016.

    Examples
    --------
    >>> from mipselect import Guarantee
    >>> from mipselect.privacy import LedgerEntry, statements
    >>> entries = [LedgerEntry(Guarantee(0.5, rho=0.5**2 / 8), "a draw")] * 40
    >>> by_way = {one.way: one.epsilon for one in statements(entries, delta=1e-6)}
    >>> by_way["sum"], by_way["rho"] < by_way["sum"]
    (20.0, True)
    """
    delta = checked_share(delta, "delta", closed=False)
    return (_sum(entries), _concentrated(entries, delta, currency))


def best(found: Sequence[Statement]) -> Statement:
    """Choose the statement with the least ε among those that say something."""
    return min(
        (statement for statement in found if statement.epsilon is not None),
        key=lambda statement: (statement.epsilon, statement.delta),
    )


def _sum(entries: Sequence[LedgerEntry]) -> Statement:
    epsilon = sum((exact(entry.guarantee.epsilon) for entry in entries), Fraction(0))
    delta = sum((exact(entry.guarantee.delta) for entry in entries), Fraction(0))
    return Statement(SUM, round_up(epsilon), round_up(delta), None, MEANINGS[SUM])


def _concentrated(entries: Sequence[LedgerEntry], delta: float, currency: str) -> Statement:
    rho = total_rho(entries)
    if rho is None:
        return Statement(
            RHO, None, delta, None, "no ρ follows from some of the entries, or one too large"
        )
    total = round_up(rho)
    meaning = LIMITED if currency == "rho" else MEANINGS[RHO]
    return Statement(RHO, rho_epsilon(total, delta), delta, total, meaning)
