"""Cuts for a MIP solver: masters, and what the cuts prove, with which no back end is trusted.

A cut is a modular bound on -R with terms ≥ 0, whatever the choice of columns. A master minimises η
over the choices z of m of L live features subject to η ≥ every cut. Each choice that it makes is
evaluated exactly, offered, excluded, and answered by the cut at that choice, until the solver
claims that nothing below the threshold is left. Solvers are exact up to tolerances only, so the
claim is then proven from the cuts: a choice that it missed is answered like any other. The solver
is asked again after each answer.

The claim is that every choice which was not visited has max_k cut_k(z) ≥ target. Each cut is affine
in z, so that its minimum over all choices which begin with some columns is a sort. A tree over the
choices in lexicographic order drops every beginning that some cut proves; what is left at its
leaves is open. The arithmetic has to be safe, and each cut is lowered by a bound on its rounding
(docs/mathematics/cuts.md, (13)).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.protocols import MasterSolution, MipStatus, Solver
from mipselect.errors import SolverFailure
from mipselect.restricted.squared import EPS
from mipselect.search.bounds.modular import ModularBound, largest_sum
from mipselect.search.collectors import Collector
from mipselect.search.progress import Run
from mipselect.search.tree import AnyNode, Engine
from mipselect.search.tuning import TUNING, CutMasters

Visit = Callable[[IntArray], tuple[float, ModularBound]]
"""Takes a choice of columns; offers it, and returns its value and its cut."""


def least_value(cut: ModularBound, count: int) -> float:
    """Bound R from below over all choices of `count` columns, by a sort."""
    return -(cut.constant + largest_sum(cut.terms, count))


def tightened(cut: ModularBound, floor: float) -> ModularBound:
    """Tighten a cut as far as a lower bound on R allows; one that bounds nothing says R ≥ floor.

    Where every value is at least `floor`, nothing is lost by letting one column alone pull the
    cut down to it; the relaxation gets stronger and the numbers smaller.
    """
    constant = cut.constant if cut.constant < math.inf else -floor
    return ModularBound(constant, np.minimum(cut.terms, max(-constant - floor, 0.0)))


def scaled(
    cut: ModularBound, floor: float, unit: float, count: int, negligible: float
) -> tuple[float, FloatArray]:
    """Turn a cut into (R - floor)/unit ≥ constant + coefficients·z, for choices of `count` columns.

    Coefficients below `negligible` are left out; what they are worth lowers the constant, so
    that no choice is lost.
    """
    tight = tightened(cut, floor)
    terms = tight.terms / unit
    small = terms < negligible
    constant = (-tight.constant - floor) / unit - largest_sum(terms[small], count)
    return constant, np.where(small, 0.0, -terms)


class CutProof:
    """The cuts of a family of choices, and the tree that tells what they prove.

    Parameters
    ----------
    cuts : list of ModularBound
        On -R, with terms ≥ 0, shape (L,).
    size : int
        m, how many columns are chosen.
    floor : float
        A proven lower bound on every choice.
    visited : collection of tuple of int
        Choices about which nothing has to be proven; sorted.
    """

    def __init__(
        self,
        cuts: list[ModularBound],
        size: int,
        floor: float,
        visited: Collection[tuple[int, ...]],
        limits: CutMasters = TUNING.masters,
    ) -> None:
        self._limits = limits
        self._size, self._floor, self._visited = size, floor, set(visited)
        tight = [tightened(cut, floor) for cut in cuts]
        coefficients = -np.array([cut.terms for cut in tight])
        # The most gainful columns first: late beginnings are then proven at once.
        self._order = np.argsort(coefficients.sum(axis=0), kind="stable")
        self._coefficients = coefficients[:, self._order]
        self._constants = -np.array([cut.constant for cut in tight]) - floor
        # The bound of a choice is a sum of fewer than m + 4 terms, each at most `sizes`.
        sizes = np.abs(self._constants) + size * np.abs(coefficients).max(axis=1)
        self._constants -= 4.0 * EPS * (size + 4) * sizes
        self._tails = _tails(self._coefficients, size)

    def decide(self, target: float, tick: Callable[[], None]) -> tuple[bool, IntArray | None]:
        """Walk the tree, or give up after extending too many beginnings.

        What `tick` raises, which is called now and then, passes through.

        Returns
        -------
        proven : bool
            True if every choice that was not visited is at the target or above.
        open : ndarray of int, shape (m,), or None
            A choice that was not visited and that the cuts leave below the target. None if there
            is none, or if the tree got too large to say.
        """
        # Outward: what rounds the difference down could prove too much.
        goal = float(np.nextafter(target - self._floor, np.inf))
        if goal <= 0.0:
            return True, None
        stack: list[IntArray] = [np.empty((1, 0), dtype=np.intp)]
        extended = 0
        while stack:
            tick()
            block = stack.pop()
            count = max(1, self._limits.entries // self._coefficients.size)
            if len(block) > count:
                stack.append(block[count:])
                block = block[:count]
            extended += len(block)
            if extended > self._limits.proof_nodes:
                return False, None
            children, bounds = self._below(block, goal)
            children = children[np.argsort(bounds, kind="stable")]
            if children.shape[1] < self._size:
                if len(children):
                    stack.append(children)
                continue
            for choice in np.sort(self._order[children], axis=1):
                if tuple(choice.tolist()) not in self._visited:
                    return False, choice
        return True, None

    def _below(self, block: IntArray, goal: float) -> tuple[IntArray, FloatArray]:
        """Return the beginnings one column longer that no cut proves, each with its best bound."""
        L, depth = self._coefficients.shape[1], block.shape[1]
        first = block[:, -1] + 1 if depth else np.zeros(1, dtype=np.intp)
        at, column = np.nonzero(np.arange(L)[None, :] >= first[:, None])
        parents = self._constants[:, None] + self._coefficients[:, block].sum(axis=2)
        ahead = self._coefficients + self._tails[self._size - depth - 1][:, 1:]
        bounds = (parents[:, at] + ahead[:, column]).max(axis=0)
        below = np.flatnonzero(~(bounds >= goal))
        return np.column_stack([block[at[below]], column[below]]), bounds[below]


def _tails(coefficients: FloatArray, size: int) -> FloatArray:
    """Add up the r least coefficients from column j on: shape (size, Q, L + 1), r = 0..size-1."""
    Q, L = coefficients.shape
    least = np.full((L + 1, Q, size), np.inf)
    for j in reversed(range(L)):
        least[j] = least[j + 1]
        least[j, :, -1] = coefficients[:, j]
        least[j].sort(axis=1)
    tails = np.zeros((size, Q, L + 1))
    tails[1:] = np.cumsum(least[:, :, :-1], axis=2).transpose(2, 1, 0)
    return tails


class OuterApproximation(Engine[AnyNode]):
    """Proof of bounds by cuts and a MIP solver; engines derive from it and make the cuts.

    The objective's unit in a master is far below τ: a solver's tolerances are absolute.
    """

    def __init__(self, solver: Solver, unit: float, limits: CutMasters = TUNING.masters) -> None:
        self.name, self.limits = solver.status.name, limits
        self._solver, self._unit = solver, unit

    def takes(self, sub: AnyNode) -> bool:
        """Tell whether a master may have its columns, and dividing takes more time than one."""
        return len(sub.live) <= self.limits.columns and sub.number > self.limits.enumerated

    def prove(
        self, cuts: list[ModularBound], size: int, visit: Visit, collector: Collector, run: Run
    ) -> bool:
        """Solve masters until they prove that nothing below the threshold is left.

        There is at least one cut; the choices are of `size` of its columns. False past all
        patience.
        """
        # No loss is negative; a weak cut alone would let the coefficients be of any size.
        floor = max(0.0, *(least_value(cut, size) for cut in cuts))
        if floor >= collector.threshold:
            collector.settle(floor)
            return True
        limits, visited = self.limits, set[tuple[int, ...]]()
        reach = max(-cut.constant for cut in cuts) - floor
        spread = max(collector.threshold - floor, reach)
        unit = max(self._unit, spread / limits.largest_range)
        master = self._solver.master(len(cuts[0].terms), size)

        def add(cut: ModularBound) -> None:
            run.cuts += 1
            master.add_cut(*scaled(cut, floor, unit, size, limits.negligible))

        def target() -> float:
            """Return the threshold, or what is within τ of it once patience has run out."""
            patient = len(visited) < limits.patience
            return collector.threshold if patient else collector.target

        with run.accounts.trying("masters") as account:
            run.masters += 1
            for cut in cuts:
                add(cut)
            while True:
                run.tick()
                cutoff = (target() - floor) / unit + limits.margin
                seconds = min(run.deadline.remaining, limits.seconds)
                solution = master.solve(cutoff=cutoff, time_limit=seconds)
                if not self._ended(solution, run):
                    return False
                goal, chosen = target(), solution.chosen
                if chosen is None or floor + solution.bound * unit >= goal:
                    proof = CutProof(cuts, size, floor, visited, limits)
                    proven, chosen = proof.decide(goal, run.tick)
                    if proven:
                        collector.settle(goal)
                        account.successes += 1
                        return True
                if chosen is None or len(visited) >= limits.patience:
                    return False
                cuts = [*cuts, self._answer(chosen, size, cuts, visited, unit, visit)]
                add(cuts[-1])
                master.exclude(chosen)

    def _ended(self, solution: MasterSolution, run: Run) -> bool:
        """Count a solve, and tell whether it came to its end."""
        run.iterations += 1
        run.solver_nodes += solution.nodes
        if solution.status is MipStatus.FAILED:
            raise SolverFailure(f"{self.name} failed on a master: {solution.detail}")
        run.tick()
        return solution.status in (MipStatus.OPTIMAL, MipStatus.INFEASIBLE)

    def _answer(
        self,
        chosen: IntArray,
        size: int,
        cuts: list[ModularBound],
        visited: set[tuple[int, ...]],
        unit: float,
        visit: Visit,
    ) -> ModularBound:
        """Evaluate and offer a choice, check all cuts against it, and return its own."""
        key = tuple(sorted(int(j) for j in chosen))
        if len(key) != size or key in visited:
            raise SolverFailure(
                f"{self.name} returned {len(key)} columns where {size} were asked for, or a "
                "choice that was excluded"
            )
        visited.add(key)
        value, cut = visit(np.asarray(key))
        claimed = max(-float(known.at(np.asarray(key))) for known in cuts)
        if claimed > value + self.limits.margin * unit:
            raise SolverFailure(
                f"a cut claims the bound {claimed:.9g} for a support of value {value:.9g}: "
                "its cuts or its bound are wrong"
            )
        return cut
