"""ρ of zero-concentrated privacy: what a pure ε gives, and what (ε, δ) a ρ gives.

A mechanism is ρ-zero-concentrated private (ρ-zCDP) if the Rényi divergence of every order α
between its laws on neighbours is at most αρ. Sums of ρ are sums over draws, chosen one after
another as anybody likes.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

from mipselect.privacy.decimals import exact, round_up

ROUNDING = 1e-12
"""Relative allowance for double precision in a conversion of ρ."""


def pure_rho(epsilon: float) -> float | None:
    """Compute ε²/2, rounded up, which holds for anything ε-private; None beyond all floats.

    Bun and Steinke, "Concentrated differential privacy", 2016, proposition 1.4.
    """
    return _rounded_up(exact(epsilon) ** 2 / 2)


def bounded_range_rho(epsilon: float, draws: int = 1) -> float | None:
    """Compute k(ε/k)²/8, rounded up, for k draws from exponential mechanisms at ε/k.

    Such a draw is of bounded range ε/k: between neighbours the logs of the probabilities of any
    two outcomes move by no more than ε/k apart. None where no float can hold it.

    Cesar and Rogers, "Bounding, concentrating, and truncating: unifying privacy loss composition
    for data analytics", 2021, lemma 3.2.
    """
    return _rounded_up(exact(epsilon) ** 2 / (8 * draws))


def gaussian_rho(mu: float) -> float | None:
    """Compute μ²/2, rounded up, for normal noise of μ-Gaussian privacy, in one draw or several.

    Normal noise of deviation Δ₂/μ is μ-Gaussian private, and its Rényi divergence of order α is at
    most αμ²/2; where several draws are √Σμ_i²-Gaussian private together, their ρ add up to the
    same. None where no float can hold it.

    Bun and Steinke, "Concentrated differential privacy", 2016, lemma 2.4.
    """
    return _rounded_up(exact(mu) ** 2 / 2)


def _rounded_up(rho: Fraction) -> float | None:
    return round_up(rho) if rho <= sys.float_info.max else None


def largest_pure_epsilon(rho: Fraction) -> float:
    """Find the largest ε with ε²/2 ≤ ρ, rounded down."""
    square = 2 * rho
    if square <= 0:
        return 0.0
    # 128 bits before the point, so that their root has 64: more than a float.
    bits = 128 - square.numerator.bit_length() + square.denominator.bit_length()
    shift = max(0, bits) // 2
    epsilon = float(Fraction(math.isqrt(int(square * 4**shift)) + 1, 2**shift))
    while exact(epsilon) ** 2 > square:
        epsilon = math.nextafter(epsilon, 0.0)
    return epsilon


def rho_epsilon(rho: float, delta: float) -> float:
    """Compute the ε at δ that follows from ρ, rounded up.

    The least αρ + ln(1 - 1/α) - ln(αδ)/(α-1) over α > 1; every α gives a valid one.

    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020,
    proposition 12 with corollary 13.
    """
    if rho == 0.0:
        return 0.0

    def epsilon(log_excess: float) -> float:
        excess = math.exp(log_excess)
        noise = (1.0 + excess) * rho
        entropy = math.log1p(math.exp(-log_excess))
        rest = -(math.log1p(excess) + math.log(delta)) / excess
        return noise - entropy + rest + ROUNDING * (noise + entropy + abs(rest))

    # Near the order at which the simpler ρ + 2√(ρ ln 1/δ) is attained.
    middle = 0.5 * (math.log(math.log(1.0 / delta)) - math.log(rho))
    # By thirds: SciPy's optimisers take four times as long to import as NumPy.
    low, high = middle - 12.0, middle + 12.0
    for _ in range(60):
        third = (high - low) / 3.0
        if epsilon(low + third) < epsilon(high - third):
            high -= third
        else:
            low += third
    return max(0.0, min(epsilon(low), epsilon(middle)))
