"""AUC, accuracy and calibration of predictions of two classes, from one noisy histogram."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mipselect.arrays import FloatArray
from mipselect.quality.measures import ACCURACY, AUC, PREDICTED, SHARE, Measure, ShareInBin
from mipselect.quality.noisy_sums import (
    QUANTILE,
    UNIT,
    chosen,
    integers,
    noisy,
    ratio_interval,
)

MIDDLE, WIDTH, CELLS = (Fraction(k, 10) for k in (1, 1, 8))
"""Parts of ε: for a median of the linear predictors, for their spread, for the histogram."""

MIDDLES = tuple((0.1 * np.sinh(0.25 * np.arange(-24, 25))).tolist())
"""Places of the middle of the bins, denser near the threshold of 0."""

WIDTHS = tuple(2.0 ** (0.5 * k) for k in range(-12, 9))
"""Half of the distance from the first to the last edge of the bins."""

STEPS = 20
"""Bins within that distance; two more lie beyond, and the threshold divides one. Ties within them
take some 0.001 from an AUC."""

GROUPS = 5
"""Groups of bins whose calibration is stated."""

LARGEST_ERROR = 1.0 / 3.0
"""Noise of the rows above a threshold, relative to those that are of the second class."""

BEYOND = 10
"""One row in so many should lie in the first and the last bin."""


OF_SECOND = np.array([[False], [True]])
"""Cells of the second class."""


@dataclass(frozen=True, eq=False)
class ClassQuality:
    """Quality of predictions of two classes: all of it is computed from noisy counts.

    Attributes
    ----------
    counts : float array, shape (2, bins)
        Rows of each class by the bin of their linear predictor.
    edges : float array, shape (bins - 1,)
    variance : float
        That of the noise of a count.
    """

    counts: FloatArray
    edges: FloatArray
    variance: float

    @property
    def measures(self) -> tuple[Measure, ...]:
        """AUC, accuracy, and the shares of the second class and of what is predicted."""
        counts, variance = self.counts, self.variance
        # Bins above an edge that is no less than the threshold.
        yes = np.append(False, self.edges >= 0.0)
        right = np.stack([~yes, yes])
        return (
            area_under_curve(counts[0], counts[1], variance),
            share(counts, right, ACCURACY, variance),
            share(counts, OF_SECOND, SHARE, variance),
            share(counts, yes, PREDICTED, variance),
        )

    @property
    def bins(self) -> tuple[ShareInBin, ...]:
        """Calibration of the probabilities in groups of bins."""
        ends = expit(np.concatenate([[-math.inf], self.edges, [math.inf]])).tolist()
        groups = np.array_split(np.arange(self.counts.shape[1]), GROUPS)
        return tuple(
            ShareInBin(
                ends[group[0]],
                ends[group[-1] + 1],
                share(self.counts[:, group], OF_SECOND, SHARE, self.variance),
            )
            for group in groups
        )

    @property
    def matching_threshold(self) -> float | None:
        """The probability above which as many rows lie as have the second class.

        Between two edges the logarithm of the rows above is taken to fall along a line, as in a
        tail. None where the threshold is beyond the edges, or noise alone may be `LARGEST_ERROR`
        of that number: rows above an edge less those of the second class are the first class above
        less the second below, one count for each bin.
        """
        counts, edges, second = self.counts, self.edges, float(self.counts[1].sum())
        if QUANTILE * math.sqrt(counts.shape[1] * self.variance) >= LARGEST_ERROR * second:
            return None
        above = float(counts.sum()) - np.cumsum(counts.sum(axis=0))[:-1]
        beyond = int(np.argmax(above <= second))
        if beyond == 0:  # At the first edge, or at none.
            return None
        more, less = float(above[beyond - 1]), max(float(above[beyond]), min(1.0, second))
        part = math.log(more / second) / math.log(more / less)
        return float(expit(edges[beyond - 1] + part * (edges[beyond] - edges[beyond - 1])))


def quality_of_classes(
    target: FloatArray,
    decisions: FloatArray,
    relation: str,
    epsilon: Fraction,
    source: random.Random,
    weights: FloatArray | None = None,
) -> ClassQuality:
    """Draw the quality of linear predictors of two classes: ε-private under the relation.

    Parameters
    ----------
    target : float array, shape (n,)
        -1 and +1; 0 for a row without a class, which counts nowhere.
    decisions : float array, shape (n,)
        Above 0 for the second class; the log-odds, where there are probabilities.
    relation : {"replace-one", "add-remove"}
    epsilon : Fraction
    source : random.Random
    weights : float array, shape (n,), optional
        How much each row adds to its cell, in [0, 1]; 1 without them. No row's variance is more
        than what it adds, so that intervals hold, and are wider than need be.

    Notes
    -----
    A row is in one cell of the histogram: its class and the bin of its linear predictor. The bins
    are public once a middle and a width are drawn. The rest is computed from noisy counts.
    """
    second = target[target != 0.0] > 0.0
    found = np.nan_to_num(decisions[target != 0.0])
    edges = bin_edges(found, epsilon, source)
    parts = None if weights is None else integers(weights[target != 0.0])
    counts, one = cells(found, second, edges, parts), 1 if parts is None else UNIT
    moves = 1 if relation == "add-remove" else 2
    sums = noisy(counts.ravel().tolist(), moves * one, CELLS * epsilon, source)
    drawn = np.array(sums, dtype=float) / one
    variance = 2.0 * float(moves / (CELLS * epsilon)) ** 2
    return ClassQuality(drawn.reshape(2, -1), edges, variance)


def bin_edges(decisions: FloatArray, epsilon: Fraction, source: random.Random) -> FloatArray:
    """Draw edges of bins around a median of linear predictors; 0, the threshold, is one."""
    below = [int((decisions < middle).sum()) for middle in MIDDLES]
    above = [int((decisions > middle).sum()) for middle in MIDDLES]
    differences = [abs(b - a) for b, a in zip(below, above, strict=True)]
    middle = MIDDLES[chosen(differences, 2, MIDDLE * epsilon, source)]
    beyond = [int((np.abs(decisions - middle) > width).sum()) for width in WIDTHS]
    distances = [abs(BEYOND * count - len(decisions)) for count in beyond]
    width = WIDTHS[chosen(distances, BEYOND, WIDTH * epsilon, source)]
    return np.union1d(middle + width * np.linspace(-1.0, 1.0, STEPS + 1), [0.0])


def cells(
    decisions: FloatArray,
    second: NDArray[np.bool_],
    edges: FloatArray,
    parts: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Count rows of each class, shape (2, bins), whose predictors lie in (edge, next edge].

    Parameters
    ----------
    decisions, second, edges : arrays
    parts : ndarray of shape (n,), optional
        What each row adds to its cell; 1 without.
    """
    bins = np.searchsorted(edges, decisions, side="left")
    counts = np.zeros((2, len(edges) + 1), dtype=np.int64)
    np.add.at(counts, (second.astype(int), bins), 1 if parts is None else parts)
    return counts


def share(counts: FloatArray, inside: NDArray[np.bool_], name: str, variance: float) -> Measure:
    """Estimate the share of the rows in some cells, by its odds, with an interval.

    Given their shares the counts are independent and Poisson, with noise of that variance in each.
    """
    inside = np.broadcast_to(inside, counts.shape)
    part, rest = float(counts[inside].sum()), float(counts[~inside].sum())
    there, others = max(part, 0.0), max(rest, 0.0)
    noise = int(inside.sum()) * variance, int((~inside).sum()) * variance
    low, high = ratio_interval(part, rest, noise[0] + there, noise[1] + others)
    value = there / (there + others) if there + others > 0.0 else None
    return Measure(name, value, low / (1.0 + low), 1.0 if math.isinf(high) else high / (1.0 + high))


def area_under_curve(first: FloatArray, second: FloatArray, variance: float) -> Measure:
    """Estimate how likely a row of the second class has the larger predictor, with an interval.

    U/(PQ) with U = Σ_b p_b (Σ_{c<b} q_c + q_b/2): noise leaves U, P and Q without bias. Its
    variance is Σ (∂AUC/∂h)² (h + σ²) over the cells h, of Poisson counts and noise.
    """
    below = np.cumsum(first) - 0.5 * first
    above = float(second.sum()) - np.cumsum(second) + 0.5 * second
    p, q, ordered = float(second.sum()), float(first.sum()), float(second @ below)
    spread = QUANTILE * math.sqrt(len(first) * variance)
    if min(p, q) <= spread:
        return Measure(AUC, None, 0.0, 1.0)
    value = ordered / (p * q)
    of_second = (below / q - value) / p
    of_first = (above / p - value) / q
    total = float(of_second**2 @ (second + variance) + of_first**2 @ (first + variance))
    half = QUANTILE * math.sqrt(max(total, 0.0))
    ends = (min(max(end, 0.0), 1.0) for end in (value, value - half, value + half))
    return Measure(AUC, *ends)
