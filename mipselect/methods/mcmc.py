"""Best subset selection by a Markov chain."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mipselect.layout import Layout
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.supports.metropolis import MetropolisHastings, mixing_guarantee
from mipselect.methods.base import Rows, RowsMethod
from mipselect.methods.residual_squares import ResidualSquares, smallest_square
from mipselect.methods.summed import SummedRows
from mipselect.privacy.guarantee import Guarantee
from mipselect.validation import checked_integer, checked_scale, checked_share


@dataclass(frozen=True, kw_only=True)
class MCMCMethod(RowsMethod):
    """See `MCMCSelector`: (ε, δ) under replace-one, on the condition that the chain has mixed.

    A support stands for the columns of its features and those that are always in, with one
    ‖β‖₁ ≤ B. No entry of a row is larger than the bound of the feature or the part that it is
    in, so |x·β| ≤ Bb with the largest bound b, whatever the number of columns, and RSS moves by
    at most Δ = (b_y + Bb)².

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
        of the rows, where every feature is one column; of the parts that are always in each
        counts in s. It is not larger for features of several columns, so that Δ is not.
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

    def radius_of(self, rows: Rows | SummedRows) -> float:
        """B."""
        if self.radius is not None:
            return float(self.radius)
        parts = rows.support_size + len(rows.layout.always) + rows.layout.intercept
        largest = rows.bound("coef_bound") * math.sqrt(parts)
        return checked_scale(largest, "coef_bound · √support_size")

    def _mechanism(self, rows: Rows, source: random.Random) -> MetropolisHastings:
        y_bound = checked_scale(rows.bound("y_bound"), "y_bound")
        radius, layout = self.radius_of(rows), rows.bounded
        squares = ResidualSquares(
            layout.arranged(np.asarray(rows.X, dtype=np.float64)),
            np.clip(rows.y, -y_bound, y_bound),
            radius,
        )

        def value(support: Support) -> float:
            return squares(layout.features.with_always(np.array(support)))

        return self._chain(value, rows, layout, y_bound, radius)

    def _from_sums(self, rows: SummedRows) -> MetropolisHastings:
        radius, layout, held = self.radius_of(rows), rows.layout, rows.held

        def value(support: Support) -> float:
            columns = layout.features.with_always(np.array(support))
            gram = held.gram[np.ix_(columns, columns)]
            return smallest_square(gram, held.moment[columns], held.target_norm, radius)

        return self._chain(value, rows, layout, rows.bound("y_bound"), radius)

    def _chain(
        self,
        value: Callable[[Support], float],
        rows: Rows | SummedRows,
        layout: Layout,
        y_bound: float,
        radius: float,
    ) -> MetropolisHastings:
        x_bound = float(layout.bounds.max())
        if layout.always:
            x_bound = max(x_bound, layout.always_bound)
        if layout.intercept:
            x_bound = max(x_bound, 1.0)
        return MetropolisHastings(
            value,
            rows.feature_names,
            rows.support_size,
            self.epsilon,
            delta=self.delta,
            sensitivity=(y_bound + radius * x_bound) ** 2,
            n_steps=self.n_steps,
        )
