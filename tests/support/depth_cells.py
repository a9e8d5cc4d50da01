"""The exact law of the Tukey mechanism over cells of equal depth, for audits. Sensitive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from mipselect.mechanisms.scores.depth import DepthLaw, Grid, margin


@dataclass(frozen=True)
class Cells:
    """A division of the grid into boxes in which several laws are constant.

    Attributes
    ----------
    points : tuple of tuple of int
        One point of each cell.
    sizes : tuple of int
        How many points it has.
    """

    points: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]


def cells_of(models: Sequence[Grid]) -> Cells:
    """The cells that the coordinates of all these models cut the grid into.

    Parameters
    ----------
    models : sequence of int64 arrays, shape (m, d) each
        Those of neighbours. What lies outside of their range is never drawn.
    """
    axes = []
    for axis in range(models[0].shape[1]):
        values = np.unique(np.concatenate([one[:, axis] for one in models])).tolist()
        sides = [(value, 1) for value in values]
        sides += [(a + 1, b - a - 1) for a, b in pairwise(values) if b > a + 1]
        axes.append(sides)
    cells = list(product(*axes))
    return Cells(
        tuple(tuple(value for value, _ in cell) for cell in cells),
        tuple(math.prod(size for _, size in cell) for cell in cells),
    )


def depth_of(law: DepthLaw, point: tuple[int, ...]) -> int:
    """T(y), the depth of a point."""
    y = np.array(point)
    below, above = (law.points <= y).sum(axis=0), (law.points >= y).sum(axis=0)
    return min(int(np.minimum(below, above).min()), law.deepest)


def probability(law: DepthLaw, point: tuple[int, ...]) -> Fraction:
    """The probability of a point of the grid."""
    depth = depth_of(law, point)
    return Fraction(law.weights.get(depth, 0), law.totals[law.lowest])


def probabilities(law: DepthLaw, cells: Cells) -> list[Fraction]:
    """The probability of each cell when a point is drawn; exact."""
    pairs = zip(cells.points, cells.sizes, strict=True)
    return [probability(law, point) * size for point, size in pairs]


def probabilities_with_test(
    law: DepthLaw, test_epsilon: float, delta: float, cells: Cells
) -> list[Fraction]:
    """Probabilities of releasing nothing, and of each cell after the test has passed; exact."""
    above = margin(law.distance(delta), test_epsilon, delta)
    rare = Fraction(0.5 * math.exp(-abs(above)))
    passes = 1 - rare if above > 0 else rare
    return [1 - passes, *(passes * inside for inside in probabilities(law, cells))]
