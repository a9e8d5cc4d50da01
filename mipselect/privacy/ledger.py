"""`Ledger`: a budget that refuses before anything is drawn."""

from __future__ import annotations

import os
from dataclasses import dataclass
from threading import Lock
from typing import NoReturn

from mipselect.errors import BudgetExceeded, InvalidInput, LedgerForked, RelationMismatch
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.guarantee import Guarantee, compose
from mipselect.validation import shown


@dataclass(frozen=True)
class LedgerEntry:
    """One release that was paid for.

    Attributes
    ----------
    guarantee : Guarantee
        Its `private` is false for a seeded draw.
    what : str
        What was released; for people.
    """

    guarantee: Guarantee
    what: str


class Ledger:
    """The privacy budget of one data set, spent by basic composition.

    Parameters
    ----------
    epsilon, delta : float
        The budget.
    relation : {"replace-one", "add-remove"}
        The relation under which the budget is meant; every guarantee must be under the same.

    Raises
    ------
    InvalidInput
        If the budget is not a valid guarantee.

    Notes
    -----
    Sums are exact in decimal: a budget of 1 pays for ten releases at 0.1, and not for one at
    1 + 1e-12. Two threads cannot both spend the last of it, and copies are the ledger itself.
    What was charged stays charged, also if the draw fails afterwards.

    Conditions are not a matter of the budget: `spent` carries those of every entry, and promises
    nothing if one of them was a seeded draw.

    A ledger can be charged only in the process that made it. A forked child may read it, and
    sees what it was at the fork.
    """

    def __init__(self, epsilon: float, delta: float = 0.0, relation: str = "replace-one") -> None:
        self._budget = Guarantee(epsilon, delta, relation)
        self._left_epsilon = exact(self._budget.epsilon)
        self._left_delta = exact(self._budget.delta)
        self._entries: list[LedgerEntry] = []
        self._lock = Lock()
        self._process = os.getpid()

    def __repr__(self) -> str:
        spent = self.spent
        forked = "" if self._process == os.getpid() else ", as it was at the fork"
        return (
            f"<Ledger: ε = {spent.epsilon:.15g} of {self._budget.epsilon:.15g} and "
            f"δ = {spent.delta:.15g} of {self._budget.delta:.15g} spent in "
            f"{len(self._entries)} releases, {self._budget.relation}{forked}>"
        )

    def __copy__(self) -> Ledger:
        """Return the ledger itself: a copy would let the same budget be spent twice."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Ledger:
        """Return the ledger itself, also when scikit-learn clones an estimator that has one."""
        return self

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: the same budget would be there twice."""
        raise TypeError(
            "a Ledger cannot be pickled or sent to another process, where the same budget would "
            "be spent again; fit in this process (n_jobs=1, or threads), and store fitted "
            "estimators without it (set_params(ledger=None))"
        )

    @property
    def relation(self) -> str:
        """The relation under which the budget is meant."""
        return self._budget.relation

    def spend(self, guarantee: Guarantee, what: str = "") -> None:
        """Charge a release, before it is drawn.

        Parameters
        ----------
        guarantee : Guarantee
            What the release promises.
        what : str
            What is released; for people.

        Raises
        ------
        BudgetExceeded
            If less is left than is asked for; nothing is charged.
        RelationMismatch
            If the guarantee is under another relation than the budget; nothing is charged.
        LedgerForked
            In a forked child; nothing is charged.
        """
        if not isinstance(guarantee, Guarantee):
            raise InvalidInput(f"a ledger is charged with a Guarantee, got {shown(guarantee)}")
        # Before the lock, which a thread of the parent may have held at the fork.
        if self._process != os.getpid():
            raise LedgerForked(
                "a ledger cannot be charged in a forked process, where every child would spend "
                "the same budget again; draw in the process that made it (n_jobs=1, or threads). "
                "Nothing was drawn"
            )
        budget = self._budget
        if guarantee.relation != budget.relation:
            remedy = (
                "convert it with guarantee.to('replace-one'), or ask a selector for "
                "relation='replace-one'"
                if budget.relation == "replace-one"
                else "it cannot be converted; use a ledger under replace-one"
            )
            raise RelationMismatch(
                f"the ledger is kept under {budget.relation}, the guarantee is under "
                f"{guarantee.relation}: {remedy}"
            )
        epsilon, delta = exact(guarantee.epsilon), exact(guarantee.delta)
        with self._lock:
            if epsilon > self._left_epsilon or delta > self._left_delta:
                raise BudgetExceeded(
                    f"asked for {_amount(guarantee)}, but only {_amount(self.remaining)} is left "
                    f"of the budget {_amount(budget)}; nothing was drawn"
                )
            self._left_epsilon -= epsilon
            self._left_delta -= delta
            self._entries.append(LedgerEntry(guarantee, what))

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Every release that was charged, in order."""
        return tuple(self._entries)

    @property
    def spent(self) -> Guarantee:
        """What all entries promise together, with all their conditions."""
        return compose((entry.guarantee for entry in self.entries), self._budget.relation)

    @property
    def remaining(self) -> Guarantee:
        """The largest (ε, δ) that `spend` still accepts."""
        return Guarantee(
            round_down(self._left_epsilon), round_down(self._left_delta), self._budget.relation
        )


def _amount(guarantee: Guarantee) -> str:
    return f"ε = {guarantee.epsilon!r}, δ = {guarantee.delta!r}"
