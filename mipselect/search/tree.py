"""State of a tree search, and the strategies that are tried at every node in their order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Self, TypeVar

from mipselect.search.accounts import StrategyAccount
from mipselect.search.collectors import Collector
from mipselect.search.neighbourhood import Engine
from mipselect.search.node import Node
from mipselect.search.progress import Run
from mipselect.search.scheduler import Scheduler
from mipselect.search.tuning import TUNING, Tuning

AnyProblem = TypeVar("AnyProblem")
AnyNode = TypeVar("AnyNode", bound=Node)
AnyTree = TypeVar("AnyTree")


@dataclass(frozen=True)
class NodeStrategy(Generic[AnyNode, AnyTree]):
    """A strategy at one node of a tree.

    Attributes
    ----------
    name : str or None
        That of a `Strategy`, or of what no search can do without; None if it keeps accounts itself.
    applies : callable
        Tells whether it is tried at a node.
    attempt : callable
        Returns the node, with fewer live features if they could be dropped, or None once all its
        supports are offered or settled.
    """

    name: str | None
    applies: Callable[[AnyNode, AnyTree], bool]
    attempt: Callable[[AnyNode, AnyTree], AnyNode | None]


@dataclass(frozen=True, eq=False)
class TreeMethod(Generic[AnyProblem, AnyNode]):
    """A method that searches level after level around an incumbent."""

    problem: AnyProblem
    engine: Engine[AnyNode]
    tuning: Tuning = TUNING

    @property
    def name(self) -> str:
        """The name of the engine."""
        return self.engine.name

    @cached_property
    def scheduler(self) -> Scheduler:
        """Record of what strategies earned, shared by all neighbourhoods."""
        return Scheduler(self.tuning)


@dataclass(frozen=True, eq=False)
class TreeSearch(Generic[AnyNode]):
    """Depth-first branch and bound on the nodes of one loss.

    Attributes
    ----------
    collector : Collector
        Takes values and bounds.
    engine : Engine
        Settles the nodes that suit it.
    run : Run
    scheduler : Scheduler
        Says what is tried; shared by the searches of one problem.
    """

    collector: Collector
    engine: Engine[AnyNode]
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
        self.run.subproblems += nodes
        self.run.tick()

    def is_beyond(self, nodes: int) -> bool:
        """Tell whether the search has visited more nodes than these."""
        return self.run.subproblems > nodes

    def try_in_order(
        self, strategies: Sequence[NodeStrategy[AnyNode, Self]], node: AnyNode
    ) -> AnyNode | None:
        """Return what strategies leave of a node, one after another; None if it is settled."""
        for strategy in strategies:
            if not strategy.applies(node, self):
                continue
            name = strategy.name
            with (
                self.run.accounts.trying(name)
                if name
                else nullcontext(StrategyAccount()) as account
            ):
                left = strategy.attempt(node, self)
                account.successes += left is None or len(left.live) < len(node.live)
            if left is None or len(left.live) < left.size:
                return None
            node = left
        return node


def suits_engine(node: AnyNode, tree: TreeSearch[AnyNode]) -> bool:
    """Tell whether the engine should settle a node; it needs a cutoff."""
    return tree.cutoff < math.inf and tree.engine.takes(node)


def by_engine(node: AnyNode, tree: TreeSearch[AnyNode]) -> AnyNode | None:
    """Leave the node to the engine, which may give it up."""
    return None if tree.engine.settle(node, tree.collector, tree.run) else node


def always(node: Node, tree: object) -> bool:
    """Tell that a strategy suits every node."""
    return True
