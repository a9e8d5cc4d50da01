"""Why a search ended without a proof, and what it had proven by then."""

from __future__ import annotations

import math
from typing import Any

from mipselect.errors import NotCertified, SolverFailure
from mipselect.search.pool import MistakeLevels, SupportPool
from mipselect.search.progress import Clock, TimeUp

Stopped = (TimeUp, SolverFailure)
"""What ends a search early."""


def refusal(
    stop: BaseException,
    clock: Clock,
    bound: float,
    needed: float,
    partial: SupportPool | MistakeLevels | None,
) -> NotCertified:
    """Return the error for a search that was stopped.

    Parameters
    ----------
    stop : TimeUp or SolverFailure
    clock : Clock
        Of the search.
    bound : float
        What is proven for everything that is not settled.
    needed : float
        What a certificate would have needed there.
    partial : SupportPool or MistakeLevels, optional
        What was found; not certified.
    """
    failed = isinstance(stop, SolverFailure)
    why = f"{stop}" if failed else f"time limit of {clock.limit:g} s reached"
    kind: type[Any] = SolverFailure if failed else NotCertified
    proven = f"proven to be at {bound:.6g} or above, and {needed:.6g} was needed"
    if bound == -math.inf:
        proven = "not bounded: nothing was proven yet"
    error: NotCertified = kind(
        f"{why}; stopped in stage {clock.stage!r}: what is left open is {proven}",
        bound=bound,
        incumbent=math.inf if partial is None else float(partial.values.min()),
        partial=partial,
    )
    return error
