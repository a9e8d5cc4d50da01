"""The Gaussian mechanism: how much noise keeps (ε, δ), and draws with OpenDP's sampler."""

from __future__ import annotations

import math
import random

from mipselect.arrays import FloatArray
from mipselect.mechanisms.noise import opendp_draws
from mipselect.privacy.hockey_stick import log_gaussian_delta
from mipselect.regression.double_draws import standard_normals

BISECTIONS = 200
ROUNDING = 1e-9
"""μ is lowered by this much, relatively: more than the rounding errors of the curve."""


def largest_mu(epsilon: float, delta: float) -> float:
    """Return μ, rounded down, with δ(ε) ≤ δ; noise of deviation Δ₂/μ is then (ε, δ)-private.

    k releases of μ_1, ..., μ_k together are √Σμ_i²-Gaussian private, also if each depends on the
    ones before (Dong, Roth and Su, corollary 2): there is no loss in composing them.
    """
    target = math.log(delta)
    low, high = 0.0, 1.0
    while log_gaussian_delta(high, epsilon) <= target:
        low, high = high, 2.0 * high
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (
            (middle, high) if log_gaussian_delta(middle, epsilon) <= target else (low, middle)
        )
    return low * (1.0 - ROUNDING)


def plus_gaussian(
    values: FloatArray, deviation: float, source: random.Random, *, private: bool
) -> FloatArray:
    """`values` + independent normal noise: OpenDP's if `private`, else in double precision.

    OpenDP's noise is a discrete Gaussian on multiples of 2^-1074, added exactly and then rounded
    to a double: no bit of the sum tells more than the continuous law does.
    """
    if private:
        return opendp_draws.gaussian(values, deviation)
    return values + deviation * standard_normals(source, values.size).reshape(values.shape)
