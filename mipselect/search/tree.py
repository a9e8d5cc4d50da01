"""State of one tree search: what all its nodes share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from mipselect.search.collectors import Collector
from mipselect.search.progress import Run
from mipselect.search.scheduler import Scheduler
from mipselect.search.tuning import Tuning

Solver = TypeVar("Solver")
"""An engine, which settles nodes of one kind."""


@dataclass(frozen=True, eq=False)
class TreeSearch(Generic[Solver]):
    """Depth-first branch and bound on the nodes of one loss.

    Attributes
    ----------
    collector : Collector
        Takes values and bounds.
    engine : Solver
        Settles the nodes that suit it.
    run : Run
    scheduler : Scheduler
        Says what is tried; shared by the searches of one problem.
    """

    collector: Collector
    engine: Solver
    run: Run
    scheduler: Scheduler

    @property
    def tuning(self) -> Tuning:
        """The numbers of the search."""
        return self.scheduler.tuning

    @property
    def cutoff(self) -> float:
        """Bounds on R that reach it prune: the threshold, or the target of a long search."""
        return self.run.limit(self.collector, self.tuning)

    def visit(self, nodes: int = 1) -> None:
        """Count nodes and look at the clock."""
        self.run.statistics.subproblems += nodes
        self.run.tick()

    def is_beyond(self, nodes: int) -> bool:
        """Tell whether the search has visited more nodes than these."""
        return self.run.statistics.subproblems > nodes
