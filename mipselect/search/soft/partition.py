"""The partition of all supports into cells, refined where its bounds are loose."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np

from mipselect.arrays import IntArray
from mipselect.restricted.squared import EPS
from mipselect.search.soft.cells import Cell, LogWeight, Space, parts_of, tight
from mipselect.search.soft.polynomials import Choose, log_step, rising_law
from mipselect.search.tuning import TUNING, Tuning


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
        roots = []
        for size in sizes:
            tick()
            roots.append(tight(space.root(size), [], target, tuning))
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
            if excess == math.inf or (chosen and cell.family is not None):
                break
            chosen.append(number)
            if cell.family is not None:
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

    def _refine(self, numbers: list[int]) -> bool:
        self._tick()
        cells = [self._cells[number] for number in numbers]
        cuts = [cell.cut for cell in cells if cell.cut is not None]
        families = iter(self._space.families(cuts))
        parts: list[Cell] = []
        for cell in cells:
            if cell.cut is not None:
                parts.append(tight(next(families), [cell.bound], self.target, self._tuning))
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
