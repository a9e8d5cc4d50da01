"""Claims of a paper about its figure, and whether they were seen. Nothing is tuned into view."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from .experiment import Middle, Results, clearly_above

SEEN, IN_PART, NOT_SEEN, OPEN = "seen", "seen in part", "not seen", "not decided"


@dataclass(frozen=True)
class Finding:
    """Verdict on a claim.

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
    """Tell whether x is where a claim is about; None is everywhere."""
    return span is None or span[0] <= x <= span[1]


AHEAD, LEVEL, BEHIND = "ahead", "level", "behind"


def compared(first: Middle, second: Middle, margin: float = 0.0, *, higher: bool = True) -> str:
    """Return `AHEAD`, `LEVEL` or `BEHIND`: beyond errors and a margin."""
    better, worse = (first, second) if higher else (second, first)
    if clearly_above(better, worse, margin):
        return AHEAD
    return BEHIND if clearly_above(worse, better, margin) else LEVEL


@dataclass(frozen=True)
class Ahead:
    """One method is better than others, or never clearly worse.

    Attributes
    ----------
    text, metric, better : str
    worse : tuple of str
    span : (float, float) or None
        Span of x.
    panels : tuple of str or None
        None is all of them.
    higher : bool
        Whether larger numbers are better.
    never_behind : bool
        Whether it is enough not to be worse anywhere.
    of_all : bool
        Whether it is a superlative, which one that is level leaves open.
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
    of_all: bool = False
    margin: float = 0.0

    def judged(self, results: Results) -> Finding:
        """Count the places where it is ahead, level and behind by more than the errors."""
        counts = {AHEAD: 0, LEVEL: 0, BEHIND: 0}
        least, where = math.inf, ""
        for place, first, second in self.pairs(results):
            counts[compared(first, second, self.margin, higher=self.higher)] += 1
            difference = 0.0 if first.value == second.value else first.value - second.value
            difference = difference if self.higher else -difference
            if difference < least:
                least, where = difference, f"{place}: {first} against {second}"
        total = sum(counts.values())
        if not total:
            return Finding(OPEN, "nothing of it was measured")
        told = ", ".join(f"{word} at {count}" for word, count in counts.items())
        verdict = self._verdict(counts[AHEAD], counts[LEVEL], counts[BEHIND])
        return Finding(verdict, f"{told} of {total} places; closest {where}")

    def _verdict(self, ahead: int, level: int, behind: int) -> str:
        if self.never_behind:
            return NOT_SEEN if behind else SEEN
        if self.of_all:
            return NOT_SEEN if behind else OPEN if level else SEEN
        if behind and ahead:
            return IN_PART
        return NOT_SEEN if behind else SEEN if ahead else OPEN

    def pairs(self, results: Results) -> Iterator[tuple[str, Middle, Middle]]:
        """Yield every place where both were measured."""
        panels = self.panels or tuple(results.panels(self.metric))
        for panel in panels:
            best = results.line(panel, self.better, self.metric)
            for name in self.worse:
                other = results.line(panel, name, self.metric)
                for x, middle in best.items():
                    if x in other and within(x, self.span):
                        yield f"{panel}, {name}, {x:g}".lstrip(", "), middle, other[x]


@dataclass(frozen=True)
class AheadInTheEnd:
    """One method is better than others for large x; how large, the measurement says.

    A paper that says "for large enough n" names no n, so none is declared: where the two differ
    for the last time, the method must be ahead.
    """

    text: str
    metric: str
    better: str
    worse: tuple[str, ...]
    panels: tuple[str, ...] | None = None
    higher: bool = True

    def judged(self, results: Results) -> Finding:
        """Go from right to left, in every panel and for every other method."""
        last, told = list[str](), []
        for panel in self.panels or tuple(results.panels(self.metric)):
            best = results.line(panel, self.better, self.metric)
            for name in self.worse:
                other = results.line(panel, name, self.metric)
                found = {
                    x: compared(best[x], other[x], higher=self.higher) for x in best if x in other
                }
                decided = [state for state in found.values() if state != LEVEL]
                if found:
                    last.append(decided[-1] if decided else LEVEL)
                    told.append(f"{panel} {name}: {_from_where(found)}".strip())
        if not told:
            return Finding(OPEN, "nothing of it was measured")
        behind, ahead = BEHIND in last, AHEAD in last
        verdict = IN_PART if behind and ahead else NOT_SEEN if behind else SEEN if ahead else OPEN
        return Finding(verdict, "; ".join(told))


def _from_where(found: dict[float, str]) -> str:
    """Return the last state by x that is not level, and from where on it is so."""
    state, start, level = LEVEL, math.nan, []
    for x, here in reversed(found.items()):
        if here == LEVEL:
            level.append(x)
        elif state in (LEVEL, here):
            state, start = here, x
        else:
            break
    if state == LEVEL:
        return "level everywhere"
    after = sorted(x for x in level if x > start)
    more = ", level at " + ", ".join(f"{x:g}" for x in after) if after else ""
    return f"{state} from {start:g} on{more}"


@dataclass(frozen=True)
class Somewhere:
    """One method is better than another at some place at least."""

    text: str
    ahead: Ahead

    def judged(self, results: Results) -> Finding:
        """Look for one place where it is ahead."""
        pairs = list(self.ahead.pairs(results))
        if not pairs:
            return Finding(OPEN, "nothing of it was measured")
        found = [
            f"{place}: {first} against {second}"
            for place, first, second in pairs
            if compared(first, second, self.ahead.margin, higher=self.ahead.higher) == AHEAD
        ]
        told = f"at {len(found)} of {len(pairs)} places"
        return Finding(SEEN if found else NOT_SEEN, "; first ".join([told, *found[:1]]))


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
                higher = not self.falls
                steps = [(x, compared(b, a, higher=higher)) for (_, a), (x, b) in pairwise(line)]
                back = [x for x, step in steps if step == BEHIND]
                (_, start), (_, end) = line[0], line[-1]
                moved = compared(end, start, higher=higher) == AHEAD
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
        Tolerance of the stated number, to be seen; the error is granted besides.
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
        low, high = found.bounds
        near = low - self.tolerance <= self.stated <= high + self.tolerance
        verdict = SEEN if near else NOT_SEEN
        return Finding(verdict, f"measured {found}, stated {self.stated:g}")


@dataclass(frozen=True)
class Computed:
    """A claim that needs its own look at the numbers."""

    text: str
    look: Callable[[Results], Finding]

    def judged(self, results: Results) -> Finding:
        """Look at the results by the function of the claim."""
        return self.look(results)
