"""The errors that users may catch. Everything derives from `MipselectError`."""

from __future__ import annotations

from typing import Any


class MipselectError(Exception):
    """Base class of all errors that mipselect raises on purpose."""


class InvalidInput(MipselectError, ValueError):
    """Data, a parameter or a file is not what it must be; the message says what would be right."""


class UnknownSolver(InvalidInput):
    """No back end of that name is installed or usable here."""


class NotCertified(MipselectError):
    """The search ended before its result was proven; nothing may be released from it.

    Parameters
    ----------
    message : str
        What could not be proven and why the search stopped. It may quote sensitive values.
    bound : float
        The lower bound on the objective that was proven for what is not yet settled
        (``-inf`` if nothing was).
    incumbent : float
        The best objective known for the same part of the problem (``inf`` if none).
    partial : SupportPool or MistakeLevels, optional
        What was found, with what was proven; its `certified` is false, so that no mechanism
        takes it. None if nothing was found.
    """

    def __init__(
        self,
        message: str,
        *,
        bound: float,
        incumbent: float = float("inf"),
        partial: Any = None,
    ) -> None:
        super().__init__(message)
        self.bound = bound
        self.incumbent = incumbent
        self.partial = partial


class SolverFailure(NotCertified):
    """A back end stopped with an unexpected status or contradicted a known value."""

    def __init__(
        self,
        message: str,
        *,
        bound: float = float("-inf"),
        incumbent: float = float("inf"),
        partial: Any = None,
    ) -> None:
        super().__init__(message, bound=bound, incumbent=incumbent, partial=partial)


class BoundViolated(MipselectError):
    """A weight was above the bound that was proven for it: an error of the package."""


class ConditionNotMet(MipselectError):
    """The data do not meet the condition under which the mechanism is private."""


class BudgetExceeded(MipselectError):
    """The ledger has less budget left than the release needs; nothing was drawn."""


class LedgerForked(MipselectError):
    """The ledger belongs to another process, which would not see what is spent here."""


class RelationMismatch(MipselectError):
    """Guarantees under different neighbouring relations were about to be added."""


class NotPrivate(MipselectError):
    """The mechanism is kept for comparison only; it promises nothing and releases nothing."""


class LedgerBroken(MipselectError):
    """A ledger's file is damaged, or was changed by something else than a ledger."""


class LedgerNotWritten(MipselectError):
    """A charge could not be written to the ledger's file; nothing was drawn."""
