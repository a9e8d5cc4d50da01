"""The Gaussian mechanism: how much noise keeps (ε, δ), and draws with OpenDP's sampler."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal
from functools import lru_cache

from mipselect.arrays import FloatArray
from mipselect.mechanisms.noise import opendp_draws
from mipselect.privacy.gaussian_curve import gaussian_delta
from mipselect.regression.double_draws import standard_normals


@lru_cache(256)
def largest_mu(epsilon: float, delta: float) -> float:
    """Return the largest double μ with δ(ε) ≤ δ; noise of deviation Δ₂/μ is (ε, δ)-private.

    k releases of μ_1, ..., μ_k together are √Σμ_i²-Gaussian private, also if each depends on the
    ones before (Dong, Roth and Su, corollary 2): there is no loss in composing them.

    Notes
    -----
    An upper bound on δ(ε) is compared, so that no rounding makes μ too large; ε and δ are the
    smaller ones of a double and the decimal that it is printed as. See
    docs/mathematics/regression.md, (3).
    """
    budget, most = (min(Decimal(value), Decimal(repr(value))) for value in (epsilon, delta))
    # Doubles above zero are in the order of their bits.
    low, high = 0, struct.unpack("<q", struct.pack("<d", math.inf))[0]
    while high - low > 1:
        middle = (low + high) // 2
        enough = gaussian_delta(_of_bits(middle), budget)[1] <= most
        low, high = (middle, high) if enough else (low, middle)
    return _of_bits(low)


def _of_bits(bits: int) -> float:
    number: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return number


def plus_gaussian(
    values: FloatArray, deviation: float, source: random.Random, *, private: bool
) -> FloatArray:
    """Add independent normal noise: OpenDP's if `private`, else in double precision.

    OpenDP's noise is a discrete Gaussian on multiples of 2^-1074, added exactly and then rounded
    to a double: no bit of the sum tells more than the continuous law does.
    """
    if private:
        return opendp_draws.gaussian(values, deviation)
    return values + deviation * standard_normals(source, values.size).reshape(values.shape)
