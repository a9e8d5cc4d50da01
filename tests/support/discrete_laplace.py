"""The law of discrete Laplace noise, in closed form."""

from __future__ import annotations

import math


def discrete_laplace_log_probability(k: int, scale: float) -> float:
    """Compute log P(k) = log tanh(1/2t) - |k|/t, for a scale of t."""
    return math.log(math.tanh(0.5 / scale)) - abs(k) / scale
