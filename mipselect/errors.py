"""The errors that users may catch, which derive from `MipselectError`, and two warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "BoundViolated",
    "BudgetExceeded",
    "ConditionNotMet",
    "InferredTypesWarning",
    "InvalidInput",
    "LedgerBroken",
    "LedgerForked",
    "LedgerNotWritten",
    "MipselectError",
    "NotCertified",
    "RelationMismatch",
    "SolverFailure",
    "UsefulnessWarning",
]

LIBRARIES = ("mipselect", "sklearn", "joblib")
"""Packages whose lines no warning names."""


class MipselectError(Exception):
    """Base class of all errors that mipselect raises on purpose.

    Examples
    --------
    >>> import mipselect
    >>> try:
    ...     mipselect.Ledger(-1.0)
    ... except mipselect.MipselectError as error:
    ...     print(type(error).__name__)
    ...
    InvalidInput
    """


class InvalidInput(MipselectError, ValueError):
    """Data, a parameter or a file is not what it must be; the message says what would be right."""


class NotCertified(MipselectError):
    """The search ended before its result was proven; nothing may be released from it.

    Parameters
    ----------
    message : str
        What could not be proven and why the search stopped. It may quote sensitive values.
    bound : float
        The lower bound on the objective that was proven for what is still open
        (``-inf`` if nothing was).
    incumbent : float
        The best objective known for the same part of the problem (``inf`` if none).
    partial : SupportPool or MistakeLevels, optional
        What was found, with what was proven; its `certified` is false, so that no mechanism
        takes it. None if nothing was found.

    Examples
    --------
    >>> from mipselect import NotCertified, load_instance, top_supports
    >>> try:
    ...     top_supports(load_instance("paper-p1000"), time_limit=1e-9)
    ... except NotCertified as refused:
    ...     print(refused.bound <= refused.incumbent)
    ...
    True
    """

    def __init__(
        self,
        message: str,
        *,
        bound: float = float("-inf"),
        incumbent: float = float("inf"),
        partial: Any = None,
    ) -> None:
        super().__init__(message)
        self.bound = bound
        self.incumbent = incumbent
        self.partial = partial


class SolverFailure(NotCertified):
    """A back end stopped with an unexpected status or contradicted a known value."""


class BoundViolated(MipselectError):
    """A weight was above the bound that was proven for it: an error of the package."""


class ConditionNotMet(MipselectError):
    """The data do not meet the condition under which the mechanism is private.

    Examples
    --------
    >>> from mipselect import Mistakes, load_instance, mistake_levels
    >>> from mipselect.errors import ConditionNotMet
    >>> try:
    ...     Mistakes(mistake_levels(load_instance("tiny-plain")), 1.0).release()
    ... except ConditionNotMet:
    ...     print("nothing was drawn, and that itself says something of the data")
    ...
    nothing was drawn, and that itself says something of the data
    """


class BudgetExceeded(MipselectError):
    """The ledger has less budget left than the release needs; nothing was drawn.

    Examples
    --------
    >>> from mipselect import Guarantee, Ledger
    >>> from mipselect.errors import BudgetExceeded
    >>> try:
    ...     Ledger(0.5).spend(Guarantee(1.0))
    ... except BudgetExceeded:
    ...     print("nothing was drawn")
    ...
    nothing was drawn
    """


class LedgerForked(MipselectError):
    """The ledger belongs to another process, which would not see what is spent here."""


class RelationMismatch(MipselectError):
    """Guarantees under different neighbouring relations were about to be added.

    Examples
    --------
    >>> from mipselect import Guarantee
    >>> from mipselect.errors import RelationMismatch
    >>> try:
    ...     Guarantee(1.0) + Guarantee(1.0, relation="add-remove")
    ... except RelationMismatch:
    ...     print("convert the second: its ε is 2 then")
    ...
    convert the second: its ε is 2 then
    """


class LedgerBroken(MipselectError):
    """A ledger's file is damaged, or was changed by something else than a ledger.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mipselect import Ledger
    >>> from mipselect.errors import LedgerBroken
    >>> _ = Ledger.create("study.ledger", epsilon=1.0)
    >>> _ = Path("study.ledger").write_bytes(Path("study.ledger").read_bytes()[:100])
    >>> try:
    ...     Ledger.open("study.ledger").verify()
    ... except LedgerBroken:
    ...     print("nothing is paid any more")
    ...
    nothing is paid any more
    """


class LedgerNotWritten(MipselectError):
    """A charge could not be written to the ledger's file; nothing was drawn."""


class UsefulnessWarning(UserWarning):
    """A release can hardly say anything whatever the rows are, by what is public alone.

    Nothing has been charged or drawn when it comes: as an error it stops a fit at no cost.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from mipselect.errors import UsefulnessWarning
    >>> from mipselect.selectors import PermuteAndFlipSelector
    >>> X = np.random.default_rng(0).standard_normal((20, 30))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", UsefulnessWarning)
    ...     try:
    ...         PermuteAndFlipSelector(3, epsilon=0.1).fit(X, X[:, 0])
    ...     except UsefulnessWarning as told:
    ...         print(str(told)[:11])
    ...
    near chance
    """


class InferredTypesWarning(UserWarning):
    """The types of a frame contradict its schema, as where they were inferred from all rows.

    It hangs on the types of columns, which the rows may have decided: it is for the curator, and
    not to be published. Nothing has been charged or drawn when it comes.
    """


def warn_of_little_use(sentence: str) -> None:
    """Warn that a release can hardly say anything."""
    warn(sentence, UsefulnessWarning)


def warn(sentence: str, category: type[Warning]) -> None:
    """Warn, naming the line that led here: the last one that is no library's."""
    level, frame = 1, sys._getframe()
    while str(frame.f_globals.get("__name__")).partition(".")[0] in LIBRARIES and frame.f_back:
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, category, stacklevel=level)


@contextmanager
def about(what: str) -> Iterator[None]:
    """Put the option or the file that it is about before a message about bad input."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{what}: {error}") from error


@contextmanager
def advised(advice: str) -> Iterator[None]:
    """Put advice behind a message about bad input."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{error}; {advice}") from None
