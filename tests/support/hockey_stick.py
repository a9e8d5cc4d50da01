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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.privacy.audit import MOST_MISSED, check_total, losses, mass
from mipselect.privacy.gaussian_curve import gaussian_delta
from tests.support.quadrature import Box, integral

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
