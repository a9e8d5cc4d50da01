"""Contradictions between answers of different solvers to the same question. Sensitive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from mipselect.search import MistakeLevels

RELATIVE = 1e-9
"""Largest effect of rounding, relative to a value."""


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
