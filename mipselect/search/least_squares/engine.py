"""Protocol that the search for the squared loss asks of an engine."""

from __future__ import annotations

from typing import Protocol

from mipselect.search.bounds.modular import ModularBound
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.node import SquaredNode
from mipselect.search.progress import Run


class LeastSquaresEngine(Protocol):
    """Settles nodes of a kind that suits it."""

    @property
    def name(self) -> str:
        """The solver's name."""

    def takes(self, node: SquaredNode, bound: ModularBound | None) -> bool:
        """Tell whether a node (size ≥ 2) should be settled rather than divided.

        Parameters
        ----------
        node : SquaredNode
        bound : ModularBound or None
            By which it has been screened; None if it has not been yet.
        """

    def settle(
        self, node: SquaredNode, bound: ModularBound | None, collector: Collector, run: Run
    ) -> bool:
        """Offer every support below the cutoff, and settle a bound for all the others.

        The cutoff is finite. False if it gives up: then the node is divided.
        """
