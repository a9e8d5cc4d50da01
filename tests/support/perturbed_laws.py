"""The exact law of objective perturbation in one and two dimensions, for audits. Sensitive."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.regression.perturbed_objective import Perturbation, SmoothLoss
from mipselect.regression.rows import Balls
from tests.support.hockey_stick import Box, Density, MixedLaw

EDGES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 40.0)
"""Panels of the integral along the noise, in units of its scale; e^-40 lies beyond."""

POINTS = 16
"""Points of the rule of Gauss and Legendre in each of them."""


def norms_in(balls: Balls, points: FloatArray) -> FloatArray:
    """‖b‖ = max_f ‖b_f‖₂/a_f of points, shape (n, d); returns shape (n,)."""
    parts = np.split(points, np.cumsum(balls.widths)[:-1], axis=1)
    lengths = [np.linalg.norm(p, axis=1) / a for p, a in zip(parts, balls.radii, strict=True)]
    found: FloatArray = np.max(lengths, axis=0)
    return found


@dataclass(frozen=True, eq=False)
class PerturbedMinimiser:
    """What `perturbed_minimiser` draws with the noise of `chosen`, before it is rounded.

    Attributes
    ----------
    loss : SmoothLoss
    rows : float array, shape (n, d), d = 1 or 2
    y : float array, shape (n,)
    chosen : Perturbation
    radius : float
        r of the ball.
    balls : Balls, optional
        In whose norm the noise is drawn; the Euclidean one without them.
    shares : float array, shape (n,), optional
        How much each row counts.
    """

    loss: SmoothLoss
    rows: FloatArray = field(repr=False)
    y: FloatArray = field(repr=False)
    chosen: Perturbation
    radius: float
    balls: Balls | None = None
    shares: FloatArray | None = None

    @property
    def law(self) -> MixedLaw:
        """The law over the ball.

        With d = 1: β = r and β = -r as outcomes, and a density between. With d = 2: a density
        over squared length and angle inside of the disc, and one over the angle on its boundary.
        """
        if self.rows.shape[1] == 1:
            ends = [self.log_of_end(sign) for sign in (1.0, -1.0)]
            inside = Density(self.log_density, Box((-self.radius,), (self.radius,)))
            return MixedLaw(np.array(ends), (inside,))

        def in_disc(points: FloatArray) -> FloatArray:
            square, angle = points.T
            beta = np.sqrt(square)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
            return self.log_density(beta) - math.log(2.0)

        def on_circle(points: FloatArray) -> FloatArray:
            return self.log_circle_density(points[:, 0])

        turn = 2.0 * math.pi
        inside = Density(in_disc, Box((0.0, 0.0), (self.radius**2, turn)))
        return MixedLaw(np.zeros(0), (inside, Density(on_circle, Box((0.0,), (turn,)))))

    def lengths(self, noise: FloatArray) -> FloatArray:
        """‖b‖ of noise, shape (m, d); shape (m,)."""
        return norms_in(self._product, noise)

    @property
    def _product(self) -> Balls:
        return self.balls or Balls((self.rows.shape[1],), (1.0,))

    @property
    def _log_constant(self) -> float:
        """log(d! V s^d), V the volume of the product: what ∫exp(-‖b‖/s) is."""
        product = self._product
        volume = sum(
            0.5 * m * math.log(math.pi) - math.lgamma(0.5 * m + 1.0) + m * math.log(a)
            for m, a in zip(product.widths, product.radii, strict=True)
        )
        size = product.size
        return math.lgamma(size + 1.0) + volume + size * math.log(self.chosen.noise_scale)

    def derivatives(self, betas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """ℓ' and ℓ'' of each row at each of some coefficients, by its share; shapes (n, m)."""
        _, slopes, curvatures = self.loss.values(self.y[:, None], self.rows @ betas.T)
        shares = np.ones((len(self.y), 1)) if self.shares is None else self.shares[:, None]
        return shares * slopes, shares * curvatures

    def noise_at(self, betas: FloatArray) -> FloatArray:
        """b(β) = -(Σ∇ℓ(β) + cβ), the noise that makes β the minimiser; shape (m, d) as `betas`."""
        slopes, _ = self.derivatives(betas)
        result: FloatArray = -(slopes.T @ self.rows + self.chosen.ridge * betas)
        return result

    def log_density(self, betas: FloatArray) -> FloatArray:
        """Log density of minimisers inside of the ball; shapes (m, d) to (m,).

        That of the noise, exp(-‖b‖/s)/(d! V s^d), V the volume of what has ‖b‖ ≤ 1, times the
        determinant of Σ∇²ℓ + cI.
        """
        rows, chosen, size = self.rows, self.chosen, self.rows.shape[1]
        _, curvatures = self.derivatives(betas)
        hessian = np.einsum("nm,ni,nj->mij", curvatures, rows, rows) + chosen.ridge * np.eye(size)
        lengths = self.lengths(self.noise_at(betas)) / chosen.noise_scale
        found: FloatArray = np.linalg.slogdet(hessian)[1] - lengths - self._log_constant
        return found

    def log_of_end(self, sign: float) -> float:
        """log P(β = ±r) with one column: the noise is at least what holds β there."""
        needed = sign * self.noise_at(np.array([[sign * self.radius]]))[0, 0]
        scaled = float(needed) / self.chosen.noise_scale / self._product.radii[0]
        return math.log1p(-0.5 * math.exp(-scaled)) if scaled > 0.0 else scaled - math.log(2.0)

    def log_circle_density(self, angles: FloatArray) -> FloatArray:
        """Log density over the angle of minimisers on the circle ‖β‖ = r, two columns; shape (m,).

        The noise is b(β) - νβ/r for a ν ≥ 0, and the map from angle and ν to it has the Jacobian
        r τᵀ(H + cI)τ + ν, τ the tangent. ν is integrated out in panels that are narrow where the
        noise is shortest.
        """
        out = np.column_stack([np.cos(angles), np.sin(angles)])
        tangent = np.column_stack([-out[:, 1], out[:, 0]])
        rows, radius, scale = self.rows, self.radius, self.chosen.noise_scale
        _, curvatures = self.derivatives(radius * out)
        along = radius * ((curvatures * (rows @ tangent.T) ** 2).sum(axis=0) + self.chosen.ridge)
        start = self.noise_at(radius * out)
        towards, beside = (start * out).sum(axis=1), (start * tangent).sum(axis=1)
        nodes, weights = np.polynomial.legendre.leggauss(POINTS)
        # v = ν - (start, out) runs from -towards; the noise is shortest where v is nearest to 0.
        first = np.maximum(0.0, -towards)
        shortest = self.lengths(beside[:, None] * tangent - first[:, None] * out)
        total = np.zeros(len(angles))
        for low, high in pairwise(EDGES):
            for side in (1.0, -1.0):
                a, b = first + side * scale * low, first + side * scale * high
                a, b = np.maximum(a, -towards), np.maximum(b, -towards)
                half = 0.5 * np.abs(b - a)
                v = 0.5 * (a + b)[:, None] + half[:, None] * nodes
                noise = (beside[:, None] * tangent)[:, None] - v[:, :, None] * out[:, None]
                length = self.lengths(noise.reshape(-1, 2)).reshape(v.shape)
                height = along[:, None] + v + towards[:, None]
                shapes = np.exp((shortest[:, None] - length) / scale) * height
                total += half * (shapes @ weights)
        found: FloatArray = np.log(total) - shortest / scale - self._log_constant
        return found
