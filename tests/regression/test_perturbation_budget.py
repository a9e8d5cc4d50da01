"""Budget of objective perturbation, against 60 digits: noise and curvature stay within ε."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from mipselect.regression import ObjectivePerturbationRegressor


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_noise_and_curvature_together_are_within_epsilon(relation: str) -> None:
    """Of the squared loss, whose constants are known: B(B_y + rB), or D when a row is replaced."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        size = int(rng.integers(1, 6))
        x_bound, y_bound, radius = np.exp(rng.uniform(-3.0, 3.0, 3)).tolist()
        bounds = {"x_bound": x_bound, "y_bound": y_bound, "coef_bound": radius}
        # The curvature takes from next to nothing to nearly all of ε.
        epsilon, ridge = np.exp(rng.uniform((-6.0, -12.0), (3.0, 6.0))).tolist()
        model = ObjectivePerturbationRegressor(
            epsilon=epsilon, loss="squared", relation=relation, ridge=ridge, **bounds
        )
        norm, radii = model._rows(size).norm, model._change(size)[0].radii
        found = model._perturbation(size)
        with mpmath.workdps(60):
            B, y, r = mpmath.mpf(norm), mpmath.mpf(model._clip_bound), mpmath.mpf(radius)
            kappa = r * B / y
            s = (mpmath.sqrt(1 + 8 * kappa**2) - 1) / (4 * kappa)
            whole = 2 * (y + r * B * s) * mpmath.sqrt(1 - s**2)
            apart = y + r * B
            apart *= 1 if relation == "add-remove" else 2
            # In one ball of whole rows two gradients may be nearer than twice the largest.
            moves = whole if relation == "replace-one" and radii == (norm,) else apart
            curvature = mpmath.log1p(B**2 / mpmath.mpf(found.ridge))
            spent = moves / mpmath.mpf(found.noise_scale) + curvature
            assert mpmath.mpf(epsilon) * (1 - 1e-11) <= spent <= mpmath.mpf(epsilon)
