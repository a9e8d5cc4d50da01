"""Failures of a draw, told without any number of the data, and costs in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mipselect.errors import BoundViolated, ConditionNotMet, NotCertified, SolverFailure
from mipselect.privacy import Guarantee, Ledger
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import ExactDrawSelector

NOT_SPENT = "no budget is spent"
STAYS_CHARGED = "what was charged to the ledger stays charged"


def spent_by(ledger: Ledger | None) -> str:
    """Say what a draw that fails has cost."""
    return NOT_SPENT if ledger is None else STAYS_CHARGED


@contextmanager
def without_numbers(method: PrivateSelector, spent: str) -> Iterator[None]:
    """Take what depends on the data out of the messages of errors; `spent` says what it cost."""
    details = "; 'mipselect solve' shows the details, which are sensitive"
    try:
        yield
    except SolverFailure:
        raise SolverFailure(
            f"the solver failed, so nothing was released and {spent}{details}"
        ) from None
    except NotCertified:
        if isinstance(method, ExactDrawSelector):
            raise NotCertified(
                "no exact draw was made within the time limit, so nothing was released and "
                f"{spent}; allow more time, a smaller ε or smaller sizes, or use another method",
                bound=float("-inf"),
            ) from None
        raise NotCertified(
            f"not certified within the tolerance, so nothing was released and {spent}; "
            f"allow more time or use another solver{details}",
            bound=float("-inf"),
        ) from None
    except BoundViolated:
        raise BoundViolated(
            "a proven bound was wrong, which no data should bring about, so nothing was released "
            f"and {spent}: this is an error of mipselect; please report it"
        ) from None
    except ConditionNotMet:
        raise ConditionNotMet(
            "the data are not proven to meet the condition of the mechanism, so nothing was "
            "released; this refusal itself depends on the data, as a release would have, and no "
            "guarantee covers it; --test-epsilon with --delta never refuses for this reason, nor "
            f"do the other methods{details}"
        ) from None


def amount(guarantee: Guarantee) -> str:
    """Write (ε, δ) in short, or ε alone."""
    if guarantee.delta == 0.0:
        return f"ε = {guarantee.epsilon:.15g}"
    return f"(ε, δ) = ({guarantee.epsilon:.15g}, {guarantee.delta:.15g})"
