"""All intervals of a short public list, and their probabilities."""

from __future__ import annotations

import numpy as np

from mipselect.regression.typical_intervals import IntervalLaw, IntervalList, ListedInterval


def every_interval(listed: IntervalList) -> list[ListedInterval]:
    return [
        ListedInterval(mantissa, listed.first + step, place)
        for mantissa in listed.mantissas
        for step, octaves in enumerate(listed.octaves)
        for place in range(1 - 2**octaves, 2**octaves)
    ]


def logs_of(law: IntervalLaw) -> np.ndarray:
    return np.array([law.log_probability(each) for each in every_interval(law.listed)])
