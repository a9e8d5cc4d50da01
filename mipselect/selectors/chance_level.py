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
from mipselect.validation import sizes_in_words

if TYPE_CHECKING:
    from mipselect.selectors.base import PrivateSelector

RARELY = 1.0 / 3.0
"""Probability by exponential weights; permute-and-flip has 0.44 at most then, if gaps are equal."""


@dataclass(frozen=True)
class ChanceLevel:
    """Sizes whose supports no data can make likely; public.

    Attributes
    ----------
    sizes : tuple of int
        Sizes of which no support can be drawn with a probability much above that without data.
    entirely : bool
        Whether these are all sizes.
    sentence : str
        That in words, or that blocks of rows mostly miss the best support; empty if neither is so.
    """

    sizes: tuple[int, ...]
    entirely: bool
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


def chance_level(problem: Problem, method: PrivateSelector, n: int) -> ChanceLevel | None:
    """Find sizes whose supports no data can make likely, from public numbers; None if unknown.

    A support S of probability μ(S) without data is drawn with probability 1/(2 - μ(S)) at most,
    by permute-and-flip (1 - e^(μ(S)-1))/(1 - μ(S)), unless R ranges over more than its noise
    2w/ε · ln 1/μ(S), w the oscillation for exact draws and Δ + τ for others.

    Parameters
    ----------
    problem : Problem
    method : PrivateSelector
        Nothing is known of draws from scores of columns, of MCMC, and with weights of features.
    n : int
        The number of rows.
    """
    return method.chance_level(method.problem(problem), n)


def of_values(
    problem: Problem,
    n: int,
    epsilon: float,
    moved: float,
    formula: str,
    surprises: Mapping[int, float] | None = None,
) -> ChanceLevel:
    """Find the sizes whose noise is not below the range of R, and say so.

    The noise is 2 moved/ε, `formula` in words, times -log of the probability of a support without
    data, by its size in `surprises`; by default all are as likely.
    """
    if surprises is None:
        surprises = {problem.support_size: math.log(problem.number_of_supports)}
    noise = {size: 2.0 * moved / epsilon * surprise for size, surprise in surprises.items()}
    most = largest_range(problem, n)
    blind = tuple(size for size in noise if noise[size] >= most)
    if not blind:
        return ChanceLevel((), False, "")
    least = min(noise[size] for size in blind)
    entirely = len(blind) == len(noise)
    formula += " · ln C(p, s)" if len(noise) == 1 else " · ln 1/μ(S)"
    what = (
        "a draw is almost the same whatever the data"
        if entirely
        else f"no set of {sizes_in_words(blind)} fields can become likely, whatever the data"
    )
    # Noise goes with 1/ε, and the range does not rise with ε: blocks become larger, and fewer.
    needed = epsilon * least / most if most > 0.0 else math.inf
    enough = f" No draw with an ε below {needed:.2g} can do." if math.isfinite(needed) else ""
    bounds = ", or smaller bounds" if problem.score == LOSS else ""
    sentence = (
        f"near chance: at this ε, with so few rows, {what}.{enough} More rows would help, a larger "
        f"ε, fewer fields to choose from{bounds} (noise {formula} = {least:.3g}"
        f"{' or more' if len(blind) > 1 else ''}, not below {most:.3g}, the largest possible "
        "range of the objective)"
    )
    return ChanceLevel(blind, entirely, sentence)


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
    """Warn with the sentence of `chance_level`, before anything is charged; n must be public."""
    found = chance_level(problem, method, n)
    if found is not None and found.sentence:
        warn_of_little_use(found.sentence)
