"""Protocol that the search for the squared loss asks of an engine."""

from __future__ import annotations

from typing import Protocol

from mipselect.search.collectors import Collector
from mipselect.search.least_squares.additions import Additions
from mipselect.search.least_squares.centring import GainBound
from mipselect.search.progress import Run


class LeastSquaresEngine(Protocol):
    """Settles subproblems of a kind that suits it."""

    @property
    def name(self) -> str:
        """The solver's name."""

    def takes(self, sub: Additions, bound: GainBound | None) -> bool:
        """Tell whether a subproblem (size ≥ 2) should be settled rather than divided.

        Parameters
        ----------
        sub : Additions
        bound : GainBound or None
            By which it has been screened; None if it has not been yet.
        """

    def settle(
        self, sub: Additions, bound: GainBound | None, collector: Collector, run: Run
    ) -> bool:
        """Offer every support below the threshold, and settle a bound for all the others.

        The threshold is finite. False if it gives up: then the subproblem is divided.
        """
