"""Noise of models: continuous draws in double precision, and Gaussian noise with its μ."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal
from functools import lru_cache

import numpy as np
from scipy.special import erfinv, ndtri

from mipselect.arrays import FloatArray
from mipselect.mechanisms.noise import opendp_draws
from mipselect.mechanisms.noise.noise import log_exponentials, random_words, uniforms
from mipselect.privacy.gaussian_curve import gaussian_delta
from mipselect.regression.rows import Balls


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


def standard_normals(source: random.Random, count: int) -> FloatArray:
    """Draw standard normal numbers, shape (count,): the size x with P(|N| > x) = U, and a sign.

    Sizes near zero and large ones have full relative precision, and there is no largest one.
    """
    words, sign = random_words(source, count), np.uint64(1 << 63)
    small, from_end = uniforms(words & ~sign, 63, source)
    sizes = np.where(small, math.sqrt(2.0) * erfinv(from_end), -ndtri(from_end / 2.0))
    numbers: FloatArray = np.where(words & sign, sizes, -sizes)
    return numbers


def product_laplace(source: random.Random, balls: Balls, scale: float) -> FloatArray:
    """Draw b with density ∝ exp(-max_f ‖b_f‖₂/(a_f scale)), f over the balls; shape (size,).

    The level sets of that norm are multiples of the product of the balls. So b is a uniform point
    of the product times a Gamma variable of shape size + 1, independent of it: the sum of so many
    exponential ones. For one ball of radius 1 the density is ∝ exp(-‖b‖₂/scale).
    """
    length = scale * float(np.exp(log_exponentials(source, balls.size + 1)).sum())
    points = [
        radius * uniform_in_ball(source, width)
        for width, radius in zip(balls.widths, balls.radii, strict=True)
    ]
    return length * np.concatenate(points)


def uniform_in_ball(source: random.Random, size: int) -> FloatArray:
    """Draw a uniform point of the unit ball, shape (size,).

    The direction is that of a normal vector, and the length e^{-E/size} with an exponential E: the
    size-th power of a length is uniform.
    """
    direction = standard_normals(source, size)
    length = math.exp(-math.exp(float(log_exponentials(source, 1)[0])) / size)
    return length * direction / np.linalg.norm(direction)
