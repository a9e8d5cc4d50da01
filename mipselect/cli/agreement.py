"""Agreement of answers: with what an instance expects, and of several solvers. Sensitive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from mipselect.problem.instance import Instance
from mipselect.problem.stored.files import Expected
from mipselect.search import MistakeLevels, SupportPool

RELATIVE = 1e-9
"""Largest effect of rounding, relative to a value."""


@dataclass(frozen=True)
class Comparison:
    """Agreement of a search with what its instance stores as expected; sensitive.

    Attributes
    ----------
    agrees : bool
    exact : bool
        To `RELATIVE`, not only within the certified tolerance.
    sentence : str
    """

    agrees: bool
    exact: bool
    sentence: str


def compare(
    instance: Instance, found: SupportPool | MistakeLevels, wanted: Expected | None
) -> Comparison | None:
    """Compare the best value, the best support (ties allowed) and, for levels, every level value.

    A search may stop at a value that is proven to be within its tolerance of the best, so that
    much is allowed above what is expected, and nothing below it.
    """
    if wanted is None:
        return None
    pairs = [("the best value", float(found.values[0]), wanted.value)]
    best = tuple(int(j) for j in found.supports[0])
    if best != wanted.support:
        tie = f"the value of the expected support {list(wanted.support)}"
        pairs.append((tie, instance.objective(wanted.support), float(found.values[0])))
    if isinstance(found, MistakeLevels) and wanted.level_values is not None:
        if len(wanted.level_values) != len(found):
            return _differs(f"{len(found)} levels instead of {len(wanted.level_values)}")
        for level, value in enumerate(wanted.level_values):
            pairs.append((f"the value of level {level}", float(found.values[level]), value))
    exact = True
    for what, value, right in pairs:
        rounding = RELATIVE * abs(right)
        if not -rounding <= value - right <= found.allowance + rounding:
            return _differs(f"{what} is {value!r} instead of {right!r}")
        exact = exact and value - right <= rounding
    how = f"to {RELATIVE:g} relative" if exact else "within the tolerance"
    return Comparison(agrees=True, exact=exact, sentence=f"agrees with [expected] {how}")


def _differs(how: str) -> Comparison:
    return Comparison(agrees=False, exact=False, sentence=f"DIFFERS from [expected]: {how}")


@dataclass(frozen=True, eq=False)
class FoundBySolver:
    """Levels that one solver found, and the lower bound that it proved.

    Attributes
    ----------
    solver : str
    formulation : str
    levels : MistakeLevels or None
        What was found, certified or not; None if nothing was.
    bound : float
        Proven lower bound on the value of every support.
    remark : str
        Why it is not certified; empty if it is.
    """

    solver: str
    formulation: str
    levels: MistakeLevels | None
    bound: float
    remark: str = ""

    @property
    def name(self) -> str:
        """The solver and its formulation."""
        return self.solver if self.formulation == "cuts" else f"{self.solver} ({self.formulation})"

    @property
    def certified(self) -> bool:
        """True if levels were found and everything about them is proven."""
        return self.levels is not None and self.levels.certified


def contradictions(answers: Sequence[FoundBySolver]) -> list[str]:
    """Write a sentence for every bound above the value of a support that another answer has.

    Every support that one answer names lies in some level of the other, whose bound must not be
    above its value. As the bounds of a certified answer are within its tolerance of its values,
    certified values that are further apart than the tolerance are found by this too.
    """
    return [sentence for one, other in permutations(answers, 2) for sentence in _above(one, other)]


def _above(proving: FoundBySolver, naming: FoundBySolver) -> Iterator[str]:
    if naming.levels is None:
        return
    for support, value in zip(naming.levels.supports, naming.levels.values, strict=True):
        what, bound = "every support", proving.bound
        if proving.levels is not None:
            level = proving.levels.level_of(support)
            if level < len(proving.levels):
                what, bound = f"level {level}", float(proving.levels.bounds[level])
        if bound > value + RELATIVE * abs(value):
            yield (
                f"{proving.name} proves {what} to be at {bound:.12g} or above, and {naming.name} "
                f"has a support in it of value {value:.12g}"
            )
