"""δ(ε) of normal noise between two decimals, however much of it cancels.

δ = Φ(a) - e^ε Φ(-b) with a = μ/2 - ε/μ and b = μ/2 + ε/μ. As e^ε φ(b) = φ(a), with Mills' ratio
R(x) = Φ(-x)/φ(x),

    δ = φ(a) (R(-a) - R(b)) for a ≤ 0,    δ = 1 - φ(a) (R(a) + R(b)) for a > 0,

in which no exponential is large. What is left to cancel, for a small μ, is met by more digits: the
roundings are counted, and the digits doubled until they do not matter. See
docs/mathematics/regression.md, (3).
"""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, localcontext
from functools import lru_cache

RELATIVE = Decimal("1e-18")
"""Largest relative distance of the bounds."""

SMALLEST = Decimal("1e-99999999999999999")
"""Stands in an upper bound for an exponential that no decimal can express."""


def gaussian_delta(mu: float | Decimal, epsilon: float | Decimal) -> tuple[Decimal, Decimal]:
    """Return a lower and an upper bound on δ(ε) of normal laws μ > 0 deviations apart, ε ≥ 0.

    They are within a share `RELATIVE` of one another, unless δ is below 1e-99999999999999999.
    """
    digits = 32
    while True:
        with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)) as context:
            low, high = _bounds(Decimal(mu), Decimal(epsilon), Decimal(10) ** (1 - digits))
            if high - low <= RELATIVE * low or high <= SMALLEST:
                return low, high
            context.clear_flags()
        digits = min(2 * digits, MAX_PREC)


def _bounds(mu: Decimal, epsilon: Decimal, unit: Decimal) -> tuple[Decimal, Decimal]:
    """Compute both bounds, where every operation is right to a share `unit`."""
    half, slope = mu / 2, epsilon / mu
    a, b = half - slope, half + slope
    if unit * (1 + b * b) > Decimal("0.01"):
        return Decimal(0), Decimal(1)  # Not even a is known.
    (near, one), (far, two) = _mills(abs(a), unit), _mills(b, unit)
    density = (-(a * a) / 2).exp() / (2 * _pi(-unit.adjusted() + 1)).sqrt()
    # a is off by 2ub, b by 2u·b, and φ, φR of both by no more than these times φ; the exponential
    # by 2ub², and (1 + b²) R(b) is above b.
    error = density * (near + far) * (one + two + 40 * unit * (1 + b * b))
    if a <= 0:
        found = density * (near - far)
    else:
        found, error = 1 - density * (near + far), error + 2 * unit
    return max(Decimal(0), found - error), min(Decimal(1), max(found + error, SMALLEST))


def _mills(x: Decimal, unit: Decimal) -> tuple[Decimal, Decimal]:
    """Compute R(x) for x ≥ 0, and the share by which it may be off.

    The power series loses about x²/4 digits, and the continued fraction needs the more levels the
    smaller x is.
    """
    return _by_series(x, unit) if 2 * x * x < -unit.adjusted() else _by_fraction(x, unit)


def _by_series(x: Decimal, unit: Decimal) -> tuple[Decimal, Decimal]:
    """Compute R(x) = √(π/2) e^(x²/2) - Σ x^(2k+1)/(1·3···(2k+1)).

    A term is right to 3k shares, and less than half of the one before from k = x² on: what is left
    out is then less than the last. All of them together are below the exponential.
    """
    square = x * x
    whole = (_pi(-unit.adjusted() + 1) / 2).sqrt() * (square / 2).exp()
    term, total, k = x, x, 0
    while k <= square or term > unit:
        k += 1
        term *= square / (2 * k + 1)
        total += term
    result = whole - total
    if result <= 0:
        return Decimal(1), Decimal(1)
    return result, (whole * unit * (4 * k + 20) + term) / result


def _by_fraction(x: Decimal, unit: Decimal) -> tuple[Decimal, Decimal]:
    """Compute R(x) = 1/(x + 1/(x + 2/(x + 3/(x + ...)))), between two successive convergents.

    All terms are positive: from one level to the next the share by which a value is off grows by
    no more than its own two roundings.
    """
    levels = 8
    while True:
        one, two = _convergent(x, levels), _convergent(x, levels + 1)
        apart = abs(one - two) / one
        if apart <= 10 * unit:
            return one, apart + 3 * (levels + 2) * unit
        levels *= 2


def _convergent(x: Decimal, levels: int) -> Decimal:
    tail = x
    for k in range(levels, 0, -1):
        tail = x + k / tail
    return 1 / tail


@lru_cache(32)
def _pi(digits: int) -> Decimal:
    """Compute π, off by less than 10^(2 - digits), by Machin's formula in integers."""
    scale: int = 10 ** (digits + 10)

    def arctangent(inverse: int) -> int:
        power, total, k = scale // inverse, 0, 1
        while power:
            total += power // k if k % 4 == 1 else -(power // k)
            power, k = power // inverse**2, k + 2
        return total

    return Decimal(4 * (4 * arctangent(5) - arctangent(239))) / scale
