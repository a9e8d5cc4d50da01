"""What a paper says of its figure, and whether it was seen. Nothing is tuned into view."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from mipselect.experiments.papers.results import Middle, Results

SEEN, IN_PART, NOT_SEEN, OPEN = "seen", "seen in part", "not seen", "not decided"
CLEARLY = 2.0
"""Standard errors of a difference beyond which it counts."""


@dataclass(frozen=True)
class Finding:
    """What became of a claim.

    Attributes
    ----------
    verdict : str
        `SEEN`, `IN_PART`, `NOT_SEEN`, or `OPEN` if nothing was measured or all of it lies within
        the errors.
    evidence : str
        The numbers.
    """

    verdict: str
    evidence: str


class Claim(Protocol):
    """Something that numbers can contradict: a frozen dataclass."""

    @property
    def text(self) -> str:
        """The claim, in our words."""

    def judged(self, results: Results) -> Finding:
        """Compare it with what was measured."""


def within(x: float, span: tuple[float, float] | None) -> bool:
    """Whether x is where a claim is about; None is everywhere."""
    return span is None or span[0] <= x <= span[1]


def standard_error(first: Middle, second: Middle) -> float:
    """Of a difference of two means, as if they were independent."""
    return math.hypot(first.error or 0.0, second.error or 0.0)


@dataclass(frozen=True)
class Ahead:
    """One method is better than others, or never clearly worse.

    Attributes
    ----------
    text, metric, better : str
    worse : tuple of str
    span : (float, float) or None
        Of x.
    panels : tuple of str or None
        None is all of them.
    higher : bool
        Whether larger numbers are better.
    never_behind : bool
        Whether it is enough not to be worse anywhere.
    margin : float
        A difference up to it is none, whatever the errors.
    """

    text: str
    metric: str
    better: str
    worse: tuple[str, ...]
    span: tuple[float, float] | None = None
    panels: tuple[str, ...] | None = None
    higher: bool = True
    never_behind: bool = False
    margin: float = 0.0

    def judged(self, results: Results) -> Finding:
        """Count the places where it is ahead, level and behind by two standard errors."""
        ahead, level, behind = 0, 0, 0
        least, where = math.inf, ""
        for place, first, second in self._pairs(results):
            difference = first.value - second.value
            difference = difference if self.higher else -difference
            if first.value == second.value:
                difference = 0.0
            rounding = 1e-9 * abs(second.value)
            clear = max(CLEARLY * standard_error(first, second), self.margin, rounding)
            if difference > clear:
                ahead += 1
            elif difference < -clear:
                behind += 1
            else:
                level += 1
            if difference < least:
                least, where = difference, f"{place}: {first} against {second}"
        total = ahead + level + behind
        if not total:
            return Finding(OPEN, "nothing of it was measured")
        counts = f"ahead at {ahead}, level at {level}, behind at {behind} of {total} places"
        return Finding(self._verdict(ahead, behind), f"{counts}; closest {where}")

    def _verdict(self, ahead: int, behind: int) -> str:
        if self.never_behind:
            return NOT_SEEN if behind else SEEN
        if behind and ahead:
            return IN_PART
        return NOT_SEEN if behind else SEEN if ahead else OPEN

    def _pairs(self, results: Results) -> Iterator[tuple[str, Middle, Middle]]:
        panels = self.panels or tuple(results.panels(self.metric))
        for panel in panels:
            best = results.line(panel, self.better, self.metric)
            for name in self.worse:
                other = results.line(panel, name, self.metric)
                for x, middle in best.items():
                    if x in other and within(x, self.span):
                        yield f"{panel}, {name}, {x:g}".lstrip(", "), middle, other[x]


@dataclass(frozen=True)
class Rises:
    """Methods get better from left to right."""

    text: str
    metric: str
    methods: tuple[str, ...]
    falls: bool = False

    def judged(self, results: Results) -> Finding:
        """Look at the ends of every line, and at steps in the other direction."""
        good, bad, told = 0, 0, []
        for panel in results.panels(self.metric):
            for method in self.methods:
                line = list(results.line(panel, method, self.metric).items())
                if len(line) < 2:
                    continue
                sign = -1.0 if self.falls else 1.0
                steps = [
                    (sign * (b.value - a.value), CLEARLY * standard_error(a, b), x)
                    for (_, a), (x, b) in pairwise(line)
                ]
                back = [x for step, error, x in steps if step < -max(error, 1e-9)]
                (_, start), (_, end) = line[0], line[-1]
                moved = sign * (end.value - start.value) > CLEARLY * standard_error(start, end)
                good, bad = good + (moved and not back), bad + bool(back)
                told.append(f"{panel} {method} {start} to {end}".strip())
                if back:
                    told[-1] += " with a step back at " + ", ".join(f"{x:g}" for x in back)
        if not told:
            return Finding(OPEN, "nothing of it was measured")
        verdict = IN_PART if good and bad else SEEN if good else NOT_SEEN if bad else OPEN
        return Finding(verdict, "; ".join(told))


@dataclass(frozen=True)
class Number:
    """A number that was stated, in the paper or by an earlier measurement.

    Attributes
    ----------
    text, metric, panel, method : str
    x, stated : float
    tolerance : float
        Of the stated number, to be seen; twice the standard error is granted besides.
    """

    text: str
    metric: str
    panel: str
    method: str
    x: float
    stated: float
    tolerance: float

    def judged(self, results: Results) -> Finding:
        """Compare what was measured at that place."""
        found = results.line(self.panel, self.method, self.metric).get(self.x)
        if found is None:
            return Finding(OPEN, "it was not measured")
        room = self.tolerance + CLEARLY * (found.error or 0.0)
        verdict = SEEN if abs(found.value - self.stated) <= room else NOT_SEEN
        return Finding(verdict, f"measured {found}, stated {self.stated:g}")


@dataclass(frozen=True)
class Computed:
    """A claim that needs its own look at the numbers."""

    text: str
    look: Callable[[Results], Finding]

    def judged(self, results: Results) -> Finding:
        """Look."""
        return self.look(results)
