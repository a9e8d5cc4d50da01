"""The law of permute-and-flip by exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def flip_law(log_weights: np.ndarray) -> np.ndarray:
    """Logs of ∫₀¹ w_k Π_{l≠k} (1 - w_l t) dt: polynomials in t with rational coefficients."""
    weights = [Fraction(float(np.exp(log))) for log in log_weights - np.max(log_weights)]
    found = []
    for k, own in enumerate(weights):
        product = [Fraction(1)]
        for weight in weights[:k] + weights[k + 1 :]:
            shifted = [Fraction(0), *(-weight * c for c in product)]
            product = [a + b for a, b in zip([*product, Fraction(0)], shifted, strict=True)]
        found.append(own * sum(c / (j + 1) for j, c in enumerate(product)))
    return np.array([_log(probability) for probability in found])


def _log(ratio: Fraction) -> float:
    shift = ratio.denominator.bit_length() - ratio.numerator.bit_length()
    return float(np.log(float(ratio * 2**shift)) - shift * np.log(2.0))
