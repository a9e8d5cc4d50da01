"""Least δ needed at an ε: hockey-stick divergences of known laws, by sums and integrals.

D_ε(P‖Q) = max over events A of P(A) - e^ε Q(A) = Σ max(0, P - e^ε Q). A mechanism is (ε, δ)-DP if
and only if this is at most δ for every ordered pair of neighbours. A law is

- the log probabilities of all outcomes in a fixed order, or
- a `MixedLaw`: some outcomes, and densities on boxes of a few dimensions, as a model that is
  drawn inside of a ball or on its boundary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Context
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.privacy.audit import MOST_MISSED, check_total, losses, mass
from mipselect.privacy.gaussian_curve import gaussian_delta

LOGARITHM = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Arithmetic with more digits than a double, so that a logarithm in it is off by less than one."""


@dataclass(frozen=True)
class Density:
    """A density on a box.

    Attributes
    ----------
    log_density : callable
        From points, shape (m, d), to logs of the density, shape (m,); ``-inf`` allowed.
    box : Box
        Where it lives; the same for all data.
    """

    log_density: Callable[[FloatArray], FloatArray] = field(repr=False)
    box: Box


@dataclass(frozen=True)
class MixedLaw:
    """Outcomes with probabilities, and densities on boxes; together 1.

    Attributes
    ----------
    logs : float array, shape (k,)
        Log probabilities of single outcomes, in a fixed order.
    densities : tuple of Density
        In a fixed order too.
    """

    logs: FloatArray = field(repr=False)
    densities: tuple[Density, ...] = ()


Law = Callable[[Any], "MixedLaw | ArrayLike"]


@dataclass(frozen=True)
class Divergence:
    """The largest δ that is needed at ε in any pair, in the worse direction.

    Attributes
    ----------
    delta : float
    error : float
        How far the integral may be off; 0 where there are sums only.
    loss : float
        The largest |log P - log Q| that was met: at every outcome, and where the densities were
        evaluated.
    """

    delta: float
    error: float
    loss: float


def largest_delta(
    law: Law, pairs: Iterable[tuple[Any, Any]], epsilon: float, *, tolerance: float = 1e-9
) -> Divergence:
    """Return the largest δ that any of the given pairs needs at ε, both directions looked at.

    Integrals are refined until their errors sum to less than the tolerance, or take too long.
    """
    found = [
        _of_pair(*(_checked(law(side), tolerance) for side in pair), epsilon, tolerance)
        for pair in pairs
    ]
    delta, error, _ = max(found, key=lambda one: one[0])
    return Divergence(delta, error, max(loss for *_, loss in found))


def hockey_stick(one: Sequence[Any], other: Sequence[Any], epsilon: float) -> float:
    """Return the larger of D_ε(P‖Q) and D_ε(Q‖P) for two lists of probabilities.

    Parameters
    ----------
    one, other : sequences of Fraction or float, length m
        Fractions are added up exactly, with an e^ε rounded down: what is returned is not below
        the truth by more than one rounding. Floats are added up without further rounding.
    epsilon : float
        ε ≥ 0.
    """
    factor = Fraction(math.exp(min(epsilon, 700.0))) * (1 - Fraction(1, 1 << 50))
    return max(_excess(one, other, factor), _excess(other, one, factor))


def log_gaussian_delta(mu: float, epsilon: float) -> float:
    """Return log δ(ε), δ(ε) = Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2), of normal laws μ deviations apart.

    Exactly what any number of normal answers needs, μ² the sum of the squares of their distances
    in units of their deviations. μ > 0. Rounded up, to the next double or the one after it.

    References
    ----------
    Balle and Wang, "Improving the Gaussian mechanism for differential privacy", 2018, theorem 8;
    Dong, Roth and Su, "Gaussian differential privacy", 2022, corollary 1.
    """
    _, upper = gaussian_delta(mu, epsilon)
    return min(0.0, math.nextafter(float(upper.ln(LOGARITHM)), math.inf))


def _excess(one: Sequence[Any], other: Sequence[Any], factor: Fraction) -> float:
    pairs = list(zip(one, other, strict=True))
    if all(isinstance(p, Fraction) and isinstance(q, Fraction) for p, q in pairs):
        return float(sum((max(Fraction(0), p - factor * q) for p, q in pairs), Fraction(0)))
    rate = float(factor)
    return math.fsum(max(0.0, p - rate * q) for p, q in pairs)


def _checked(law: MixedLaw | ArrayLike, tolerance: float) -> MixedLaw:
    """Check that the parts of a law sum to 1."""
    found = law if isinstance(law, MixedLaw) else MixedLaw(np.asarray(law, dtype=np.float64))
    logs = np.asarray(found.logs, dtype=np.float64)
    assert logs.ndim == 1
    total, error = mass(logs), 0.0
    for part in found.densities:
        more, missed = integral(_density(part), part.box, max(tolerance, MOST_MISSED / 10.0))
        total, error = total + more, error + missed
    check_total(total, error)
    return MixedLaw(logs, found.densities)


def _of_pair(
    one: MixedLaw, two: MixedLaw, epsilon: float, tolerance: float
) -> tuple[float, float, float]:
    """Compute δ, its error, and the largest loss that was met."""
    boxes = [[part.box for part in law.densities] for law in (one, two)]
    assert (one.logs.shape, boxes[0]) == (two.logs.shape, boxes[1])
    loss = float(losses(one.logs, two.logs).max(initial=0.0))
    found = []
    for first, second in ((one, two), (two, one)):
        delta, error = math.fsum(_positive(first.logs, second.logs, epsilon)), 0.0
        for part, other in zip(first.densities, second.densities, strict=True):
            more, missed, met = _excess_of_densities(part, other, epsilon, tolerance)
            delta, error, loss = delta + more, error + missed, max(loss, met)
        found.append((delta, error))
    return (*max(found), loss)


def _density(part: Density) -> Callable[[FloatArray], FloatArray]:
    def density(points: FloatArray) -> FloatArray:
        found: FloatArray = np.exp(part.log_density(points))
        return found

    return density


def _excess_of_densities(
    part: Density, other: Density, epsilon: float, tolerance: float
) -> tuple[float, float, float]:
    """Integrate max(0, p - e^ε q), and return its error and the largest |log p - log q|."""
    loss = 0.0

    def excess(points: FloatArray) -> FloatArray:
        nonlocal loss
        logs = part.log_density(points), other.log_density(points)
        loss = max(loss, float(losses(*logs).max(initial=0.0)))
        return _positive(*logs, epsilon)

    return (*integral(excess, part.box, tolerance), loss)


def _positive(one: FloatArray, other: FloatArray, epsilon: float) -> FloatArray:
    """Compute max(0, P - e^ε Q) from logs."""
    result: FloatArray = np.maximum(0.0, np.exp(one) - np.exp(np.minimum(epsilon + other, 700.0)))
    return result


Function = Callable[[FloatArray], FloatArray]
"""Function from points, shape (m, d), to values, shape (m,)."""

ORDERS = (6, 5, 4)
"""Points of the rules of Gauss and Lobatto in each panel: the first gives its value, the others its
error. Three, for at some places of a kink two of them agree by accident."""

SAFETY = 4.0
"""The error of a panel is so many times the largest difference of its rules."""

FIRST_PANELS = 16
"""Along each axis. What lies between the points of the first grid alone may be missed."""

SPLIT = 0.1
"""Panels with this share of the largest error are halved along every axis."""

MOST_POINTS = 2_000_000
"""Then it ends, as precise as it is."""

CHUNK = 1 << 16
"""The function is handed about so many points at once."""


@dataclass(frozen=True)
class Box:
    """A product of closed intervals.

    Attributes
    ----------
    low, high : tuple of float, shape (d,)
        Finite, low < high.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class _Panels:
    """Boxes with their integrals and errors.

    Attributes
    ----------
    middles, halves : float arrays, shapes (m, d) and (m, d)
    values, errors : float arrays, shape (m,)
    """

    middles: FloatArray
    halves: FloatArray
    values: FloatArray
    errors: FloatArray


def integral(function: Function, box: Box, tolerance: float) -> tuple[float, float]:
    """Return the integral of a function over a box, and how far it may be off.

    Parameters
    ----------
    function : callable
        From points, shape (m, d), to values, shape (m,). It may have kinks and jumps.
    box : Box
    tolerance : float
        Panels are halved until their errors sum to less, or there were too many points.

    Returns
    -------
    value, error : float
        The sum of the errors of all panels: an estimate, not a bound, for nothing is known of
        the function between the points. These include the edges of panels, so that no kink hides
        between two of them.
    """
    size = len(box.low)
    low, high = np.array(box.low), np.array(box.high)
    places = np.stack(np.meshgrid(*[np.arange(FIRST_PANELS)] * size, indexing="ij"), axis=-1)
    half = 0.5 * (high - low) / FIRST_PANELS
    middles = low + half * (2.0 * places.reshape(-1, size) + 1.0)
    panels = _measured(function, middles, np.broadcast_to(half, middles.shape))
    points = len(middles)
    most = MOST_POINTS // sum(order**size for order in ORDERS)
    corners = np.stack(np.meshgrid(*[(-1.0, 1.0)] * size, indexing="ij"), axis=-1).reshape(-1, size)
    while panels.errors.sum() > tolerance and points < most:
        worst = panels.errors >= SPLIT * panels.errors.max()
        halves = np.repeat(0.5 * panels.halves[worst], len(corners), axis=0)
        inner = np.repeat(panels.middles[worst], len(corners), axis=0)
        inner = inner + halves * np.tile(corners, (int(worst.sum()), 1))
        points += len(inner)
        panels = _joined(panels, ~worst, _measured(function, inner, halves))
    return math.fsum(panels.values), float(panels.errors.sum())


def _measured(function: Function, middles: FloatArray, halves: FloatArray) -> _Panels:
    """Measure the function on panels with these middles and half widths."""
    size = middles.shape[1]
    areas = np.prod(2.0 * halves, axis=1)
    means = []
    for order in ORDERS:
        nodes, weights = lobatto(order)
        grid = np.stack(np.meshgrid(*[nodes] * size, indexing="ij"), axis=-1).reshape(-1, size)
        shares = np.stack(np.meshgrid(*[weights / 2.0] * size, indexing="ij"), axis=-1)
        values = _evaluated(function, middles, halves, grid)
        means.append(values @ shares.reshape(-1, size).prod(axis=1))
    errors = SAFETY * np.abs(np.array(means[1:]) - means[0]).max(axis=0)
    return _Panels(middles, halves, areas * means[0], areas * errors)


@lru_cache
def lobatto(order: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes in [-1, 1], with both ends, and weights; exact up to degree 2·order - 3."""
    polynomial = np.polynomial.legendre.Legendre.basis(order - 1)
    nodes = np.array([-1.0, *np.sort(polynomial.deriv().roots().real), 1.0])
    weights: FloatArray = 2.0 / (order * (order - 1) * polynomial(nodes) ** 2)
    return nodes, weights


def _evaluated(
    function: Function, middles: FloatArray, halves: FloatArray, grid: FloatArray
) -> FloatArray:
    """Evaluate the function at the points of a grid in each panel, shape (m, points)."""
    step = max(1, CHUNK // len(grid))
    found = [
        function(
            (middles[i : i + step, None] + halves[i : i + step, None] * grid).reshape(
                -1, grid.shape[1]
            )
        ).reshape(-1, len(grid))
        for i in range(0, len(middles), step)
    ]
    result: FloatArray = np.concatenate(found)
    return result


def _joined(panels: _Panels, kept: np.ndarray[Any, Any], others: _Panels) -> _Panels:
    return _Panels(
        np.concatenate([panels.middles[kept], others.middles]),
        np.concatenate([panels.halves[kept], others.halves]),
        np.concatenate([panels.values[kept], others.values]),
        np.concatenate([panels.errors[kept], others.errors]),
    )
