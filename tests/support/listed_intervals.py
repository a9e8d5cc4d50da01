"""Intervals of a public list, how many values they hold, and their probabilities."""

from __future__ import annotations

import numpy as np

from mipselect.regression.typical_intervals import IntervalLaw, IntervalList, ListedInterval


def every_interval(listed: IntervalList) -> list[ListedInterval]:
    return [
        ListedInterval(listed.first + step, place)
        for step, octaves in enumerate(listed.octaves)
        for place in range(1 - 2**octaves, 2**octaves)
    ]


def held_by(law: IntervalLaw) -> dict[ListedInterval, int]:
    """How many values the intervals hold that hold one."""
    return {
        ListedInterval(law.listed.first + size.step, place): inside
        for size in law.occupied()
        for place, inside in zip(size.places.tolist(), size.inside.tolist(), strict=True)
    }


def logs_of(law: IntervalLaw, chosen: list[ListedInterval] | None = None) -> np.ndarray:
    """`log_probability` of some intervals, or of all, with one look at the values."""
    listed, held, (scores, weights) = law.listed, held_by(law), law._levels
    chosen = every_interval(listed) if chosen is None else chosen
    own = [law._scores(each.exponent - listed.first, held.get(each, 0)) for each in chosen]
    levels = np.searchsorted(scores, own)
    shares = np.array([*map(listed.weight, chosen)]) / weights[levels]
    return law._law.log_probabilities()[levels] + np.log(shares)
