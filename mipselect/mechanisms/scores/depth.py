"""Depth of a grid's points among some of them: the law of a deep one, and its private test.

Draws, weights and the test are exact: volumes count points, and weights are integers.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mipselect.mechanisms.scores.noisy_max import exponential_coin
from mipselect.privacy.decimals import exact

Grid = NDArray[np.int64]

WEIGHT_BITS = 4096
"""Bits of the largest weight: shells whose weight is below 2^-4096 of it count as 2^-4096."""

SHALLOWEST = 10
"""Only points of depth m/10 and more are drawn."""

RATIO_BITS = 40
"""e^{ε/2} is rounded down to a multiple of 2^-40."""

ROUNDED = 1e-12
"""More than what doubles round of a logarithm, relatively, or absolutely near 0."""


@dataclass(frozen=True)
class DepthLaw:
    """Draw a point with weight u(T), T its axis-aligned depth, among those with T ≥ t.

    Parameters
    ----------
    points : int64 array, shape (m, d)
        On the grid. Sensitive.
    epsilon : float
        ε_s: u grows by a factor of at most e^{ε_s/2} from one depth to the next.

    Notes
    -----
    T(y) = min over axes and sides of the number of points that are not beyond y, and at most
    ⌈m/2⌉. One point that is replaced moves T by at most 1, up **or** down: m is fixed. So the
    weights take ε/2 and not ε. S_i = {T ≥ i} is the box ∏[x_(i), x_(m-i+1)] of order statistics,
    t = ⌊m/10⌋: any public t would do, and the published ⌊m/4⌋ takes 40 % more points for the
    test to pass.

    With q = e^{ε_s/2}, rounded down, u is any sequence of integers with 1 ≤ u(i+1)/u(i) ≤ q.
    """

    points: Grid = field(repr=False)
    epsilon: float

    @property
    def lowest(self) -> int:
        """t = ⌊m/10⌋; 1 if that is 0."""
        return max(1, len(self.points) // SHALLOWEST)

    @property
    def deepest(self) -> int:
        """⌈m/2⌉, the largest depth there is."""
        return (len(self.points) + 1) // 2

    @cached_property
    def ratio(self) -> Fraction:
        """The ratio q ≤ e^{ε_s/2}, a multiple of 2^-`RATIO_BITS`."""
        # Beyond e^700 a larger one could not be told from it: every weight is at its floor.
        exponent = min(self.epsilon / 2.0, 700.0)
        step = Fraction(1, 1 << RATIO_BITS)
        return 1 + Fraction(math.expm1(exponent) * (1.0 - 1e-12)) // step * step

    @cached_property
    def weights(self) -> dict[int, int]:
        """u(i) for i = t, ..., ⌈m/2⌉: from the deepest down, each at least the next one / q."""
        found = {self.deepest: 1 << WEIGHT_BITS}
        for depth in range(self.deepest - 1, self.lowest - 1, -1):
            found[depth] = -(-found[depth + 1] * self.ratio.denominator // self.ratio.numerator)
        return found

    @cached_property
    def volumes(self) -> list[int]:
        """V_i = |S_i| for i = 1, ..., ⌈m/2⌉, and 0 beyond. V_0, all of the grid, is not used."""
        found = [0]
        for depth in range(1, self.deepest + 1):
            low, high = self._box(depth)
            found.append(math.prod(h - w + 1 for w, h in zip(low, high, strict=True)))
        return [*found, *([0] * (self.deepest + 2))]

    @cached_property
    def totals(self) -> dict[int, int]:
        """w(S_i) = Σ over the points of S_i of u(T), for i = t, ..., ⌈m/2⌉."""
        found: dict[int, int] = {}
        total = 0
        for depth in range(self.deepest, self.lowest - 1, -1):
            total += self._shell(depth) * self.weights[depth]
            found[depth] = total
        return found

    def unsafe_share(self, k: int) -> Fraction:
        """Compute g_k = (V_{t-k} - V_{t+k+1}) u(t) q^k / w(S_{t+k}), 0 ≤ k < t.

        For neighbouring data one step away g_k is at most g_{k+1} here: boxes are nested,
        S'_i ⊆ S_{i-1} and S_{i+1} ⊆ S'_i, and w'(S'_i) ≥ w'(S_{i+1}) ≥ w(S_{i+1})/q.
        """
        t = self.lowest
        moved = self.volumes[t - k] - self.volumes[t + k + 1]
        return moved * self.weights[t] * self.ratio**k / self.totals[t + k]

    def distance(self, delta: float) -> int:
        """Find M: the largest k in 0..t-2 with g_k + g_{k+1} ≤ δ, else -1; it moves by at most 1.

        Where M ≥ 0 the law and that of any neighbour are (ε_s, δ)-indistinguishable. What is in
        S_t and not in S'_t has no depth above t, so the share g_0 at most; the other way round
        it is a share of g'_0 ≤ g_1; elsewhere weights differ by q and totals by q/(1 - g'_0).
        """
        if self.lowest < 2:
            return -1
        bound = _smaller(delta)

        def holds(k: int) -> bool:
            return self.unsafe_share(k) + self.unsafe_share(k + 1) <= bound

        # g_k rises with k.
        low, high = -1, self.lowest - 2
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if holds(middle) else (low, middle - 1)
        return low

    def draw(self, source: random.Random) -> tuple[int, ...]:
        """Draw a point, shape (d,)."""
        left = source.randrange(self.totals[self.lowest])
        depth = self.lowest
        while True:
            left -= self._shell(depth) * self.weights[depth]
            if left < 0:
                break
            depth += 1
        inner = self._box(depth + 1) if depth < self.deepest else None
        return draw_in_shell(self._box(depth), inner, source)

    def _shell(self, depth: int) -> int:
        """Return the number of points of the grid that have this depth."""
        return self.volumes[depth] - self.volumes[depth + 1]

    @cached_property
    def _sorted(self) -> Grid:
        return np.sort(self.points, axis=0)

    def _box(self, depth: int) -> tuple[list[int], list[int]]:
        """Return x_(i) and x_(m-i+1) of every axis."""
        low, high = self._sorted[depth - 1], self._sorted[len(self.points) - depth]
        return low.tolist(), high.tolist()


def draw_in_shell(
    outer: tuple[list[int], list[int]],
    inner: tuple[list[int], list[int]] | None,
    source: random.Random,
) -> tuple[int, ...]:
    """Draw uniformly from a box without a smaller box in it.

    Points are divided by the first axis j on which they are outside the inner box: earlier
    coordinates are in its sides, coordinate j in what is left of side j, later ones anywhere.
    """
    low, high = outer
    if inner is None:
        return tuple(source.randrange(a, b + 1) for a, b in zip(low, high, strict=True))
    inside = [(a, b) for a, b in zip(*inner, strict=True)]
    sides = [(a, b) for a, b in zip(low, high, strict=True)]
    parts = [
        math.prod(_length(side) for side in inside[:j])
        * (_length(sides[j]) - _length(inside[j]))
        * math.prod(_length(side) for side in sides[j + 1 :])
        for j in range(len(sides))
    ]
    left = source.randrange(sum(parts))
    axis = 0
    while left >= parts[axis]:
        left -= parts[axis]
        axis += 1
    point = [source.randrange(a, b + 1) for a, b in [*inside[:axis], *sides[axis:]]]
    (a, b), (c, d) = sides[axis], inside[axis]
    place = source.randrange((c - a) + (b - d))
    point[axis] = a + place if place < c - a else d + 1 + place - (c - a)
    return tuple(point)


def _length(side: tuple[int, int]) -> int:
    return side[1] - side[0] + 1


def margin(distance: int, epsilon: float, delta: float) -> Fraction:
    """Compute M ε_t - ln(1/2δ), the logarithm rounded up: how far M is above the threshold.

    M moves by 1, and so this by ε_t exactly.
    """
    threshold = Fraction(math.log(0.5 / delta) * (1.0 + ROUNDED) + ROUNDED)
    return distance * _smaller(epsilon) - threshold


def passes(margin: Fraction, source: random.Random) -> bool:
    """Return True where M + Lap(1/ε_t) is above the threshold; the coin is drawn, and no noise.

    It shows the rarer side with a probability of exactly e^-|margin|/2. Where M = -1 it passes with
    a probability of δe^{-ε_t} at most; else the log of either probability moves by at most ε_t.
    """
    rare = source.getrandbits(1) == 0 and exponential_coin(abs(margin), source)
    return rare if margin <= 0 else not rare


def _smaller(value: float) -> Fraction:
    """Return the smaller one of a double and the decimal that it is printed as."""
    return min(Fraction(value), exact(value))


def enough_points(axes: int, epsilon: float, delta: float) -> int:
    """Return how many points let the test pass, where they are about normal; public.

    (11 + 1.2d)x with x = (ln(1/2δ) + 3)/ε_t: a quarter above what passes with a probability of 0.9
    for least-squares models with normal errors, for d up to 21. And 10(⌈x⌉ + 2), for the distance
    is at most t - 2, t a tenth of the points, and the test wants some x.
    """
    distance = (math.log(0.5 / delta) + 3.0) / epsilon
    least = SHALLOWEST * (math.ceil(distance) + 2)
    return max(least, math.ceil((11.0 + 1.2 * axes) * distance))
