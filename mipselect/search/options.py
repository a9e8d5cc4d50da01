"""`SearchOptions`: what may be asked of any certified search, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mipselect.backends.protocols import Solver
from mipselect.errors import InvalidInput
from mipselect.problem.instance import Instance
from mipselect.search.progress import ProgressCallback
from mipselect.search.tuning import TUNING, Tuning
from mipselect.validation import checked_time_limit, checked_tolerance

DEFAULT_TOLERANCE = 1e-5
"""τ in units of the sensitivity, where the loss has values that are known well enough."""

VALUE_ERRORS = 4.0
"""Errors of a value that τΔ covers: two values are compared, and the search gets the rest."""


@dataclass(frozen=True, eq=False)
class SearchOptions:
    """Solver, tolerance, time limit and progress callback of a search.

    Attributes
    ----------
    solver : str or Solver
        "auto", "native", a name from `available_solvers`, "pyomo:NAME" of a solver that Pyomo
        knows, or a back end from `solver_by_name`.
    tolerance : float, optional
        τ in units of the sensitivity, default 1e-5; public, fixed before the data are seen. A loss
        of one's own whose values are known less well has a larger one.
    time_limit : float, optional
        Seconds.
    progress : callable, optional
        Receives a `Progress` now and then.
    tuning : Tuning
        The numbers that steer the search; none changes what is proven.

    Raises
    ------
    InvalidInput
    """

    solver: str | Solver = "auto"
    tolerance: float | None = None
    time_limit: float | None = None
    progress: ProgressCallback | None = None
    tuning: Tuning = TUNING

    def __post_init__(self) -> None:
        if self.tolerance is not None:
            checked_tolerance(self.tolerance)
        if self.time_limit is not None:
            checked_time_limit(self.time_limit)
        if self.progress is not None and not callable(self.progress):
            raise InvalidInput(f"progress must be callable, got {self.progress!r}")

    def tolerance_for(self, instance: Instance) -> float:
        """Return τ in units of the sensitivity: what was asked for, or `DEFAULT_TOLERANCE`.

        A loss whose values are known to a share of Δ above a quarter of that, on however few rows,
        gets four times its share. Neither depends on the rows, nor on how many there are: under
        add-remove their number is private.

        Raises
        ------
        InvalidInput
            If there are so many rows that double precision does not know their values as well.
            With rows, a tolerance that was asked for is taken as it is.
        """
        if self.tolerance is None:
            tau = max(DEFAULT_TOLERANCE, VALUE_ERRORS * instance.value_error_of_one_row)
        else:
            tau = float(self.tolerance)
        if self.tolerance is None or not instance.data.has_rows:
            _require_certain_values(instance, tau)
        return tau


def _require_certain_values(instance: Instance, tau: float) -> None:
    """Raise `InvalidInput` unless `VALUE_ERRORS` errors of values are within τΔ; all is public.

    Under add-remove n is private: what would do is told as a power of ten.
    """
    error = VALUE_ERRORS * instance.value_error / instance.sensitivity
    if error > tau * (1.0 + 1e-9):
        enough = 10.0 ** math.ceil(math.log10(error))
        raise InvalidInput(
            f"values of so many rows are not known to a tolerance of {tau:g} times the "
            f"sensitivity, but to one of {enough:g}: give it as tolerance, or --tolerance; it is "
            "paid for in ε"
        )
