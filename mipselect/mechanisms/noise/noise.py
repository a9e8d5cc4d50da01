"""The noises of the Lipschitz mechanism: one family, in double logarithms.

A noise is known here by t(x) = log(-log F(x)), a decreasing function that is -x for Gumbel noise
and close to it, up to a constant, for every other noise and large x. The largest of m
independent noises has -log F^m = m exp(t), so m enters as t + log m and is never formed.
"""

from __future__ import annotations

import math
import random
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfinv, ndtri

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.privacy.decimals import exact

LOG_2 = math.log(2.0)
FAR = 40.0
"""From here on 1 - exp(-x) is 1 in double precision."""

TINY = 1e-300
EXP_MAX = 700.0
"""exp of no more is finite."""

WORD = 8
"""Bytes of randomness in one uniform number, away from 0 and 1."""

SHORT = 1 << 52
"""An integer below it has too few digits to stand for a uniform number near 0 or 1."""


class Noise(ABC):
    """A distribution on the reals with density f and distribution function F.

    Every member has a hazard of at most one, 1 - F(x + δ) ≥ e^-δ (1 - F(x)), so that adding it to
    utilities of sensitivity ½ and taking the largest is 1-DP
    (docs/mathematics/score-mechanisms.md, (2)).
    """

    lowest: float = -math.inf
    """Lower end of the support: 0 for the one-sided noises."""

    tail: float = FAR
    """From here on t(x) is a constant less x, in double precision."""

    kinked: bool = False
    """True if F has a kink inside its support, at zero."""

    rounded: float = 8.0
    """Nats for what rounding the noise costs, to be paid for beside the utilities
    (docs/mathematics/score-mechanisms.md, (14)); 0 where draws are made in integers."""

    @abstractmethod
    def log_exponent(self, x: FloatArray) -> FloatArray:
        """Compute t(x) = log(-log F(x)); ``inf`` below the support."""

    @abstractmethod
    def quantile(self, log_exponent: FloatArray) -> FloatArray:
        """Compute F⁻¹(exp(-e^t)), the inverse of `log_exponent`."""

    @abstractmethod
    def log_reversed_hazard(self, x: FloatArray) -> FloatArray:
        """Return log(f(x) / F(x)); ``-inf`` below the support."""

    def log_survival(self, x: FloatArray) -> FloatArray:
        """Return log(1 - F(x))."""
        return log_one_minus_exp(self.log_exponent(x))

    def largest(self, source: random.Random, log_sizes: FloatArray) -> FloatArray:
        """Draw the largest of m noises for each log m: F⁻¹(U^{1/m}).

        U^{1/m} = exp(-E/m) with E = -log U, so that t = log E - log m.
        """
        return self.quantile(log_exponentials(source, log_sizes.size) - log_sizes)


@dataclass(frozen=True)
class Gumbel(Noise):
    """F(x) = exp(-e^-x): the exponential mechanism."""

    tail: float = -math.inf
    rounded: float = 0.0

    def log_exponent(self, x: FloatArray) -> FloatArray:
        """Return -x."""
        return -x

    def quantile(self, log_exponent: FloatArray) -> FloatArray:
        """Return -t."""
        return -log_exponent

    def log_reversed_hazard(self, x: FloatArray) -> FloatArray:
        """Return -x."""
        return -x


@dataclass(frozen=True)
class Exponential(Noise):
    """F(x) = 1 - e^-x for x ≥ 0: permute-and-flip."""

    lowest: float = 0.0

    def log_exponent(self, x: FloatArray) -> FloatArray:
        """Return log(-log(1 - e^-x))."""
        near = np.log(-_log_one_minus(np.clip(x, TINY, FAR)))
        return np.where(x > FAR, -x, np.where(x > 0.0, near, np.inf))

    def quantile(self, log_exponent: FloatArray) -> FloatArray:
        """Return -log(1 - e^-v) with v = e^t."""
        return -log_one_minus_exp(log_exponent)

    def log_reversed_hazard(self, x: FloatArray) -> FloatArray:
        """Return -x - log(1 - e^-x)."""
        return np.where(x > 0.0, -x - _log_one_minus(np.maximum(x, TINY)), -np.inf)


@dataclass(frozen=True)
class HalfLogistic(Noise):
    """F(x) = (1 - e^-x) / (1 + e^-x) for x ≥ 0."""

    lowest: float = 0.0

    def log_exponent(self, x: FloatArray) -> FloatArray:
        """Return log(2 artanh(e^-x))."""
        inside = np.clip(x, TINY, FAR)
        near = np.log(np.log1p(np.exp(-inside)) - _log_one_minus(inside))
        return np.where(x > FAR, LOG_2 - x, np.where(x > 0.0, near, np.inf))

    def quantile(self, log_exponent: FloatArray) -> FloatArray:
        """Return log(1 + e^-v) - log(1 - e^-v) with v = e^t."""
        v = np.exp(np.minimum(log_exponent, EXP_MAX))
        return np.log1p(np.exp(-v)) - log_one_minus_exp(log_exponent)

    def log_reversed_hazard(self, x: FloatArray) -> FloatArray:
        """Return log 2 - x - log(1 - e^-2x)."""
        inside = LOG_2 - x - _log_one_minus(2.0 * np.maximum(x, TINY))
        return np.where(x > 0.0, inside, -np.inf)


@dataclass(frozen=True)
class Logistic(Noise):
    """F(x) = 1 / (1 + e^-x)."""

    def log_exponent(self, x: FloatArray) -> FloatArray:
        """Return log(log(1 + e^-x))."""
        near = np.log(np.logaddexp(0.0, -np.minimum(x, FAR)))
        return np.where(x > FAR, -x, near)

    def quantile(self, log_exponent: FloatArray) -> FloatArray:
        """Return -v - log(1 - e^-v) with v = e^t."""
        return -np.exp(log_exponent) - log_one_minus_exp(log_exponent)

    def log_reversed_hazard(self, x: FloatArray) -> FloatArray:
        """Return -log(1 + e^x)."""
        return -np.logaddexp(0.0, x)


@dataclass(frozen=True)
class Laplace(Noise):
    """F(x) = e^x / 2 for x < 0 and 1 - e^-x / 2 for x ≥ 0: report noisy max."""

    kinked: bool = True

    def log_exponent(self, x: FloatArray) -> FloatArray:
        """Return log(log 2 - x) below zero and log(-log(1 - e^-x / 2)) above."""
        below = np.log(LOG_2 - np.minimum(x, 0.0))
        above = np.log(-np.log1p(-0.5 * np.exp(-np.clip(x, 0.0, FAR))))
        return np.where(x > FAR, -LOG_2 - x, np.where(x < 0.0, below, above))

    def quantile(self, log_exponent: FloatArray) -> FloatArray:
        """Return log 2 - v below the median and -log(2 (1 - e^-v)) above, with v = e^t."""
        v = np.exp(log_exponent)
        return np.where(v > LOG_2, LOG_2 - v, -LOG_2 - log_one_minus_exp(log_exponent))

    def log_reversed_hazard(self, x: FloatArray) -> FloatArray:
        """Return 0 below zero and -log(2 e^x - 1) above."""
        y = np.maximum(x, 0.0)
        return -LOG_2 - y - np.log1p(-0.5 * np.exp(-y))


NOISES: dict[str, Noise] = {
    "gumbel": Gumbel(),
    "exponential": Exponential(),
    "laplace": Laplace(),
    "logistic": Logistic(),
    "half-logistic": HalfLogistic(),
}


def noise_named(name: str) -> Noise:
    """Return the noise of that name, or raise `InvalidInput`."""
    if name not in NOISES:
        known = ", ".join(repr(known) for known in NOISES)
        raise InvalidInput(f"noise must be one of {known}, got {name!r}")
    return NOISES[name]


def log_one_minus_exp(log_exponent: FloatArray) -> FloatArray:
    """Compute log(1 - e^-v) for v = e^t, also where v is below the smallest double."""
    v = np.exp(np.clip(log_exponent, -FAR, EXP_MAX))
    return np.where(log_exponent < -FAR, log_exponent, _log_one_minus(v))


def _log_one_minus(v: FloatArray) -> FloatArray:
    """Compute log(1 - e^-v) for v > 0, to full relative precision at both ends."""
    return np.where(
        v > 1.0, np.log1p(-np.exp(-np.maximum(v, 1.0))), np.log(-np.expm1(-np.minimum(v, 1.0)))
    )


def random_words(source: random.Random, count: int) -> NDArray[np.uint64]:
    """Draw integers below 2^64, each as likely; shape (count,)."""
    return np.frombuffer(source.randbytes(WORD * count), dtype="<u8")


def log_exponentials(source: random.Random, count: int) -> FloatArray:
    """Draw log E for `count` standard exponential variables E = -log U; shape (count,).

    Both tails have full relative precision, and neither has an end.
    """
    upper, from_end = uniforms(random_words(source, count), 64, source)
    return np.log(np.where(upper, -np.log1p(-from_end), -np.log(from_end)))


def uniforms(
    words: NDArray[np.uint64], bits: int, source: random.Random
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Make uniform numbers of (0, 1), each as its nearer end and the distance from there.

    A number is the middle of one of 2^bits equal intervals. Near an end these are divided again
    until one is narrow beside its distance from there.

    Parameters
    ----------
    words : uint64 array, shape (count,)
        Integers below 2^bits, each as likely.
    bits : int
    source : random.Random
        Draws the parts of intervals.

    Returns
    -------
    upper : bool array, shape (count,)
        True where the nearer end is 1.
    from_end : float array, shape (count,)
    """
    last = np.uint64((1 << bits) - 1)
    upper: NDArray[np.bool_] = words > last >> np.uint64(1)
    places = np.where(upper, last - words, words)
    from_end = (places.astype(np.float64) + 0.5) * 2.0**-bits
    for k in np.flatnonzero(places < SHORT):
        from_end[k] = _lengthened(int(places[k]), bits, source)
    return upper, from_end


def standard_normals(source: random.Random, count: int) -> FloatArray:
    """Draw standard normal numbers, shape (count,): the size x with P(|N| > x) = U, and a sign.

    Sizes near zero and large ones have full relative precision, and there is no largest one.
    """
    words, sign = random_words(source, count), np.uint64(1 << 63)
    small, from_end = uniforms(words & ~sign, 63, source)
    sizes = np.where(small, math.sqrt(2.0) * erfinv(from_end), -ndtri(from_end / 2.0))
    numbers: FloatArray = np.where(words & sign, sizes, -sizes)
    return numbers


def _lengthened(place: int, bits: int, source: random.Random) -> float:
    """Return the middle of an interval of (0, 1) that is narrow beside its distance from 0.

    It is a part of the interval of this place among 2^bits, each part as likely as it is wide.
    """
    while place < SHORT:
        place = (place << 64) + source.getrandbits(64)
        bits += 64
    return math.ldexp(float(2 * place + 1), -bits - 1)


def plus_laplace(
    value: float, epsilon: float, sensitivity: float, source: random.Random, *, private: bool
) -> float:
    """Add Laplace noise of scale Δ/ε to `value`: OpenDP's if `private`, else in doubles."""
    if private:
        return opendp_laplace(value, epsilon, sensitivity)
    return value + sensitivity / epsilon * float(Laplace().largest(source, np.zeros(1))[0])


def plus_gaussian(
    values: FloatArray, deviation: float, source: random.Random, *, private: bool
) -> FloatArray:
    """Add independent normal noise: OpenDP's if `private`, else in double precision.

    OpenDP's noise is a discrete Gaussian on multiples of 2^-1074, added exactly and then rounded
    to a double: no bit of the sum tells more than the continuous law does.
    """
    if private:
        return opendp_gaussian(values, deviation)
    return values + deviation * standard_normals(source, values.size).reshape(values.shape)


def opendp_laplace(value: float, epsilon: float, sensitivity: float) -> float:
    """Draw value + Laplace noise of scale Δ/ε by `make_laplace`, Δ > 0.

    ε is the smaller one of a double and the decimal that it is printed as.
    """
    dp = _opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def build(scale: float) -> Any:
        return dp.m.make_laplace(*space, scale=scale)

    spent = epsilon if Fraction(epsilon) <= exact(epsilon) else math.nextafter(epsilon, 0.0)
    return float(_within(build, spent, sensitivity, 1.0 / spent)(value))


def opendp_gaussian(values: FloatArray, deviation: float) -> FloatArray:
    """Draw values + independent Gaussian noise of this deviation by `make_gaussian`.

    Its sampler is exact; the caller computes the guarantee of the noise.
    """
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    noisy = dp.m.make_gaussian(*space, scale=deviation)(values.ravel().tolist())
    return np.array(noisy, dtype=np.float64).reshape(values.shape)


def _opendp() -> Any:
    """Import OpenDP, which takes a while, when its samplers are first used."""
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
