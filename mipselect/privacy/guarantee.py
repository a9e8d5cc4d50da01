"""`Guarantee`: the privacy of a draw, as data."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from mipselect.errors import InvalidInput, RelationMismatch
from mipselect.privacy.concentrated import pure_rho
from mipselect.privacy.decimals import exact, round_up, total
from mipselect.validation import (
    checked_choice,
    checked_flag,
    checked_integer,
    checked_line,
    checked_nonnegative,
    checked_number,
    set_fields,
    shown,
)

RELATIONS = {
    "replace-one": "replacing one row",
    "add-remove": "adding or removing one row",
}
"""The neighbouring relations, and how they read in a sentence."""

ROW = "row"
"""The privacy unit where a person has one row."""

WORDS_FOR_A_ROW = ("row", "rows")
"""Units of a ledger that say no more than that a row is a row."""

NO_GUARANTEE = "no guarantee, for the draw was seeded"

LITTLE = 10.0
"""ε from which on a guarantee means little."""

LITTLE_DELTA = 1e-3
"""δ from which on it means little, where the number of rows is not known or private."""

DIGITS = Context(prec=40)
"""`decimal` rounds an exponential to the nearest of so many digits, and no further."""


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ)-differential privacy under a stated neighbouring relation and stated conditions.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0, finite. Zero is what an empty ledger has spent.
    delta : float
        0 ≤ δ < 1.
    relation : {"replace-one", "add-remove"}
        Which data sets are neighbours: one row is exchanged (and n is public), or one row is
        added or removed (and n is private).
    conditions : tuple of str
        What must be true of the data for the guarantee to hold; empty for an unconditional one.
    private : bool
        False marks the guarantee of a seeded draw: the numbers are what the draw would have
        cost, and nothing is guaranteed. The mark stays through sums and conversions.
    rho : float, optional
        A ρ of zero-concentrated privacy that holds as well, under the same relation and
        conditions and without any δ. None states none; `concentrated` says what follows from ε.
        Two guarantees with the same (ε, δ) are equal, whatever else they state.

    Raises
    ------
    InvalidInput
        If a number is out of its range or the relation is unknown.

    Examples
    --------
    >>> from mipselect import Guarantee
    >>> one = Guarantee(0.5, relation="add-remove")
    >>> print(one.times(3))
    1.5-differentially private (pure), adding or removing one row; no further condition
    >>> one.to("replace-one").epsilon
    1.0
    """

    epsilon: float
    delta: float = 0.0
    relation: str = "replace-one"
    conditions: tuple[str, ...] = ()
    private: bool = True
    rho: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        epsilon = checked_nonnegative(self.epsilon, "epsilon")
        delta = checked_number(
            self.delta, "delta", "a number with 0 ≤ delta < 1", lambda v: 0.0 <= v < 1.0
        )
        checked_relation(self.relation)
        set_fields(
            self,
            epsilon=epsilon,
            delta=delta,
            conditions=_conditions(self.conditions),
            private=checked_flag(self.private, "private"),
            rho=None if self.rho is None else checked_nonnegative(self.rho, "rho"),
        )

    @property
    def concentrated(self) -> float | None:
        """ρ: what is stated or, where δ = 0 and that is less, ε²/2. None: nothing follows."""
        pure = pure_rho(self.epsilon) if self.delta == 0.0 else None
        return min((rho for rho in (self.rho, pure) if rho is not None), default=None)

    def to(self, relation: str) -> Guarantee:
        """State the same guarantee under another neighbouring relation.

        Replacing a row is removing one and adding another, so (ε, δ) under add-remove is
        (2ε, (1 + e^ε)δ) under replace-one, and ρ is 4ρ. Nothing follows in the other direction.

        Raises
        ------
        RelationMismatch
            From replace-one to add-remove.
        InvalidInput
            If the relation is unknown, or δ would reach 1 and guarantee nothing.
        """
        if relation == self.relation:
            return self
        if checked_relation(relation) == "add-remove":
            raise RelationMismatch(
                "a guarantee under replace-one says nothing about adding or removing a row; "
                "only add-remove can be converted, to replace-one"
            )
        delta = Fraction(0) if self.delta == 0.0 else _two_steps(self.epsilon, self.delta)
        epsilon = 2 * exact(self.epsilon)
        rho = None if self.rho is None else 4 * exact(self.rho)
        return _composed(epsilon, delta, relation, self.conditions, self.private, rho)

    def times(self, count: int) -> Guarantee:
        """Return the guarantee of `count` releases together, by basic composition: (kε, kδ).

        Raises
        ------
        InvalidInput
            If `count` is not a positive integer, δ would reach 1 or ε infinity.
        """
        count = checked_integer(count, "count", 1)
        epsilon, delta = exact(self.epsilon) * count, exact(self.delta) * count
        rho = None if self.rho is None else exact(self.rho) * count
        return _composed(epsilon, delta, self.relation, self.conditions, self.private, rho)

    def __add__(self, other: Guarantee) -> Guarantee:
        """Compose two releases; raise `RelationMismatch` if their relations differ."""
        if not isinstance(other, Guarantee):
            return NotImplemented
        return compose([self, other], self.relation)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON; "rho" only where one is stated."""
        stated = {} if self.rho is None else {"rho": self.rho}
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "conditions": list(self.conditions),
            "private": self.private,
            **stated,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Guarantee:
        """Return what `to_dict` wrote."""
        return cls(
            stored["epsilon"],
            stored["delta"],
            stored["relation"],
            tuple(stored["conditions"]),
            stored["private"],
            stored.get("rho"),
        )

    def of_unit(self, unit: str) -> str:
        """Return the guarantee as a sentence about all rows of one `unit`, or about one "row".

        Examples
        --------
        >>> from mipselect import Guarantee
        >>> Guarantee(1.0).of_unit("patient")
        '1-differentially private (pure), replacing all rows of one patient; no further condition'
        """
        if self.delta == 0.0:
            size = f"{self.epsilon:.15g}-differentially private (pure)"
        else:
            size = f"({self.epsilon:.15g}, {self.delta:.15g})-differentially private"
        if self.conditions:
            conditions = "provided that: " + "; ".join(self.conditions)
        else:
            conditions = "no further condition"
        stated = f"{size}, {neighbours(self.relation, unit)}; {conditions}"
        return stated if self.private else f"{NO_GUARANTEE}; otherwise {stated}"

    def __str__(self) -> str:
        return self.of_unit(ROW)

    def doubts(self, n: int | None) -> list[str]:
        """Say where ε or δ protects little; n is None where it is private or not known yet."""
        found = []
        if self.private and self.epsilon >= LITTLE:
            found.append(
                f"ε = {self.epsilon:.15g} protects little: the factor is e^ε; ε of 1 or less "
                "protects well"
            )
        if self.private and self.delta >= (LITTLE_DELTA if n is None else 1.0 / n):
            found.append(
                f"δ = {self.delta:.15g} protects little: with that probability a row may be "
                "released as it is; δ far below one in the number of rows protects well"
            )
        return found


def neighbours(relation: str, unit: str = ROW) -> str:
    """Say in words how neighbouring tables differ: by one row, or by all rows of one `unit`."""
    words = RELATIONS[relation]
    return words if unit == ROW else words.replace("one row", f"all rows of one {unit}")


def is_row(unit: str) -> bool:
    """Return whether the unit of a ledger is a row, and not somebody or something with rows."""
    return unit.strip().casefold() in WORDS_FOR_A_ROW


def checked_relation(relation: str, what: str = "relation") -> str:
    """Return one of the known relations, or raise `InvalidInput`."""
    return checked_choice(relation, what, RELATIONS)


def compose(guarantees: Iterable[Guarantee], relation: str) -> Guarantee:
    """Add up ε, δ and ρ, exactly, and unite the conditions in their order.

    A ρ is stated if one of them states it and it follows for all. One seeded draw among them
    takes the guarantee from all.

    Raises
    ------
    RelationMismatch
        If a guarantee is not under `relation`.
    InvalidInput
        If δ reaches 1: together such releases guarantee nothing.
    """
    together = list(guarantees)
    for guarantee in together:
        if guarantee.relation != relation:
            raise RelationMismatch(
                f"a guarantee under {guarantee.relation} cannot be added to one under "
                f"{relation}; convert an add-remove guarantee with guarantee.to('replace-one')"
            )
    return _composed(
        total(guarantee.epsilon for guarantee in together),
        total(guarantee.delta for guarantee in together),
        relation,
        (condition for guarantee in together for condition in guarantee.conditions),
        all(guarantee.private for guarantee in together),
        _total_rho(together),
    )


def _total_rho(together: Collection[Guarantee]) -> Fraction | None:
    if all(guarantee.rho is None for guarantee in together):
        return None
    known = [rho for guarantee in together if (rho := guarantee.concentrated) is not None]
    return total(known) if len(known) == len(together) else None


def _composed(
    epsilon: Fraction,
    delta: Fraction,
    relation: str,
    conditions: Iterable[str],
    private: bool,
    rho: Fraction | None,
) -> Guarantee:
    if delta >= 1:
        raise InvalidInput(f"the deltas add up to {float(delta)!r}; from 1 on nothing holds")
    if epsilon > sys.float_info.max:
        raise InvalidInput("the epsilons add up to more than a float can hold")
    united = tuple(dict.fromkeys(conditions))
    stated = None if rho is None or rho > sys.float_info.max else round_up(rho)
    return Guarantee(round_up(epsilon), round_up(delta), relation, united, private, stated)


def _two_steps(epsilon: float, delta: float) -> Fraction:
    """Compute (1 + e^ε)δ, rounded up in its fortieth digit; from 1 on it is refused."""
    # A δ is at least 5e-324, so that from an ε of 745 on the product is above 1 anyway.
    power = DIGITS.next_plus(DIGITS.exp(Decimal(repr(min(epsilon, 1000.0)))))
    product = (1 + Fraction(power)) * exact(delta)
    if product >= 1:
        raise InvalidInput(
            f"({epsilon:.15g}, {delta:.15g}) under add-remove guarantees nothing under "
            "replace-one: (1 + e^ε)δ is not below 1"
        )
    return product


def _conditions(conditions: Iterable[str]) -> tuple[str, ...]:
    if isinstance(conditions, str):
        raise InvalidInput(f"conditions must be a tuple of sentences, got {shown(conditions)}")
    return tuple(checked_line(condition, "a condition") for condition in conditions)


def amount(guarantee: Guarantee) -> str:
    """Write ε, and δ where there is one."""
    text = f"ε = {guarantee.epsilon:.15g}"
    return text if guarantee.delta == 0.0 else f"{text}, δ = {guarantee.delta:.15g}"


THREE_DIGITS = Context(prec=3, rounding=ROUND_CEILING)

HOPELESS = 20.0
"""From this ε on no factor is worth a number."""

WEAK = 5.0
"""ε above which the limit is a weak one."""


def limit(total: Guarantee) -> list[str]:
    """Say what nobody can conclude about one person, and what somebody who knew all else could."""
    without = "if this person had given any other answers"
    question = "which of two answers a person gave"
    if total.relation == "add-remove":
        without = "if this person were not in the table"
        question = "whether a person is in the table"
    if total.epsilon >= HOPELESS:
        return [
            f"With ε = {total.epsilon:.6g} there is no protection to speak of: the probability of "
            f"a result may differ by a factor of e^{total.epsilon:.6g} from what it would have "
            f"been {without}."
        ]
    example = (
        f"For example: somebody knows all other rows and wonders {question}, both being equally "
        "likely to them. After it they can be sure of one to "
        f"{conclusion(total.epsilon)} at most."
    )
    weak = " That is a weak limit." if total.epsilon > WEAK else ""
    return [
        "What anybody can conclude about one person from these results is limited: none would have "
        f"been more probable, or less, by more than a factor of {factor(total.epsilon)}, "
        f"which is e^ε for ε = {total.epsilon:.15g}, {without}.{weak}",
        example,
    ]


def factor(epsilon: float) -> str:
    """Write e^ε in three digits, rounded up: what is said holds."""
    return f"{THREE_DIGITS.create_decimal(Decimal(math.nextafter(math.exp(epsilon), math.inf))):f}"


def conclusion(epsilon: float) -> str:
    """Write the largest probability, in percent and rounded up, that one of one half can become."""
    after = 1.0 / (1.0 + math.exp(-epsilon))
    return f"{min(math.ceil(1000.0 * after) / 10.0, 100.0):g} %"
