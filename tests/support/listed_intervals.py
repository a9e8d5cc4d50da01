"""All intervals of a short public list, and their probabilities."""

from __future__ import annotations

import numpy as np

from mipselect.regression.typical_intervals import IntervalLaw, IntervalList, ListedInterval


def every_interval(listed: IntervalList) -> list[ListedInterval]:
    return [
        ListedInterval(listed.first + step, place)
        for step, octaves in enumerate(listed.octaves)
        for place in range(1 - 2**octaves, 2**octaves)
    ]


def logs_of(law: IntervalLaw) -> np.ndarray:
    """`log_probability` of all of them, with one look at the values."""
    listed, (scores, weights) = law.listed, law._levels
    held = {
        ListedInterval(listed.first + size.step, place): inside
        for size in law.occupied()
        for place, inside in zip(size.places.tolist(), size.inside.tolist(), strict=True)
    }
    chosen = every_interval(listed)
    own = [law._scores(each.exponent - listed.first, held.get(each, 0)) for each in chosen]
    levels = np.searchsorted(scores, own)
    shares = np.array([*map(listed.weight, chosen)]) / weights[levels]
    return law._law.log_probabilities()[levels] + np.log(shares)
