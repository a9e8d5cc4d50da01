"""Ways to a shorter search, each of which a search could do without."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Strategy(StrEnum):
    """Names of what makes a search shorter; without any of them it proves the same.

    `benchmarks/ablation.py` shows what each of them earns, and `tests/search/test_strategies.py`
    has a problem for each that becomes longer without it.

    Attributes
    ----------
    equations : tuple of int
        Statements of docs/mathematics/cuts.md that it rests on.
    """

    equations: tuple[int, ...]

    def __new__(cls, name: str, *equations: int) -> Self:
        """Make a member with the statements that it rests on."""
        member = str.__new__(cls, name)
        member._value_, member.equations = name, equations
        return member

    ENUMERATION = "enumeration"
    """Evaluate all supports where they are few."""
    SWAPS = "swaps"
    """Improve the first incumbent by the best swap until none helps: then level 1 is known."""
    COMPLETIONS = "completions"
    """Offer the greedy completion of every base that is not pruned at once."""
    MULTIPLIERS = "multipliers"
    """Take the multiplier ν of the greedy completion for the bounds of a base."""
    TARGETS = "targets"
    """Look for no exact value, in a long search, where a bound certifies."""
    SCREENING = "screening", 5
    """Drop features whose best completion cannot matter."""
    ROOT_CUTS = "root cuts", 3
    """Order removed sets by a cut at the incumbent, and end whole levels by it."""
    REMOVED_FAMILIES = "removed families", 12
    """Bound families of removed sets at once."""
    DOMINANCE = "dominance", 4
    """Bound H from below by a diagonal that it dominates, in place of λ + ν."""
    ROW_TOPS = "row tops", 7
    """Bound sums of entries of H by the largest entries of the rows of G."""
    EXPANSION = "expansion points", 9
    """Bound the gain of a subproblem around coefficients."""
    CHILDREN = "children's bounds", 11
    """Bound many children of a subproblem around expansion points at once."""
    FEWER_FAMILIES = "shares beside points", 7, 9
    """Divide by shares where they leave fewer families open than an expansion point does."""
    LEAST_EIGENVALUES = "least eigenvalues", 10
    """Take the smallest eigenvalue of G for its convexity."""
    BLOCK_CURVATURE = "block curvature", 10
    """Take the smallest eigenvalue of scaled blocks, for features of several columns."""
    SPECTRA = "spectra", 10
    """Take the spectrum of G, cut off at several limits, for its convexity."""
    CLUSTERS = "clusters", 17
    """Divide by what clusters of near columns gain together."""
    PAIRS = "pairs in closed form", 7
    """Decide pairs of additions by their gains."""
    TRIPLES = "triples in closed form", 7
    """Decide triples of additions by the gains of pairs after their first feature."""
    DUAL_POINTS = "dual points of families", 16
    """Bound the completions of a base by the best dual point of all of them."""
    ONE_MORE = "one-more steps", 15
    """Step from the optimum on a base towards those with one more feature."""
    CELL_EXPANSION = "expansion points of cells", 9, 16
    """Expand the bounds of a cell around the features that it expects."""
