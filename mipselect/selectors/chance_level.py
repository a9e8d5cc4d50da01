"""The chance level: draws that are almost the same whatever the data, by public numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mipselect.errors import warn_of_little_use
from mipselect.problem.problem import Problem
from mipselect.problem.scores import LOSS, R2

if TYPE_CHECKING:
    from mipselect.selectors.base import PrivateSelector

RARELY = 1.0 / 3.0
"""Probability by exponential weights; permute-and-flip has 0.44 at most then, if gaps are equal."""


@dataclass(frozen=True)
class ChanceLevel:
    """Answer to whether supports can become likely; public.

    Attributes
    ----------
    near : bool
        True if no data can make a support of any size likely.
    sentence : str
        That in words, or that blocks of rows mostly miss the best support; empty if neither is so.
    """

    near: bool
    sentence: str


def largest_range(problem: Problem, n: int) -> float:
    """Bound the difference of R between two supports on any n rows; public.

    No support is worse than β = 0. As a loss is convex, ℓ(y, 0) - ℓ(y, u) is at most half of
    ℓ(y, -u) - ℓ(y, u), and so no support is better than that by more than half of what a loss
    varies by. Where ℓ(y, y) = 0, for all losses but that of classes, it cannot be better by more
    than ℓ(y, 0). Block R² is between 0 and the number of blocks.
    """
    if problem.loss is None:
        return problem.terms(n)
    half = 0.5 * problem.terms(n) * problem.oscillation(n)
    if problem.of_classes:
        return half
    return min(half, problem.stated_loss.spread(problem.bound("y_bound"), 0.0))


def of_values(
    problem: Problem,
    n: int,
    epsilon: float,
    moved: float,
    formula: str,
    surprises: Mapping[int, float] | None = None,
) -> ChanceLevel:
    """Compare the range of R with the noise of a draw, and say where that is not below it.

    The noise is 2 moved/ε, `formula` in words, times -log of the probability of a support without
    data, by its size in `surprises`; by default all are as likely.
    """
    if surprises is None:
        surprises = {problem.support_size: math.log(problem.number_of_supports)}
    noise = 2.0 * moved / epsilon * min(surprises.values())
    most = largest_range(problem, n)
    if noise < most:
        return ChanceLevel(False, "")
    several = len(surprises) > 1
    formula += " · ln 1/μ(S)" if several else " · ln C(p, s)"
    # Noise goes with 1/ε, and the range does not rise with ε: blocks become larger, and fewer.
    needed = epsilon * noise / most if most > 0.0 else math.inf
    enough = f" No draw with an ε below {needed:.2g} can do." if math.isfinite(needed) else ""
    bounds = ", or smaller bounds" if problem.score == LOSS else ""
    sentence = (
        "near chance: at this ε, with so few rows, a draw is almost the same whatever the data."
        f"{enough} More rows would help, a larger ε, fewer fields to choose from{bounds} (noise "
        f"{formula} = {noise:.3g}{' or more' if several else ''}, not below {most:.3g}, the "
        "largest possible range of the objective)"
    )
    return ChanceLevel(True, sentence)


def _chance_of_the_best(problem: Problem, n: int, scale: float) -> float:
    """Compute how probable the best support is where nothing but blocks stands in its way; public.

    Its s features are independent, and explain all of y, each alike. Where another support has k
    of them these explain k/s of y in every block, and in block R² the other s - k explain by
    chance their share of the b - 1 - k dimensions that are left. `scale` is the noise of
    exponential weights.
    """
    p, s = problem.n_features, problem.support_size
    shared = np.arange(max(0, 2 * s - p), s + 1)
    missed = 1.0 - shared / s
    if problem.score == R2:
        assert problem.blocks is not None
        missed *= 1.0 - (s - shared) / (problem.blocks.rows - 1 - shared)
    counts = [math.comb(s, k) * math.comb(p - s, s - k) for k in shared.tolist()]
    logs = np.array(list(map(math.log, counts))) - largest_range(problem, n) * missed / scale
    return math.exp(-float(np.logaddexp.reduce(logs)))


def of_few_rows(problem: Problem, n: int, scale: float) -> str:
    """Say that draws from blocks mostly miss the best support even then; "" if not so."""
    chance = _chance_of_the_best(problem, n, scale)
    if chance >= RARELY:
        return ""
    return (
        f"few rows for this ε: most draws name other fields than the best. Where "
        f"{problem.support_size} independent fields explain all of the target, each alike, all of "
        f"them are drawn with a probability of about {chance:.2g}, and mostly less in real data. "
        "More rows would help, a larger ε, or fewer fields to choose from"
    )


def warn_near_chance(problem: Problem, method: PrivateSelector, n: int) -> None:
    """Warn with the sentence of its chance level, before anything is charged; n must be public."""
    found = method.chance_level(problem, n)
    if found is not None and found.sentence:
        warn_of_little_use(found.sentence)
