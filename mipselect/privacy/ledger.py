"""`Ledger`: a budget that refuses before anything is drawn, in memory or in a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from copy import deepcopy
from pathlib import Path
from threading import Lock
from typing import Any, Self, TypeVar

from mipselect.errors import InvalidInput, LedgerForked, LedgerNotWritten, MipselectError
from mipselect.privacy.accountant import (
    Account,
    LedgerEntry,
    Terms,
    checked_entry,
    checked_note,
)
from mipselect.privacy.guarantee import Guarantee, amount
from mipselect.privacy.ledger_file import FileBook, Row, create_file
from mipselect.validation import plural, shown

__all__ = ["Ledger", "LedgerEntry", "checked_ledger", "paid"]

Result = TypeVar("Result")


class MemoryBook:
    """The entries of a ledger that lives in one process: without a file and rows."""

    path: Path | None = None
    identity: str | None = None

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._account = Account(terms)
        self._lock = Lock()
        self._process: int | None = os.getpid()  # None: of a copy, which no process may charge.

    @property
    def place(self) -> str:
        """Note that a copy is as it was when it was made; empty for the ledger itself."""
        return "" if self._process == os.getpid() else ", as it was at the fork or when pickled"

    def __getstate__(self) -> Account:
        """Pickle what was charged, and not the right to charge."""
        return self.look(deepcopy)

    def __setstate__(self, account: Account) -> None:
        """Make a copy of what a ledger was, which belongs to no process."""
        self.__init__(account.terms)  # type: ignore[misc]
        self._account, self._process = account, None

    def rows(self) -> list[Row]:
        """Return none."""
        return []

    def look(self, at: Callable[[Account], Result]) -> Result:
        """Return what `at` makes of the account, or of what it was at the fork."""
        # A child has no threads that could change it, and the lock may have been held at the fork.
        if self._process != os.getpid():
            return at(self._account)
        with self._lock:
            return at(self._account)

    def charge(self, entry: LedgerEntry) -> None:
        """Add an entry, or raise."""
        # Before the lock, which a thread of the parent may have held at the fork.
        if self._process != os.getpid():
            raise LedgerForked(
                "a ledger in memory cannot be charged in a forked process, nor as a copy that was "
                "sent or stored: the same budget would be spent again. Keep it in a file "
                "(Ledger.create), or draw in the process that made it (n_jobs=1, or threads). "
                "Nothing was drawn"
            )
        with self._lock:
            self._account.admit(entry)
            self._account.add(entry)


class Ledger:
    """The privacy budget of one data set, in memory or in a file.

    `Ledger(...)` is a budget in memory, for this process. `Ledger.create` makes one that lasts, in
    a file, and `Ledger.open` opens it again.

    Parameters
    ----------
    epsilon, delta : float
        The budget.
    relation : {"replace-one", "add-remove"}
        The relation under which the budget is meant; every guarantee must be under the same.
    rho : float, keyword only
        In place of `epsilon`: a budget of ρ. The currency is then ρ of zero-concentrated privacy:
        a draw costs the ρ that its guarantee states or, if it is pure, ε²/2, and `delta` is the δ
        in 0 < δ < 1 at which `spent` states an ε.
    unit : str, keyword only
        Whom or what one row stands for, such as "patient"; for people.

    Raises
    ------
    InvalidInput
        If the budget is not a valid guarantee.

    Notes
    -----
    Sums are exact in decimal: a budget of 1 pays for ten releases at 0.1, and not for one at
    1 + 1e-12. Two threads cannot both spend the last of it, and copies are the ledger itself.
    What was charged stays charged, also if the draw fails afterwards.

    Conditions are not a matter of the budget: `spent` carries those of every entry, and guarantees
    nothing if one of them was a seeded draw.

    A ledger in memory can be charged only in the process that made it. A forked child, or somebody
    who unpickles it, may read what it was then. A ledger in a file can be charged by any process
    of one machine, at any time, pickled, forked and sent to workers; see docs/ledger.md.

    Each draw may depend on what came before it: sums of ε and δ hold then, and a limit on ρ too.

    References
    ----------
    Dwork and Roth, "The algorithmic foundations of differential privacy", 2014, section 3.5;
    Whitehouse, Ramdas, Rogers and Wu, "Fully-adaptive composition in differential privacy", 2023,
    theorem 1, for ρ.

    Examples
    --------
    >>> from mipselect import Guarantee, Ledger
    >>> ledger = Ledger(epsilon=1.0)
    >>> ledger.spend(Guarantee(0.7), what="counts")
    >>> ledger.remaining.epsilon
    0.3
    >>> try:
    ...     ledger.spend(Guarantee(0.4))
    ... except Exception as error:
    ...     print(type(error).__name__)
    ...
    BudgetExceeded
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 0.0,
        relation: str = "replace-one",
        *,
        rho: float | None = None,
        unit: str = "row",
    ) -> None:
        self._book: MemoryBook | FileBook = MemoryBook(Terms(epsilon, delta, relation, unit, rho))
        self._asked: Mapping[str, Any] | None = None

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        relation: str = "replace-one",
        unit: str = "row",
        rho: float | None = None,
    ) -> Self:
        """Make a ledger in a new file; the other parameters are those of the class.

        Parameters
        ----------
        path : str or path-like
            There must be no file of this name: a ledger is never replaced.

        Raises
        ------
        InvalidInput
            If the budget is not valid or nothing, or the file exists.
        LedgerNotWritten
            If the file cannot be written.
        """
        terms = Terms(epsilon, delta, relation, unit, rho)
        if rho == 0.0 or (epsilon == 0.0 and delta == 0.0):
            raise InvalidInput(
                f"{'epsilon' if rho is None else 'rho'} must be > 0: a ledger of nothing pays for "
                "nothing, and its budget cannot be raised"
            )
        return cls._on(create_file(Path(path), terms))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open a ledger in a file; all its rows are checked.

        Raises
        ------
        InvalidInput
            If there is no such file, or it is no ledger.
        LedgerBroken
            If it is damaged or was changed by something else.
        """
        return cls._on(FileBook(Path(path)))

    @classmethod
    def _on(cls, book: MemoryBook | FileBook, asked: Mapping[str, Any] | None = None) -> Self:
        """Make a ledger on a book, which notes what was asked."""
        ledger = cls.__new__(cls)
        ledger._book, ledger._asked = book, asked
        return ledger

    def __repr__(self) -> str:
        try:
            return self._book.look(self._described)
        except MipselectError as error:
            return f"<Ledger: {error}>"

    def _described(self, account: Account) -> str:
        terms, spent = account.terms, account.spent()
        if terms.rho is not None:
            used = f"ρ = {spent.rho:.15g} of {terms.rho:.15g} (δ = {terms.delta:.15g})"
        else:
            used = (
                f"ε = {spent.epsilon:.15g} of {terms.budget.epsilon:.15g} and "
                f"δ = {spent.delta:.15g} of {terms.delta:.15g}"
            )
        count = plural(len(account.entries), "release")
        return f"<Ledger: {used} spent in {count}, {terms.relation}{self._book.place}>"

    def __copy__(self) -> Ledger:
        """Return the ledger itself: a copy would let the same budget be spent twice."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Ledger:
        """Return the ledger itself, also when scikit-learn clones an estimator that has one."""
        return self

    @property
    def relation(self) -> str:
        """The relation under which the budget is meant."""
        return self._book.terms.relation

    @property
    def unit(self) -> str:
        """Whom or what one row stands for."""
        return self._book.terms.unit

    @property
    def currency(self) -> str:
        """Quantity that is counted: "epsilon", "epsilon-delta" or "rho"."""
        return self._book.terms.currency

    @property
    def budget(self) -> Guarantee:
        """Largest cost allowed for all releases together."""
        return self._book.terms.budget

    @property
    def path(self) -> Path | None:
        """The file; None in memory."""
        return self._book.path

    @property
    def identity(self) -> str | None:
        """Identifier of the ledger of a file, wherever the file is; None in memory."""
        return self._book.identity

    @property
    def in_words(self) -> str:
        """What is fixed about the ledger: budget, relation and unit."""
        budget, counted = self.budget, amount(self.budget)
        if self.currency == "rho":
            counted = f"ρ = {budget.rho:.15g}, which is ({budget.epsilon:.6g}, {budget.delta:.6g})"
        return f"{counted} under {self.relation}; one row is one {self.unit}"

    def to_dict(self) -> dict[str, Any]:
        """Return what is fixed about the ledger, ready for JSON."""
        fixed = {"identity": self.identity, "currency": self.currency, "unit": self.unit}
        return {**fixed, "relation": self.relation, "budget": self.budget.to_dict()}

    def noting(self, asked: Mapping[str, Any]) -> Ledger:
        """Return the same ledger, which notes these settings with everything that is charged.

        Parameters
        ----------
        asked : mapping
            Ready for JSON. Public settings: never anything that was computed from the data.
        """
        return Ledger._on(self._book, checked_note(asked))

    def spend(self, guarantee: Guarantee, what: str = "") -> None:
        """Charge a release, before it is drawn.

        Parameters
        ----------
        guarantee : Guarantee
            Guarantee of the release.
        what : str
            What is released; for people.

        Raises
        ------
        BudgetExceeded
            If less is left than the release costs; nothing is charged.
        RelationMismatch
            If the guarantee is under another relation than the budget; nothing is charged.
        LedgerForked
            In a forked child of a ledger in memory; nothing is charged.
        LedgerBroken, LedgerNotWritten
            If the file of the ledger is damaged or cannot be written.
        """
        self._book.charge(self._entry(guarantee, what))

    def after(self, guarantee: Guarantee) -> Guarantee:
        """Return what `remaining` would be after `spend`; raise the same, and charge nothing."""
        entry = self._entry(guarantee)
        return self._book.look(lambda account: account.after(entry))

    @contextmanager
    def charged(self, guarantee: Guarantee, what: str = "") -> Iterator[None]:
        """Charge a release as `spend` does, and look whether the charge outlives the draw.

        Yields
        ------
        None
            Once it is charged: what is drawn then is paid for.

        Raises
        ------
        LedgerBroken
            Also after the draw, if an older copy was put back meanwhile.
        """
        self.spend(guarantee, what)
        yield
        # It is paid for, which is what counts: if it is there. Where others keep the file it is.
        with suppress(LedgerNotWritten):
            self._book.look(lambda account: None)

    def _entry(self, guarantee: Guarantee, what: str = "") -> LedgerEntry:
        return checked_entry(guarantee, what, self._asked)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Every release that was charged, in order."""
        return self._book.look(lambda account: tuple(account.entries))

    @property
    def spent(self) -> Guarantee:
        """Joint guarantee of all entries, with all their conditions.

        Where ρ is counted, the ε is that which follows at `delta`.
        """
        return self._book.look(lambda account: account.spent())

    @property
    def remaining(self) -> Guarantee:
        """The largest guarantee that `spend` still accepts.

        Where ρ is counted, ε is the largest of a draw of which nothing but its ε is known.
        """
        return self._book.look(lambda account: account.remaining())

    def rows(self) -> list[Row]:
        """Return all stored rows of a file, read anew and checked; in memory there are none.

        Raises
        ------
        LedgerBroken
            Naming the first row that does not fit.
        """
        return self._book.rows()

    def verify(self) -> Row | None:
        """Read a file anew and check every row and every page; return the last row.

        Its hash stands for all that was ever charged: written down elsewhere, it shows later that
        nothing was taken away. In memory there is nothing to check, and None is returned.

        Raises
        ------
        LedgerBroken
            Naming the first row that does not fit.
        """
        return rows[-1] if (rows := self.rows()) else None

    def receipt(self) -> dict[str, Any] | None:
        """Return the place of the last charge in a file, and what is left, for JSON, or None."""
        if self.path is None or (head := self.verify()) is None:
            return None
        return {
            "file": self.path.name,
            "identity": self.identity,
            "unit": self.unit,
            "head": {"number": head.number, "hash": head.hash},
            "remaining": self.remaining.to_dict(),
        }


def checked_ledger(ledger: Ledger | None, what: str = "ledger") -> Ledger | None:
    """Return a ledger or None; raise `InvalidInput` for anything else."""
    if not (ledger is None or isinstance(ledger, Ledger)):
        is_path = isinstance(ledger, str | os.PathLike)
        advice = f"; Ledger.open({str(ledger)!r}) opens one in a file" if is_path else ""
        raise InvalidInput(f"{what} must be a Ledger or None, got {shown(ledger)}{advice}")
    return ledger


def paid(ledger: Ledger | None, guarantee: Guarantee, what: str) -> AbstractContextManager[None]:
    """Charge a ledger, if there is one, for what is drawn inside."""
    return nullcontext() if ledger is None else ledger.charged(guarantee, what)
