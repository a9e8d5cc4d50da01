"""Best subset selection by a Markov chain."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np

from mipselect.mechanisms.supports.metropolis import MetropolisHastings, mixing_guarantee
from mipselect.methods.base import Rows, RowsMethod
from mipselect.methods.residual_squares import ResidualSquares
from mipselect.privacy.guarantee import Guarantee
from mipselect.validation import checked_integer, checked_scale, checked_share


@dataclass(frozen=True, kw_only=True)
class MCMCMethod(RowsMethod):
    """See `MCMCSelector`: (ε, δ) under replace-one, on the condition that the chain has mixed.

    Parameters
    ----------
    epsilon : float
        ε of one draw.
    delta : float
        0 < δ < 1.
    n_steps : int
        How long the chain runs.
    radius : float, optional
        B, the largest ‖β‖₁. None is r√s, which allows every β with ‖β‖₂ ≤ r, the `coef_bound`
        of the rows.
    """

    delta: float = 1e-6
    n_steps: int = 5000
    radius: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_share(self.delta, "delta", closed=False)
        checked_integer(self.n_steps, "n_steps", 1)
        if self.radius is not None:
            checked_scale(self.radius, "radius")

    @property
    def guarantee(self) -> Guarantee:
        """See `MetropolisHastings.guarantee`."""
        return mixing_guarantee(self.epsilon, self.delta, self.n_steps)

    @property
    def bounds(self) -> tuple[str, ...]:
        """b_x and b_y, and r where there is no B."""
        return ("x_bound", "y_bound", *(("coef_bound",) if self.radius is None else ()))

    def radius_of(self, rows: Rows) -> float:
        """B."""
        if self.radius is not None:
            return float(self.radius)
        largest = rows.bound("coef_bound") * math.sqrt(rows.support_size)
        return checked_scale(largest, "coef_bound · √support_size")

    def _mechanism(self, rows: Rows, source: random.Random) -> MetropolisHastings:
        x_bound, y_bound = (
            checked_scale(rows.bound(name), name) for name in ("x_bound", "y_bound")
        )
        radius = self.radius_of(rows)
        squares = ResidualSquares(
            np.clip(np.asarray(rows.X, dtype=np.float64), -x_bound, x_bound),
            np.clip(rows.y, -y_bound, y_bound),
            radius,
        )
        return MetropolisHastings(
            squares,
            rows.feature_names,
            rows.support_size,
            self.epsilon,
            delta=self.delta,
            sensitivity=(y_bound + radius * x_bound) ** 2,
            n_steps=self.n_steps,
        )
