"""Comparison of what a search found with the [expected] section of an instance."""

from __future__ import annotations

from dataclasses import dataclass

from mipselect.problem.instance import Instance
from mipselect.problem.stored.files import Expected
from mipselect.search import MistakeLevels, SupportPool

RELATIVE = 1e-9


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
            return Comparison(
                agrees=False,
                exact=False,
                sentence=f"DIFFERS from [expected]: {len(found)} levels instead of "
                f"{len(wanted.level_values)}",
            )
        for level, value in enumerate(wanted.level_values):
            pairs.append((f"the value of level {level}", float(found.values[level]), value))
    slack = found.allowance
    exact = True
    for what, value, right in pairs:
        rounding = RELATIVE * abs(right)
        if not -rounding <= value - right <= slack + rounding:
            return Comparison(
                agrees=False,
                exact=False,
                sentence=f"DIFFERS from [expected]: {what} is {value!r} instead of {right!r}",
            )
        exact = exact and value - right <= rounding
    how = f"to {RELATIVE:g} relative" if exact else "within the tolerance"
    return Comparison(agrees=True, exact=exact, sentence=f"agrees with [expected] {how}")
