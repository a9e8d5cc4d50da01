"""DPKendall paper: tables counted by medians and their intervals, and what that decides."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..reproduce.claims import (
    AHEAD,
    BEHIND,
    IN_PART,
    LEVEL,
    NOT_SEEN,
    OPEN,
    SEEN,
    Finding,
    compared,
)
from ..reproduce.declared import Metric
from ..reproduce.results import Middle, Place, Results
from .ranges import ADA, BLOCKS_ADA, EXACT_ADA, EXACT_OP, K_ADA, TOP_R_OP
from .tables import R2

POSITIVE = Metric("positive", "tables with a positive median R²")
FIRST = Metric("first", "tables on which it ranks first")
TOP_TWO = Metric("first or second", "tables on which it ranks first or second")

NON_DP = "NonDP"
BAS, TUKEY, L_BAS, L_TUKEY = "BAS", "Tukey", "L-BAS", "L-Tukey"
K_BAS, K_TUKEY, MAX_TUKEY = "K-BAS", "K-Tukey", "K-Tukey, max"
RANKED = (BAS, TUKEY, L_BAS, L_TUKEY, K_BAS, K_TUKEY)
WITH_RANGES = (TOP_R_OP, EXACT_OP, EXACT_ADA, BLOCKS_ADA, K_ADA, ADA)

PUBLISHED: Mapping[tuple[str, int], tuple[float, ...]] = {
    ("cpu_act", 5): (0.78, -math.inf, -0.027, 0.10, 0.21, 0.10),
    ("cpu_act", 10): (0.53, -math.inf, 0.35, 0.18, 0.73, 0.082),
    ("elevators", 5): (-4.5e4, -660.0, -820.0, -170.0, -5.6e5, 0.31),
    ("elevators", 10): (-2.3e6, -1.3e3, -5.6e6, -340.0, -7.2e4, -140.0),
    ("winequality", 5): (-3.4, -math.inf, -0.56, -0.25, -4.3, 0.085),
    ("winequality", 10): (-240.0, -8.2e4, -27.0, -3.5e3, -24.0, -1.4e3),
    ("ailerons", 5): (-2.1e8, -math.inf, -1.0e7, 0.37, -1.9e8, 0.66),
    ("ailerons", 10): (-1.1e8, -math.inf, -1.4e7, -31.0, -2.1e8, -170.0),
    ("bike_sharing_hour", 5): (-0.44, -4.8e10, -0.48, -0.0098, -0.42, 0.32),
    ("bike_sharing_hour", 10): (-0.43, -2.3e10, -0.49, -2.4e9, -0.48, -2.5e8),
}
"""Median R² of `RANKED` in the paper, for tables that begin with these names."""

Counted = tuple[bool, bool, bool]
"""Three truth values: it holds for certain, by the median, perhaps."""


def ranks(results: Results) -> dict[Place, Middle]:
    """Count the tables on which each method is positive, first, and first or second, by k.

    Counted by the medians, with the fewest and the most tables that their intervals leave. Those
    that know ranges are not ranked among those that do not.
    """
    counts: dict[Place, list[Counted]] = {}
    for panel in results.panels(R2.key):
        lines = {name: results.line(panel, name, R2.key) for name in (*RANKED, *WITH_RANGES)}
        for k in sorted({k for line in lines.values() for k in line}):
            here = {name: line[k] for name, line in lines.items() if k in line}
            for name, middle in here.items():
                counts.setdefault(Place("", name, POSITIVE.key, k), []).append(positive(middle))
            ranked = {name: middle for name, middle in here.items() if name in RANKED}
            for name in ranked:
                for metric, most in ((FIRST, 0), (TOP_TWO, 1)):
                    counted = among_the_best(ranked, name, most)
                    counts.setdefault(Place("", name, metric.key, k), []).append(counted)
    return {place: added(counted) for place, counted in counts.items()}


def positive(middle: Middle) -> Counted:
    """Tell whether a median is above 0."""
    low, high = middle.bounds
    return low > 0.0, middle.value > 0.0, high > 0.0


def among_the_best(middles: Mapping[str, Middle], name: str, most: int) -> Counted:
    """Tell whether at most so many others have a larger median."""
    low, high = middles[name].bounds
    others = [middle for other, middle in middles.items() if other != name]
    return (
        sum(other.bounds[1] >= low for other in others) <= most,
        sum(other.value > middles[name].value for other in others) <= most,
        sum(other.bounds[0] > high for other in others) <= most,
    )


def added(counted: Sequence[Counted]) -> Middle:
    """Add up numbers of tables, with the fewest and the most that they may be."""
    fewest, count, most = (float(sum(column)) for column in zip(*counted, strict=True))
    return Middle(count, None, len(counted), (fewest, most))


def signs(results: Results) -> Finding:
    """Compare the signs of medians, where they are decided, with the published ones."""
    alike, undecided, other = 0, 0, []
    for panel in results.panels(R2.key):
        for (name, k), values in PUBLISHED.items():
            if not panel.startswith(name):
                continue
            for method, stated in zip(RANKED, values, strict=True):
                found = results.line(panel, method, R2.key).get(float(k))
                if found is None:
                    continue
                certain, _, perhaps = positive(found)
                if certain != perhaps:
                    undecided += 1
                elif certain == (stated > 0.0):
                    alike += 1
                else:
                    other.append(f"{panel} k = {k} {method} {found}, stated {stated:.2g}")
    if not alike + len(other):
        return Finding(OPEN, f"{undecided} of {undecided} not decided")
    told = f"{alike} alike, {len(other)} other, {undecided} not decided"
    verdict = (IN_PART if alike else NOT_SEEN) if other else SEEN
    return Finding(verdict, "; ".join([told, *other]))


def fewer(results: Results) -> Finding:
    """Add up the positive tables of all methods at both k."""
    totals = {}
    for k in (5.0, 10.0):
        lines = [results.line("", name, POSITIVE.key) for name in RANKED]
        found = [line[k] for line in lines if k in line]
        if not found:
            return Finding(OPEN, f"k = {k:g} was not measured")
        low, high = (sum(ends) for ends in zip(*(m.bounds for m in found), strict=True))
        totals[k] = Middle(sum(m.value for m in found), None, len(found), (low, high))
    told = f"{totals[5.0]} at k = 5, {totals[10.0]} at k = 10 (the paper's 25: 41 and 19)"
    state = compared(totals[5.0], totals[10.0])
    return Finding({AHEAD: SEEN, LEVEL: OPEN, BEHIND: NOT_SEEN}[state], told)
