"""Round numbers for the ticks of an axis."""

from __future__ import annotations

import math

STEPS = (1.0, 2.0, 5.0, 10.0)
RATIOS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)
MOST = 5
"""Ticks at most; on a phone more of them run into each other."""


def linear_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round positions from `low` to `high`, 0 among them if it lies between, with their texts."""
    least = (high - low) / MOST
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * one for one in STEPS if power * one >= least * (1.0 - 1e-9))
    first, last = math.ceil(low / step), math.floor(high / step)
    return [(k * step, f"{k * step:.6g}") for k in range(first, last + 1)]


def ratio_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return logarithms of round ratios from `low` to `high`, with the ratios as texts."""
    found = {0.0: "×1"} if low <= 0.0 <= high else {}
    for ratio in RATIOS[1:]:
        for sign, text in ((1.0, f"×{ratio:g}"), (-1.0, f"÷{ratio:g}")):
            position = sign * math.log(ratio)
            if low <= position <= high:
                found[position] = text
    apart = (high - low) / (MOST + 1)
    kept: list[float] = []
    for position in sorted(found, key=abs):
        if all(abs(position - other) >= apart for other in kept):
            kept.append(position)
    return [(position, found[position]) for position in sorted(kept)]
