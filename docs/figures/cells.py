"""Cells of an exact draw and what they accept, on the stored instance diabetes.

A cell is a family of supports, as a node of the tree is, and R of all its features bounds the
weights of its supports from above. The draw of mipselect has sharper bounds; these can be checked
by hand.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
from branch_and_bound import NAMES, loss, restricted
from style import BLUE, GREY, RED, plt, save

from mipselect import Instance

SIZE, SCALE = 3, 60.0
"""Size of the supports, and scale of the weights exp(-R / SCALE)."""

Cell = tuple[tuple[int, ...], tuple[int, ...]]
"""Features that are in, and features that are free."""


def supports(cell: Cell) -> list[tuple[int, ...]]:
    """Return the supports of a cell."""
    inside, free = cell
    return [(*inside, *rest) for rest in combinations(free, SIZE - len(inside))]


def divided(instance: Instance, cells: list[Cell], count: int) -> list[Cell]:
    """Divide the cell that loses most, again and again, until there are so many."""
    found = list(cells)
    while len(found) < count:
        wide = [cell for cell in found if len(supports(cell)) > 1]
        worst = max(wide, key=lambda cell: _excess(instance, cell))
        inside, free = worst
        first = min(free, key=lambda j: loss(instance, (*inside, j)))
        rest = tuple(j for j in free if j != first)
        k = found.index(worst)
        found[k : k + 1] = [
            ((*inside, first), rest if len(inside) + 1 < SIZE else ()),
            (inside, rest),
        ]
    return found


def bound(instance: Instance, cell: Cell) -> float:
    """Return the largest weight that a support of a cell could have."""
    return float(np.exp(-loss(instance, cell[0] + cell[1]) / SCALE))


def weights(instance: Instance, cell: Cell) -> np.ndarray:
    """Return the weights of its supports, the largest first."""
    values = [loss(instance, support) for support in supports(cell)]
    return np.sort(np.exp(-np.array(values) / SCALE))[::-1]


def draw(path: Path) -> None:
    """Draw it into an SVG file."""
    instance = restricted()
    start: list[Cell] = [((), tuple(range(len(NAMES))))]
    largest = weights(instance, start[0])[0]
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 3.6), sharey=True, layout="constrained")
    for axes, count in zip(panels, (4, 16), strict=True):
        at, under, over = 0, 0.0, 0.0
        for cell in divided(instance, start, count):
            heights = weights(instance, cell) / largest
            width, height = len(heights), bound(instance, cell) / largest
            axes.bar(at + 0.5 + np.arange(width), heights, width=0.8, color=BLUE)
            axes.fill_between([at, at + width], height, fc="none", ec=RED, hatch="///", lw=1.4)
            at, under, over = at + width, under + heights.sum(), over + width * height
        axes.set(xlabel=f"120 supports in {count} cells", xticks=[], xlim=(0, at))
        axes.set_title(f"accepts {under / over:.0%} of the tries", color=GREY, fontsize=11)
    panels[0].set_ylabel("weight")
    panels[0].text(118, 2.2, "solid: weights\nhatched: bounds of cells", ha="right", va="top")
    save(figure, path)


def _excess(instance: Instance, cell: Cell) -> float:
    return bound(instance, cell) * len(supports(cell)) - float(weights(instance, cell).sum())
