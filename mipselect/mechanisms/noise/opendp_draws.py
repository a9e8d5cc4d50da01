"""Draws by the vetted samplers of OpenDP. Imported when first used: it takes a while."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.privacy.decimals import exact


def laplace(value: float, epsilon: float, sensitivity: float) -> float:
    """Draw value + Laplace noise of scale Δ/ε by `make_laplace`, Δ > 0.

    ε is the smaller one of a double and the decimal that it is printed as.
    """
    dp = _opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def build(scale: float) -> Any:
        return dp.m.make_laplace(*space, scale=scale)

    spent = epsilon if Fraction(epsilon) <= exact(epsilon) else math.nextafter(epsilon, 0.0)
    return float(_within(build, spent, sensitivity, 1.0 / spent)(value))


def gaussian(values: FloatArray, deviation: float) -> FloatArray:
    """Draw values + independent Gaussian noise of this deviation by `make_gaussian`.

    Its sampler is exact; the caller computes the guarantee of the noise.
    """
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    noisy = dp.m.make_gaussian(*space, scale=deviation)(values.ravel().tolist())
    return np.array(noisy, dtype=np.float64).reshape(values.shape)


def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def _within(build: Any, epsilon: float, sensitivity: float, per_unit: float) -> Any:
    """Return build(scale), the scale rounded up until its privacy map stays within ε."""
    for ulps in range(sys.float_info.mant_dig):
        scale = per_unit * sensitivity * (1.0 + (2.0**ulps - 1.0) * sys.float_info.epsilon)
        if not sys.float_info.min <= scale <= sys.float_info.max:
            raise InvalidInput(
                f"the noise for epsilon = {epsilon:g} and sensitivity = {sensitivity:g} has a "
                f"scale of {scale:g}, which is beyond double precision"
            )
        measurement = build(scale)
        if measurement.map(sensitivity) <= epsilon:
            return measurement
    raise AssertionError("OpenDP disagrees about the scale of the noise")
