"""Continuous draws in double precision, from 64 random bits for each number or more."""

from __future__ import annotations

import math
import random

import numpy as np
from scipy.special import erfinv, ndtri

from mipselect.arrays import FloatArray
from mipselect.mechanisms.noise.noise import log_exponentials, random_words, uniforms
from mipselect.regression.balls import Balls


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
