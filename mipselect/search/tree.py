"""Tree searches: nodes, levels around an incumbent, and the strategies tried at every node.

Level i around a support splits into one subproblem for every set of i features that leave.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends import NATIVE
from mipselect.search.collectors import Collector
from mipselect.search.progress import Deadline, Run, Stopped, StrategyAccount
from mipselect.search.tuning import TUNING, Allowance, Strategy, Tuning

AnyProblem = TypeVar("AnyProblem")
AnyNode = TypeVar("AnyNode", bound="Node")
AnyTree = TypeVar("AnyTree")


@dataclass(frozen=True, eq=False)
class Node:
    """All supports B ∪ T with T of `size` of the features `live`.

    Attributes
    ----------
    base : ndarray of int, shape (k,)
        B, which is in every support.
    size : int
        m ≥ 0, how many features are still added.
    live : ndarray of int, shape (L,)
        Features that may be added; all others are out.
    """

    base: IntArray
    size: int
    live: IntArray

    @property
    def number(self) -> int:
        """Number of supports."""
        return math.comb(len(self.live), self.size)

    def extent(self, cutoff: float) -> float:
        """Measure what a division of it takes, in units of its kind of nodes: here one."""
        return 1.0

    def sets(self, count: int) -> Iterator[IntArray]:
        """Yield the positions among `live` of every T, `count` of them at once: (k, m)."""
        every = itertools.combinations(range(len(self.live)), self.size)
        while some := list(itertools.islice(every, count)):
            yield np.asarray(some, dtype=np.intp)

    def supports(self, positions: IntArray) -> IntArray:
        """Return B ∪ live[positions] for positions of shape (k, m): sorted rows, shape (k, s)."""
        added = self.live[positions]
        base = np.broadcast_to(self.base, (len(added), len(self.base)))
        return np.sort(np.hstack([base, added]), axis=1)

    def restricted(self, keep: IntArray) -> Self:
        """Return the same node with only the positions `keep` of `live`."""
        return replace(self, live=self.live[keep])

    def with_feature(self, position: int, keep: IntArray) -> Self:
        """Return the child with live[position] in the base; only the positions `keep` stay live."""
        base = np.append(self.base, self.live[position])
        return replace(self, base=base, size=self.size - 1, live=self.live[keep])


class Engine(Generic[AnyNode]):
    """Solver of subproblems that are small enough for it; this one leaves all to be divided."""

    name = NATIVE

    def takes(self, sub: AnyNode) -> bool:
        """Tell whether this screened subproblem (size ≥ 2) should be settled, not divided."""
        return False

    def settle(self, sub: AnyNode, collector: Collector, run: Run) -> bool:
        """Offer every support below the threshold, and settle a bound for all the others.

        The threshold is finite. False if it gives up: then the subproblem is divided.
        """
        return False


class Neighbourhood(Protocol):
    """A support Ŝ and the levels around it: level i are the supports at distance i."""

    @property
    def support(self) -> IntArray:
        """Ŝ, sorted, shape (s,)."""

    @property
    def value(self) -> float:
        """R(Ŝ)."""

    def level_bound(self, level: int) -> float:
        """Bound R from below on a whole level, at the cost of a sort."""

    def search_level(self, level: int, collector: Collector, run: Run) -> None:
        """Offer every support of a level below the threshold; settle a bound for the rest.

        Where it is stopped, it settles what is proven of all that is open.
        """


class Method(Protocol):
    """A kind of search, tied to one problem and one engine."""

    @property
    def name(self) -> str:
        """The name of the engine."""

    def center(self, size: int, run: Run) -> Neighbourhood:
        """Find a support that no swap improves; a better one only makes the search faster."""

    def center_at(self, support: IntArray, value: float, run: Run) -> Neighbourhood:
        """Return the neighbourhood of a support whose value is known."""

    def relaxation(self, size: int, grace: Deadline) -> float:
        """Bound R from below on all supports, and improve that bound until a deadline."""


def removed_sets(costs: FloatArray, count: int) -> Iterator[tuple[float, IntArray]]:
    """Yield all sets of `count` positions in order of their total cost.

    With the costs of the root cut this is the order of its bound, so that a search may stop at
    the first set whose bound is too high: all later ones are higher still.

    Parameters
    ----------
    costs : ndarray of shape (s,)
        Nonnegative.
    count : int
        Between 1 and s.

    Yields
    ------
    total : float
    positions : ndarray of int, shape (count,)
    """
    order = np.argsort(costs, kind="stable")
    ranked = costs[order]
    first = tuple(range(count))
    heap = [(float(ranked[:count].sum()), first)]
    seen = {first}
    while heap:
        total, ranks = heapq.heappop(heap)
        yield total, np.sort(order[list(ranks)])
        for k in range(count):
            after = ranks[k] + 1
            if after < len(ranked) and (k == count - 1 or after < ranks[k + 1]):
                moved = (*ranks[:k], after, *ranks[k + 1 :])
                if moved not in seen:
                    seen.add(moved)
                    heapq.heappush(heap, (float(ranked[list(moved)].sum()), moved))


@dataclass(frozen=True)
class NodeStrategy(Generic[AnyNode, AnyTree]):
    """A strategy at one node of a tree.

    Attributes
    ----------
    name : str or None
        That of a `Strategy`, or of what no search can do without; None if it keeps accounts itself.
    attempt : callable
        Returns the node, with fewer live features if they could be dropped, or None once all its
        supports are offered or settled.
    applies : callable
        Tells whether it is tried at a node; by default at every one.
    """

    name: str | None
    attempt: Callable[[AnyNode, AnyTree], AnyNode | None]
    applies: Callable[[AnyNode, AnyTree], bool] = lambda node, tree: True


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
    tuning : Tuning
        The numbers of the search.
    """

    collector: Collector
    engine: Engine[AnyNode]
    run: Run
    tuning: Tuning
    _open: list[tuple[float, float]] = field(default_factory=list, init=False)

    @contextmanager
    def within(self, bound: float, waiting: float = math.inf) -> Iterator[None]:
        """Note that some of the supports at hand are searched, with R ≥ `bound`.

        The others wait: for them R ≥ `waiting`. A stop in the midst of it leaves the note there.
        """
        least = self._open[-1][0] if self._open else -math.inf
        self._open.append((max(least, bound), max(least, waiting)))
        yield
        self._open.pop()

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Settle what is proven of all that is left open where the search is stopped.

        That is the least bound of what is worked on and of what waits. No loss is negative.
        """
        try:
            with self.within(0.0):
                yield
        except Stopped:
            waiting = (waiting for _, waiting in self._open)
            self.collector.settle(min([self._open[-1][0], *waiting]))
            raise

    @property
    def cutoff(self) -> float:
        """Bounds on R that reach it prune: the threshold, or the target of a long search."""
        return self.run.limit(self.collector, self.tuning)

    def visit(self, nodes: int = 1) -> None:
        """Count nodes and look at the clock."""
        self.run.subproblems += nodes
        self.run.tick()

    def worth(
        self,
        strategy: Strategy,
        size: int,
        nodes: int = 1,
        extent: float = 1.0,
        allowance: Allowance | None = None,
    ) -> bool:
        """Tell whether the search may use a strategy, and it may pay at nodes of this size."""
        asked = strategy, size, nodes, extent, allowance or self.tuning.allowance
        return self.tuning.uses(strategy) and self.run.accounts.worth(*asked)

    def try_in_order(
        self, strategies: Sequence[NodeStrategy[AnyNode, Self]], node: AnyNode
    ) -> AnyNode | None:
        """Return what strategies leave of a node, one after another; None if it is settled."""
        for strategy in strategies:
            if not strategy.applies(node, self):
                continue
            name = strategy.name
            with (
                self.run.accounts.trying(name, node.size)
                if name
                else nullcontext(StrategyAccount()) as account
            ):
                cutoff = self.cutoff
                left = strategy.attempt(node, self)
                if left is not None and len(left.live) < left.size:
                    left = None
                share = 1.0 if left is None else 1.0 - len(left.live) / len(node.live)
                if share > 0.0:
                    account.successes += 1
                    account.settled += share * node.extent(cutoff)
            if left is None:
                return None
            node = left
        return node


def suits_engine(node: AnyNode, tree: TreeSearch[AnyNode]) -> bool:
    """Tell whether the engine should settle a node; it needs a cutoff."""
    return tree.cutoff < math.inf and tree.engine.takes(node)


def by_engine(node: AnyNode, tree: TreeSearch[AnyNode]) -> AnyNode | None:
    """Leave the node to the engine, which may give it up."""
    return None if tree.engine.settle(node, tree.collector, tree.run) else node
