"""`SearchOptions`: what may be asked of any certified search, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from mipselect.backends.protocols import Solver
from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.search.progress import ProgressCallback
from mipselect.validation import checked_time_limit, checked_tolerance

DEFAULT_TOLERANCE = 1e-5
"""τ in units of the sensitivity; public, and fixed before the data are seen."""


MOST_UNCERTAIN = 0.1
"""The share of τΔ that errors of values may take from what is proven."""


@dataclass(frozen=True, eq=False)
class SearchOptions:
    """Who searches, how exactly and how long.

    Attributes
    ----------
    solver : str or Solver
        "auto", "native", the name of a back end, or one.
    tolerance : float
        τ in units of the sensitivity; None means `DEFAULT_TOLERANCE`.
    time_limit : float or None
        Seconds.
    progress : callable or None
        Receives a `Progress` now and then.

    Raises
    ------
    InvalidInput
    """

    solver: str | Solver = "auto"
    tolerance: float | None = None
    time_limit: float | None = None
    progress: ProgressCallback | None = None

    def __post_init__(self) -> None:
        if self.tolerance is not None:
            checked_tolerance(self.tolerance)
        if self.time_limit is not None:
            checked_time_limit(self.time_limit)
        if self.progress is not None and not callable(self.progress):
            raise InvalidInput(f"progress must be callable, got {self.progress!r}")

    @property
    def tau(self) -> float:
        """τ in units of the sensitivity."""
        return DEFAULT_TOLERANCE if self.tolerance is None else float(self.tolerance)


def require_ridge(instance: Instance) -> None:
    """Raise `InvalidInput` unless λ > 0."""
    if instance.ridge <= 0.0:
        raise InvalidInput(
            f"a certified search needs ridge > 0, got {instance.ridge:g}: its cuts divide by it"
        )


def require_certain_values(instance: Instance, tau: float) -> None:
    """Raise `InvalidInput` if values are not known far better than τΔ; all of it is public."""
    least = instance.uncertain / (MOST_UNCERTAIN * instance.sensitivity)
    if least > tau:
        raise InvalidInput(
            f"from moments of n = {instance.n:,} rows values are known up to "
            f"{instance.uncertain / instance.sensitivity:.1g} of the sensitivity, so the tolerance "
            f"must be at least {least:.2g}, got {tau:g}"
        )
