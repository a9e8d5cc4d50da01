"""The partition of all supports into cells, refined where its bounds are loose.

A cell holds all supports with a base and so many of its live features, and knows what they weigh
together at most. The cells of a partition are disjoint and hold every support. A cell begins with
the bound of the cell that it was cut from. It is tightened by bounds of its own, which takes some
work, and then divided by features: one cell for each that is the first to be taken, and one where
none is.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.cuts import ModularBound
from mipselect.restricted.squared import EPS
from mipselect.search.soft.polynomials import Choose, SubsetLaw, log_step, rising_law, subset_law
from mipselect.search.soft.spaces import Bounds, Cut, Space
from mipselect.search.tree import Node
from mipselect.search.tuning import TUNING, Strategy, Tuning


@dataclass(frozen=True, eq=False)
class LogWeight:
    """log weight of a support: log μ(S) - c (R(S) - reference).

    Attributes
    ----------
    rate : float
        c.
    reference : float
        A value of R near the smallest, so that the numbers stay small. Its choice cancels.
    log_prior : mapping of int to float
        log μ by size, without the factors of the features.
    log_features : ndarray of shape (p,)
        log of the factor of every feature.
    """

    rate: float
    reference: float
    log_prior: Mapping[int, float]
    log_features: FloatArray

    def log_weight(self, support: IntArray, value: float) -> float:
        """Return log μ(S) - c (R(S) - reference) of a support S whose R is `value`."""
        prior = self.log_prior[len(support)] + float(self.log_features[support].sum())
        return prior - self.rate * (value - self.reference)

    def law(self, node: Node, bound: ModularBound) -> SubsetLaw:
        """Turn a bound on -R into bounds on the weights of the supports of a node."""
        constant = self.log_prior[len(node.base) + node.size]
        constant += float(self.log_features[node.base].sum())
        constant += self.rate * (bound.constant + self.reference)
        logs = self.rate * bound.terms + self.log_features[node.live]
        return subset_law(logs, node.size, constant)


@dataclass(frozen=True, eq=False)
class Cell:
    """A node with an upper bound of every log weight, whose total is known.

    Attributes
    ----------
    node : Node
        That of the space, once the cell is tight.
    bound : ModularBound
        On -R(B ∪ T), handed on.
    law : SubsetLaw
        The bounds of the weights.
    log_guess : float
        Log of a guess at the total of the weights, which is ``-inf`` until the cell is tight.
    cut : Cut or None
        Until then, what makes it.
    final : bool
        True if no refinement can make the cell's bounds better.
    """

    node: Node
    bound: ModularBound
    law: SubsetLaw
    log_guess: float = -math.inf
    cut: Cut | None = None
    final: bool = False

    @property
    def log_upper(self) -> float:
        """Log of the total of the bounds."""
        return self.law.log_total

    @property
    def log_excess(self) -> float:
        """Log of what the total of the bounds is guessed to be too large by."""
        missing = self.log_guess - self.log_upper
        return self.log_upper + (math.log(-math.expm1(missing)) if missing < 0.0 else -math.inf)

    def support(self, positions: IntArray) -> IntArray:
        """Return base ∪ live[positions], sorted."""
        return np.asarray(self.node.supports(positions[None])[0])


def tight(
    node: Node,
    bounds: Bounds,
    inherited: Sequence[ModularBound],
    target: LogWeight,
    tuning: Tuning = TUNING,
) -> Cell:
    """Make the cell of a node, by the best of its own bounds and of those it inherits."""
    laws = _finite_laws(node, [*bounds.floors, *inherited], target)
    law, bound = min(laws, key=lambda found: found[0].log_total)
    guess = target.law(node, bounds.guess).log_total
    # A constant says nothing about features, so that no point begins there.
    informed = [found for found in laws if found[1].terms.any()] or laws
    begin, _ = min(informed, key=lambda found: found[0].log_total)
    inclusion, limits = np.exp(begin.log_inclusion()), tuning.refining
    for _ in range(limits.expansions if tuning.uses(Strategy.CELL_EXPANSION) else 0):
        if law.log_total <= guess or (trial := bounds.expanded(inclusion)) is None:
            break
        trial_law = target.law(node, trial)
        if not math.isfinite(trial_law.log_total):
            break
        gained = law.log_total - trial_law.log_total
        if gained > 0.0:
            law, bound = trial_law, trial
        if abs(gained) < limits.gained:
            break
        # Halfway, for the full step swings to and fro between features that replace each other.
        inclusion = 0.5 * (inclusion + np.exp(trial_law.log_inclusion()))
    return Cell(node, bound, law, min(law.log_total, guess), final=bounds.exact)


def _finite_laws(
    node: Node, bounds: Sequence[ModularBound], target: LogWeight
) -> list[tuple[SubsetLaw, ModularBound]]:
    """Return the laws of those bounds that are numbers; that of R ≥ 0 where none is."""
    found = [(target.law(node, bound), bound) for bound in bounds]
    nothing = ModularBound(0.0, np.zeros(len(node.live)))
    known = [each for each in found if math.isfinite(each[0].log_total)]
    return known or [(target.law(node, nothing), nothing)]


def parts_of(cell: Cell, space: Space, target: LogWeight, tuning: Tuning = TUNING) -> list[Cell]:
    """Divide a tight cell by the few features that are most in doubt."""
    node, limits = cell.node, tuning.refining
    if node.size == 1 and (values := space.values(node)) is not None:
        exact = Bounds([values], values, lambda _: None, exact=True)
        return [tight(node, exact, [], target, tuning)]
    inclusion = np.exp(cell.law.log_inclusion())
    terms = target.rate * cell.bound.terms
    doubt = inclusion * (1.0 - inclusion) * np.maximum(terms, 0.0) + 1e-9 * inclusion
    order = np.argsort(-doubt, kind="stable")[: limits.ways]
    order = order[doubt[order] >= limits.doubt * doubt[order[0]]]
    left = np.arange(len(node.live))
    found = []
    for taken in order.tolist():
        left = left[left != taken]
        if len(left) >= node.size - 1:
            found.append(_inherited(Cut(node, taken, left), cell.bound, target))
    if len(left) >= node.size:
        found.append(_inherited(Cut(node, None, left), cell.bound, target))
    return found


def _inherited(cut: Cut, bound: ModularBound, target: LogWeight) -> Cell:
    """Make a part of a tight cell by the bound of the whole; it is cut off when it is tightened."""
    whole, keep = cut.parent, cut.keep
    node = cut.of(Node(whole.base, whole.size, whole.live))
    bound = bound.among(keep) if cut.taken is None else bound.taking(cut.taken, keep)
    return Cell(node, bound, target.law(node, bound), cut=cut)


class Partition:
    """Cells that hold every support of the target, and the law of their bounds.

    An exception in the middle of any method, an interrupt too, leaves it as it was; `tick`, which
    is called before every piece of work, may raise one to stop.
    """

    def __init__(
        self,
        space: Space,
        target: LogWeight,
        sizes: Iterable[int],
        tick: Callable[[], None],
        tuning: Tuning = TUNING,
    ) -> None:
        self.target, self._tuning = target, tuning
        self._space, self._tick = space, tick
        self._numbers = itertools.count()
        self._cells: dict[int, Cell] = {}
        self._heap: list[tuple[float, int]] = []
        self._arranged: _Arrangement | None = None
        self._lower: dict[int, SubsetLaw] = {}
        roots = []
        for size in sizes:
            tick()
            root = space.root(size)
            roots.append(tight(root, space.bounds(root), [], target, tuning))
        self._exchange([], roots)

    def __len__(self) -> int:
        return len(self._cells)

    @property
    def numbered(self) -> list[tuple[int, Cell]]:
        """The cells with their numbers, in no order that matters."""
        return list(self._cells.items())

    @property
    def log_upper(self) -> float:
        """Log of the total of all bounds, with what rounding may take from a drawn probability."""
        return self._arrangement().log_upper

    @property
    def log_largest(self) -> float:
        """Log of the largest bound of a weight."""
        return self._arrangement().log_largest

    @property
    def rounding(self) -> float:
        """Part of `log_upper` that is for rounding."""
        return self._arrangement().rounding

    @property
    def log_guess(self) -> float:
        """A guess at the log of the total of all weights."""
        return float(np.logaddexp.reduce([cell.log_guess for cell in self._cells.values()]))

    def refine(self) -> bool:
        """Tighten or divide the cells with the largest excess; False if there is none."""
        while self._heap and self._heap[0][1] not in self._cells:
            heapq.heappop(self._heap)
        # Cells leave the heap only when their parts are in place, so that no interrupt loses one.
        heap, chosen = self._heap.copy(), list[int]()
        while heap and len(chosen) < self._tuning.refining.batch:
            excess, number = heapq.heappop(heap)
            if (cell := self._cells.get(number)) is None:
                continue
            if excess == math.inf or (chosen and cell.cut is None):
                break
            chosen.append(number)
            if cell.cut is None:
                break
        return bool(chosen) and self._refine(chosen)

    def refine_cell(self, number: int) -> bool:
        """Tighten or divide this cell; False if it is gone or nothing can be done for it."""
        cell = self._cells.get(number)
        if cell is None or cell.final:
            return False
        return self._refine([number])

    def draw(self, choose: Choose) -> tuple[int, IntArray, float]:
        """Draw a cell's number and a support, and return the log of the bound of its weight."""
        arrangement = self._arrangement()
        number, log_probability = arrangement.draw(choose)
        cell = self._cells[number]
        positions, log_conditional = cell.law.draw(choose)
        return number, cell.support(positions), (
            arrangement.log_upper + log_probability + log_conditional
        )  # fmt: skip

    def log_total(self, allowance: float) -> tuple[float, float]:
        """Prove an interval of the log of the total weight of all supports.

        Bounds are on R itself, from both sides: `allowance` is how much the log of a weight may be
        above its bound, for a value may be below R, and another one above.
        """
        cells = self._cells
        self._lower = {number: law for number, law in self._lower.items() if number in cells}
        for number, cell in cells.items():
            if number not in self._lower:
                self._lower[number] = self._lower_law(cell.node)
        low = np.logaddexp.reduce(
            [min(self._lower[number].log_total, cell.log_upper) for number, cell in cells.items()]
        )
        rounding = max(self.rounding, *(law.rounding for law in self._lower.values()))
        slack = 2.0 * rounding + allowance
        return float(low) - slack, self.log_upper + slack

    def _lower_law(self, node: Node) -> SubsetLaw:
        law = self.target.law(node, self._space.ceiling(node))
        if math.isfinite(law.log_total):
            return law
        return subset_law(np.zeros(len(node.live)), node.size, -math.inf)

    def _refine(self, numbers: list[int]) -> bool:
        self._tick()
        cells = [self._cells[number] for number in numbers]
        cuts = [cell.cut for cell in cells if cell.cut is not None]
        nodes = iter(self._space.nodes(cuts))
        parts: list[Cell] = []
        for cell in cells:
            if cell.cut is not None:
                node = next(nodes)
                bounds = self._space.bounds(node)
                parts.append(tight(node, bounds, [cell.bound], self.target, self._tuning))
            else:
                parts += parts_of(cell, self._space, self.target, self._tuning)
        self._exchange(numbers, parts)
        return True

    def _exchange(self, old: list[int], new: list[Cell]) -> None:
        """Replace cells by their parts, in one assignment."""
        cells = dict(self._cells)
        for number in old:
            del cells[number]
        added = {next(self._numbers): cell for cell in new}
        for number, cell in added.items():
            if not cell.final:
                heapq.heappush(self._heap, (-cell.log_excess, number))
        self._cells = cells | added

    def _arrangement(self) -> _Arrangement:
        if self._arranged is None or self._arranged.cells is not self._cells:
            self._arranged = _Arrangement(self._cells)
        return self._arranged


class _Arrangement:
    """The cells by rising weight, as a law that can be drawn from."""

    def __init__(self, cells: dict[int, Cell]) -> None:
        self.cells = cells
        logs = np.array([cell.log_upper for cell in cells.values()])
        rising, self._cumulative = rising_law(logs)
        self._numbers = np.array(list(cells), dtype=np.intp)[rising]
        top = float(logs.max())
        self.rounding = max(cell.law.rounding for cell in cells.values())
        self.rounding += 16.0 * EPS * (len(logs) + abs(top))
        self.log_upper = top + math.log(float(self._cumulative[-1])) + self.rounding

    @cached_property
    def log_largest(self) -> float:
        """Log of the largest bound of a weight."""
        return max(cell.law.log_largest for cell in self.cells.values())

    def draw(self, choose: Choose) -> tuple[int, float]:
        """Draw a cell's number, and return the log of its probability as drawn."""
        place = choose(self._cumulative)
        return int(self._numbers[place]), log_step(self._cumulative, place)


class LargestWeight:
    """The largest log weight of all supports, or an upper bound on it.

    Parameters
    ----------
    partition : Partition
        Cells with bounds on the log weights; a proof refines them.
    log_weight : callable
        From a support, shape (s,), to the log of its weight.
    allowance : float
        How far the log of a weight may be above the bound of its cell.

    Attributes
    ----------
    proven : bool
        True if `log_largest` is the largest log weight.
    """

    def __init__(
        self, partition: Partition, log_weight: Callable[[IntArray], float], allowance: float
    ) -> None:
        self._partition, self._log_weight, self._allowance = partition, log_weight, allowance
        self._best: tuple[float, IntArray] = (-math.inf, np.empty(0, dtype=np.intp))
        self.proven = False

    @property
    def log_largest(self) -> float:
        """No log weight is larger; if it is proven, that of a support is as large."""
        return self._best[0] if self.proven else self._partition.log_largest + self._slack

    def prove(self) -> None:
        """Refine the cell with the largest bound, until a weight is known that is no smaller.

        What `Partition` calls before every piece of work may raise to stop.
        """
        evaluated = set[int]()
        while not self.proven:
            cells = self._partition.numbered
            number, cell = max(cells, key=lambda item: _open(item, evaluated))
            self._see(cell.support(cell.law.likeliest()))
            if _open((number, cell), evaluated) + self._slack <= self._best[0]:
                self.proven = True
            elif not self._partition.refine_cell(number):
                for support in _members(cell, self._best[0] - self._slack):
                    self._see(support)
                evaluated.add(number)

    def _see(self, support: IntArray) -> None:
        """Evaluate a support."""
        log_weight = self._log_weight(support)
        if log_weight > self._best[0]:
            self._best = log_weight, support

    @property
    def _slack(self) -> float:
        return self._allowance + self._partition.rounding


def _open(numbered: tuple[int, Cell], evaluated: set[int]) -> float:
    """Return the largest log bound of a cell that is not evaluated yet."""
    number, cell = numbered
    return -math.inf if number in evaluated else cell.law.log_largest


def _members(cell: Cell, least: float) -> Iterator[IntArray]:
    """Yield supports of a final cell, of at most one addition, with a log bound above `least`."""
    law = cell.law
    if law.size == 0:
        yield cell.support(np.empty(0, dtype=np.intp))
        return
    bounds = law.log_constant + law.log_weights
    for place in np.flatnonzero(bounds > least):
        yield cell.support(law.order[[place]])
