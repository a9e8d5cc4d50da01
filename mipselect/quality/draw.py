"""The one private draw of the quality of predictions, of numbers and of two classes.

R² in a public range comes from noisy sums of clipped squares; AUC, accuracy and calibration come
from one noisy histogram. Noise is drawn exactly, in integers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.mechanisms.scores.noisy_max import exponential_coin, permute_and_flip
from mipselect.privacy.concentrated import largest_pure_epsilon
from mipselect.privacy.decimals import exact
from mipselect.privacy.guarantee import Guarantee
from mipselect.quality.measures import (
    ACCURACY,
    AUC,
    PREDICTED,
    R2,
    SHARE,
    Measure,
    Quality,
    ShareInBin,
)

# Sums with noise, choices, and intervals.

UNIT = 1 << 20
"""A contribution of 1 in integers: each row's is rounded to a multiple of 1/UNIT, and so the sums
and their sensitivities are exact."""

QUANTILE = 1.6449
"""Quantile of the normal law: 90 % lie within. A Laplace law of the same variance has 1.63."""


def discrete_laplace(scale: Fraction, source: random.Random) -> int:
    """Draw an integer k with probability exactly proportional to exp(-|k|/scale).

    References
    ----------
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020,
    algorithm 2.
    """
    numerator, denominator = scale.numerator, scale.denominator
    while True:
        low = source.randrange(numerator)
        if not exponential_coin(Fraction(low, numerator), source):
            continue
        high = 0
        while exponential_coin(Fraction(1), source):
            high += 1
        size = (low + numerator * high) // denominator
        if source.getrandbits(1):
            return size
        if size:
            return -size


def in_units(values: FloatArray) -> list[int]:
    """Round contributions in [0, 1], shape (n,) or (n, k), and add them up over the rows: integers.

    A row's integers lie in [0, UNIT], whatever the other rows are.
    """
    sums: list[int] = np.atleast_1d(integers(values).sum(axis=0)).tolist()
    return sums


def integers(values: FloatArray) -> NDArray[np.int64]:
    """Round each contribution in [0, 1] to an integer in [0, UNIT]."""
    return np.rint(np.clip(np.nan_to_num(values), 0.0, 1.0) * UNIT).astype(np.int64)


def noisy(
    sums: Sequence[int], sensitivity: int, epsilon: Fraction, source: random.Random
) -> list[int]:
    """Add discrete Laplace noise of scale Δ₁/ε to each of some integers.

    Parameters
    ----------
    sums : sequence of int
        Which neighbours move by Δ₁ together at most.
    sensitivity : int
        Δ₁ > 0.
    epsilon : Fraction
        ε > 0 of all of them together.
    """
    scale = sensitivity / epsilon
    return [value + discrete_laplace(scale, source) for value in sums]


def chosen(distances: Sequence[int], moves: int, epsilon: Fraction, source: random.Random) -> int:
    """Draw the index of a small distance by permute-and-flip, ε-private.

    Parameters
    ----------
    distances : sequence of int
        Which neighbours move by `moves` each at most.
    moves : int
    epsilon : Fraction
    """
    return permute_and_flip([-epsilon * d / (2 * moves) for d in distances], source)


def ratio_interval(
    top: float, bottom: float, top_variance: float, bottom_variance: float
) -> tuple[float, float]:
    """Find all r ≥ 0 with |a - rb| ≤ q √Var(a - rb): Fieller's interval for a/b.

    Parameters
    ----------
    top, bottom : float
        Estimates a and b of numbers that are not negative.
    top_variance, bottom_variance : float
        Variances of their errors, which are independent.

    Returns
    -------
    low, high : float
        ``inf`` as the upper end where b may be 0; (0, inf) where nothing is known.
    """
    top, square = max(top, 0.0), QUANTILE**2
    # r is inside where αr² - 2βr + γ ≤ 0.
    alpha = bottom**2 - square * bottom_variance
    beta = top * bottom
    gamma = top**2 - square * top_variance
    half = math.sqrt(max(beta**2 - alpha * gamma, 0.0))
    if alpha > 0.0 and bottom > 0.0:
        return max(0.0, (beta - half) / alpha), max(0.0, (beta + half) / alpha)
    if alpha > 0.0 or gamma <= 0.0 or beta + half <= 0.0:
        return 0.0, math.inf
    return gamma / (beta + half), math.inf


# Predictions of a number.

CENTRE, BOUND, SQUARES, SPREAD = (Fraction(k, 100) for k in (15, 15, 55, 15))
"""Parts of ε: for the mean, for where to clip, for the two sums of squares, for their spread."""

BOUNDS: tuple[float, ...] = tuple(2.0 ** (1.0 - 0.5 * k) for k in range(16))
"""Bounds that few rows may be beyond, in halves of the range of the target."""

ROWS_BEYOND = 8
"""Some ROWS_BEYOND/ε rows should lie beyond a bound: as few as the choice can tell from none."""

MOST_BEYOND = 20
"""At most one row in so many may be beyond."""

WIDER = 1.5
"""Squares are clipped so much further out: on five tables this costs little, and keeps what the
tails add to R²."""

OF_SQUARES = 5.0
"""Variance of x² for Laplace's law, in units of the square of its mean."""


def r2_of_numbers(
    target: FloatArray,
    predicted: FloatArray,
    known: NDArray[np.bool_],
    rows: int | None,
    relation: str,
    epsilon: Fraction,
    source: random.Random,
    weights: FloatArray | None = None,
) -> tuple[Measure, float]:
    """Draw R² = 1 - Σe²/Σt² with an interval: ε-private under both relations.

    Returns it, and where squares were clipped, in halves of the range of the target.

    Parameters
    ----------
    target, predicted : float arrays, shape (n,)
        In halves of the public range of the target, from its middle: targets in [-1, 1].
    known : bool array, shape (n,)
        False for rows without a target, which count nowhere.
    rows : int or None
        n, where it is public and every row has a target. Else their number gets noise too.
    relation : {"replace-one", "add-remove"}
    epsilon : Fraction
    source : random.Random
    weights : float array, shape (n,), optional
        How much each row counts in the sums, in [0, 1]; `rows` is None then.

    Notes
    -----
    e is the error of the prediction and t the distance from a mean m that is drawn first, both
    clipped half as far out again as a bound that few rows are beyond, which is drawn too. Each row
    adds to every sum a number in [0, 1], rounded to an integer: docs/mathematics/quality.md, (4).
    """
    y, fitted = target[known], np.nan_to_num(predicted[known])
    w = None if weights is None else weights[known]
    centre, excess = _noisy_mean(y, w, rows, relation, CENTRE * epsilon, source)
    errors, distances = np.abs(y - fitted), np.abs(y - centre)
    bound = _bound(np.maximum(errors, distances), BOUND * epsilon, source)
    # No target is further from the mean than 1 + |m|.
    clip = min(WIDER * bound, 1.0 + abs(centre))
    e2, t2 = (np.minimum(values / clip, 1.0) ** 2 for values in (errors, distances))
    if w is not None:
        e2, t2 = w * e2, w * t2
    part = SQUARES * epsilon
    drawn = noisy(in_units(np.column_stack([e2, t2])), 2 * UNIT, part, source)
    error, total = (value / UNIT for value in drawn)
    excess /= clip**2
    total -= excess
    ratio = max(error, 0.0) / total if total > 0.0 else 1.0
    largest = max(1.0, ratio)
    moves = ((e2 - ratio * t2) / largest) ** 2
    (spread,) = noisy(in_units(moves), UNIT, SPREAD * epsilon, source)
    of_squares = _variance(2, part)
    sampling = largest**2 * max(spread / UNIT, 0.0)
    low, high = ratio_interval(
        error, total, sampling + of_squares, of_squares + OF_SQUARES * excess**2
    )
    value = 1.0 - ratio if total > 0.0 else None
    return Measure(R2, value, 1.0 - high, 1.0 - low), clip


def _variance(sensitivity: int, epsilon: Fraction) -> float:
    """Return 2t², the variance of Laplace noise of scale t."""
    return 2.0 * float(sensitivity / epsilon) ** 2


def _noisy_mean(
    y: FloatArray,
    weights: FloatArray | None,
    rows: int | None,
    relation: str,
    epsilon: Fraction,
    source: random.Random,
) -> tuple[float, float]:
    """Return m, a mean of y with noise, and what the noise adds to Σ(y - m)² in expectation."""
    parts = (y + 1.0) / 2.0
    (above,) = in_units(parts if weights is None else weights * parts)
    if rows is not None:
        (drawn,) = noisy([above], UNIT, epsilon, source)
        size = max(float(rows), 1.0)
        mean = 2.0 * min(max(drawn / UNIT / size, 0.0), 1.0) - 1.0
        return mean, 4.0 * _variance(1, epsilon) / size
    # A row adds (1 + y)/2 to one sum and (1 - y)/2 to the other: 1 in all.
    moves = 1 if relation == "add-remove" else 2
    (whole,) = [len(y) * UNIT] if weights is None else in_units(weights)
    up, down = noisy([above, whole - above], moves * UNIT, epsilon, source)
    size = max((up + down) / UNIT, 1.0)
    mean = min(max((up - down) / UNIT / size, -1.0), 1.0)
    return mean, 2.0 * (1.0 + mean**2) * _variance(moves, epsilon) / size


def _bound(sizes: FloatArray, epsilon: Fraction, source: random.Random) -> float:
    """Draw a public candidate beyond which few of the sizes lie."""
    few = min(math.ceil(MOST_BEYOND * ROWS_BEYOND / epsilon), len(sizes))
    beyond = [int((sizes > bound).sum()) for bound in BOUNDS]
    # One row more beyond a bound moves this by 20, and one row more by 1 the other way.
    distances = [abs(MOST_BEYOND * count - few) for count in beyond]
    return BOUNDS[chosen(distances, MOST_BEYOND, epsilon, source)]


# Predictions of two classes.

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

ONE_BEYOND = 10
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
        Log-odds of the second class.
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
    distances = [abs(ONE_BEYOND * count - len(decisions)) for count in beyond]
    width = WIDTHS[chosen(distances, ONE_BEYOND, WIDTH * epsilon, source)]
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


# Rows that are kept apart, and the draw.


def size_held_out(units: int, share: float) -> int:
    """Return how many of so many rows, or people, are kept apart under replace-one."""
    return min(max(round(units * exact(share)), 1), max(units - 1, 0))


def held_out(units: int, share: float, relation: str, source: random.Random) -> NDArray[np.bool_]:
    """Draw which of so many rows, or people, are kept apart; shape (units,).

    Parameters
    ----------
    units : int
    share : float
        Between 0 and 1.
    relation : {"replace-one", "add-remove"}
        Under replace-one a subset of a public size is drawn, each as likely. Under add-remove
        each row is kept apart with this probability, whatever the others are.
    source : random.Random

    Notes
    -----
    A row is in one part only, and which part does not depend on any row. So the fit on one part
    and the measures on the other together are as private as the weaker of the two: see
    docs/mathematics/quality.md, (1).
    """
    part = exact(share)
    apart = np.zeros(units, dtype=bool)
    if relation == "replace-one":
        apart[source.sample(range(units), size_held_out(units, share))] = True
    else:
        draws = (source.randrange(part.denominator) for _ in range(units))
        apart[:] = np.fromiter((draw < part.numerator for draw in draws), bool, units)
    return apart


@dataclass(frozen=True, eq=False)
class Predictions:
    """Targets of rows and what a model says of them; sensitive.

    Attributes
    ----------
    target : float array, shape (n,)
        Numbers, NaN where there is none; or classes as -1 and +1, 0 where there is none.
    decisions : float array, shape (n,)
        Linear predictors, in the units of the target; log-odds for classes.
    of_classes : bool
    bound : float or None
        For numbers: targets are clipped to ± this.
    scale : float
        Units of the user in one unit of the target.
    complete : bool
        True if it is public that every row has a target.
    weights : float array, shape (n,), or None
        How much each row counts, in [0, 1]; None where all count the same.
    second_class : str or None
        The second class in words.
    """

    target: FloatArray = field(repr=False)
    decisions: FloatArray = field(repr=False)
    of_classes: bool
    bound: float | None
    complete: bool
    scale: float = 1.0
    weights: FloatArray | None = field(default=None, repr=False)
    second_class: str | None = None


def quality_of(
    predictions: Predictions,
    guarantee: Guarantee,
    source: random.Random,
    share: float | None = None,
) -> Quality:
    """Draw the quality of predictions, ε-private for the rows that they are of.

    Parameters
    ----------
    predictions : Predictions
    guarantee : Guarantee
        With ε and the relation; pure.
    source : random.Random
    share : float, optional
        Share of the rows that was kept apart, for the record.

    Raises
    ------
    InvalidInput
        By `require_measurable`.
    """
    relation, epsilon = guarantee.relation, exact(guarantee.epsilon)
    require_measurable(predictions.of_classes, predictions.bound)
    y, found = predictions.target, predictions.decisions
    weights, rows = predictions.weights, len(y) if relation == "replace-one" else None
    of_the_rows: dict[str, Any] = {"guarantee": guarantee, "rows": rows, "share": share}
    with np.errstate(all="ignore"):
        if predictions.of_classes:
            of_classes = quality_of_classes(y, found, relation, epsilon, source, weights)
            return Quality(
                measures=of_classes.measures,
                bins=of_classes.bins,
                matching_threshold=of_classes.matching_threshold,
                second_class=predictions.second_class,
                **of_the_rows,
            )
        assert predictions.bound is not None
        bound, known = predictions.bound, predictions.complete and weights is None
        r2, clip = r2_of_numbers(
            np.clip(y / bound, -1.0, 1.0),
            found / bound,
            ~np.isnan(y),
            rows if known else None,
            relation,
            epsilon,
            source,
            weights,
        )
    return Quality(measures=(r2,), clip=clip * bound * predictions.scale, **of_the_rows)


def require_measurable(of_classes: bool, bound: float | None) -> None:
    """Raise `InvalidInput` for numbers without a public range, whose squares nothing bounds."""
    if not of_classes and bound is None:
        raise InvalidInput("the quality of a model needs a public range of the target: y_bound")


def within(guarantee: Guarantee) -> Guarantee:
    """Return the largest pure guarantee that costs no more than another, in ε and in ρ.

    Disjoint rows, one part under each of the two, are together as private as the other alone.
    """
    epsilon = guarantee.epsilon
    if guarantee.rho is not None:
        epsilon = min(epsilon, largest_pure_epsilon(exact(guarantee.rho)))
    return Guarantee(epsilon, relation=guarantee.relation, private=guarantee.private)
