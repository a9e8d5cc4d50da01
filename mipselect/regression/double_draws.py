"""Continuous draws in double precision, from 64 random bits for each number."""

from __future__ import annotations

import random

import numpy as np
from scipy.special import ndtri

from mipselect.arrays import FloatArray
from mipselect.mechanisms.noise.noise import log_exponentials

WORD = 8
"""Bytes of randomness in one number."""


def standard_normals(source: random.Random, count: int) -> FloatArray:
    """Draw standard normal numbers, shape (count,): -Φ⁻¹(U/2) with a random sign.

    U is the middle of one of 2^63 equal intervals, taken from the small end, so that the tail
    has full relative precision; what lies beyond 9.2 is never drawn.
    """
    words = np.frombuffer(source.randbytes(WORD * count), dtype="<u8")
    signs = np.where(words >> np.uint64(63), 1.0, -1.0)
    uniform = ((words & np.uint64((1 << 63) - 1)).astype(np.float64) + 0.5) * 2.0**-63
    numbers: FloatArray = -signs * ndtri(np.minimum(uniform, 1.0) / 2.0)
    return numbers


def euclidean_laplace(source: random.Random, size: int, scale: float) -> FloatArray:
    """Draw b with density ∝ exp(-‖b‖₂/scale), shape (size,).

    ‖b‖ is a Gamma variable of shape `size`, the sum of so many exponential ones; the direction is
    that of a normal vector, independent of it.
    """
    length = scale * float(np.exp(log_exponentials(source, size)).sum())
    direction = standard_normals(source, size)
    return length * direction / np.linalg.norm(direction)
