"""Every number and every strategy that steers a search.

None is a matter of truth: with any of them a search proves the same, in more time or in less.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class Strategy(StrEnum):
    """Names of what makes a search shorter, each of which a search could do without.

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


@dataclass(frozen=True)
class Allowance:
    """Nodes, of every size, whose cost a strategy may exceed what it settles by."""

    first: int = 2
    """So many in any case,"""
    share: float = 0.02
    """and this share of those that it might have been tried at."""
    tries: float = 0.1
    """Share of these at which what settled nothing yet is tried, besides the first."""


@dataclass(frozen=True)
class Screening:
    """Sizes up to which blocks of G are formed for the sake of a bound."""

    small: int = 128
    """Up to so many live features that block is formed without looking at cheaper bounds first."""
    dense: int = 512
    """Up to so many live features the block H_TT of all of them is formed."""
    tops_columns: int = 1024
    """Most live features for which a block of G is formed, and dropped, only to bound its rows."""
    unknown: int = 512
    """Most live features for pairs in closed form, where nothing is known of the rows of G."""
    much: float = 0.7
    """Share of features: with no more than these left it is worth screening again."""


@dataclass(frozen=True)
class Expanding:
    """Bounds around expansion points, of one subproblem or of many children at once."""

    least_size: int = 3
    """Fewer additions are not worth an expansion point."""
    steps: int = 15
    """Points that are tried for one bound,"""
    steps_late: int = 40
    """and so many where no fewer than `least_size` features are added."""
    likely: int = 2
    """A point begins with so many times as many features as are added."""
    expected: int = 32
    """Columns of G, those of what gains most, that one pass over X computes if G is not held."""
    admitting: tuple[int, ...] = (0, 1, 3, 6)
    """Steps after which further features may become part of the point,"""
    promising: int = 4
    """so many more than are added;"""
    admitting_late: tuple[int, ...] = tuple(range(8, 40, 2))
    """later steps, where a point may still settle a bound,"""
    promising_late: int = 15
    """and so many more after these."""
    close: float = 0.02
    """Share of what the bound lacks: a point that is so close to the best is kept;"""
    close_if_open: float = 0.05
    """the same for a child that no point can settle,"""
    close_if_divided: float = 0.3
    """and for such a family of removed sets, which is divided."""


@dataclass(frozen=True)
class Spectrum:
    """Measures of convexity."""

    eigenvalues: int = 2000
    """Most columns for which the least eigenvalue is computed."""
    columns: int = 5000
    """Most columns for which all eigenvalues are computed."""
    parallel: float = 0.1
    """Limit t for more columns, in medians of the diagonal of G."""
    share: float = 0.005
    """A search that took this share of the multiplications of spectra is likely to take many more:
    that of easy ones is below 0.001, of those that nothing else proves 0.007 to 2.4."""
    shares: tuple[float, ...] = (0.03, 0.1, 0.3)
    """Limits t of the spectrum, in medians of the diagonal of G, from small to large."""
    exact_rows: int = 256
    """Up to so many rows of what is left of E are looked at for the sums of their entries."""
    row_tops: int = 32
    """So many of the largest entries of every row of E are known."""
    comparisons: Allowance = Allowance(first=4, tries=0.02)
    """Nodes at which all measures are tried, until one is ahead by two,"""
    ahead: Allowance = Allowance(tries=0.02)
    """and from then on."""


@dataclass(frozen=True)
class Near:
    """Near columns of G, and bounds by clusters of them."""

    columns: int = 5000
    """Most columns for which near ones are looked for."""
    heavy: int = 2**20
    """Features of all families of a subproblem; with more, they are looked for at once, and the
    search is long if each family adds more than one."""
    work: float = 1e5
    """Multiplications that finding them takes, for each column."""
    degree: int = 5
    """So many columns are near to one, on the average, at most."""
    least: float = 0.05
    """Columns with a smaller |G_jl|, scaled, are not near."""
    entries: int = 1000
    """Entries of G in sets of one size, for each column; more are not listed."""
    tops: int = 15
    """So many of the largest entries of a row that are not near are known."""
    looked_at: int = 16
    """Rows of features with most in common with the base, and of those that gain most."""
    open: int = 8
    """Families of a division by clusters that are always few enough to be looked at one by one."""
    fewer: int = 4
    """They are few, too, if a division by shares has so many times as many."""


@dataclass(frozen=True)
class Together:
    """Sizes of what is looked at together."""

    entries: int = 2**16
    """Entries of arrays that are formed at once."""
    siblings: int = 64
    """Most subproblems of one level that are formed at once, after the first."""
    supports: int = 4096
    """Supports that are evaluated at once where all are."""
    pairs: int = 2**18
    """Most pairs, for every first feature of a triple, that its shares may leave open.

    With more, the children are bounded around expansion points, and their pairs looked at by that.
    """


@dataclass(frozen=True)
class DualPoints:
    """Restricted problems of other losses than the squared one, and dual points of families."""

    bases: int = 32
    """Siblings that are solved at once; the threshold may fall between two such batches."""
    supports: int = 64
    """Supports that are evaluated between two looks at the threshold."""
    steps: int = 10
    """Points that are tried for one family."""
    precision: float = 1e-5
    """Relative duality gap that is aimed at."""


@dataclass(frozen=True)
class CutMasters:
    """Masters of cuts for a MIP solver, and the proof of what it claims."""

    columns: int = 64
    """Larger subproblems are divided first: a master of few columns has strong cuts."""
    enumerated: int = 500
    """So many supports are evaluated in less time than a master is solved, and bounded in less than
    one problem is."""
    patience: int = 30
    """Solutions of a master after which a proof within τ is accepted, or the master given up."""
    seconds: float = 5.0
    """A solver that needs more for one master, or never ends, has the subproblem taken from it."""
    proof_nodes: int = 100_000
    """Beginnings of choices that a proof may extend before the subproblem is divided instead."""
    units_per_tau: float = 100.0
    """The master's objective is scaled so that τ is this many units."""
    smallest_tau: float = 1e-3
    """Floor for τ in that scaling, in units of the sensitivity."""
    largest_range: float = 1e3
    """Units of the largest coefficient: beyond 1e4 absolute tolerances of GLPK lose solutions."""
    negligible: float = 1e-3
    """Units; smaller coefficients only make a master hard to solve, and lower its constant."""
    margin: float = 1e-2
    """Units above the target at which a master may stop; more than most tolerances take."""


@dataclass(frozen=True)
class Refining:
    """Cells of exact draws."""

    batch: int = 16
    """Cells that are tightened together."""
    expansions: int = 6
    """Most times that a bound is expanded anew, around the features that it expects itself."""
    gained: float = 0.05
    """A point that gains less, in logs, is the last."""
    ways: int = 3
    """Features by which a cell is divided at most."""
    doubt: float = 0.1
    """Share of the largest doubt: features with less do not divide."""
    expanded_columns: int = 64
    """Most features that the point of a bound is made of, by Schur complements,"""
    dual_columns: int = 32
    """and by dual points."""
    least_inclusion: float = 0.01
    """Features that are in less often are not part of a point."""
    crowded: int = 64
    """So many cells are bounded without row sums of G, where their features are many."""


@dataclass(frozen=True)
class Tuning:
    """All that steers a search."""

    few: int = 20_000
    """Evaluating so many columns of supports takes less time than bounding them;"""
    few_convex: int = 100
    """the same for supports of another loss than the squared."""
    few_columns: int = 2048
    """With no more columns all of G is computed at once; with more, as much as is needed."""
    swaps: int = 200
    """Most swaps that improve the first incumbent."""
    allowance: Allowance = Allowance()
    patience: int = 200
    """Subproblems that are bounded by shares alone, before bounds around expansion points; after
    twice as many near columns are looked for, after five times as many what certifies is enough."""
    screening: Screening = Screening()
    expanding: Expanding = Expanding()
    spectrum: Spectrum = Spectrum()
    near: Near = Near()
    together: Together = Together()
    dual_points: DualPoints = DualPoints()
    masters: CutMasters = CutMasters()
    refining: Refining = Refining()
    without: frozenset[Strategy] = frozenset()
    """Strategies that are left out; `benchmarks/ablation.py` shows what that costs."""

    def uses(self, strategy: Strategy) -> bool:
        """Tell whether the search may use a strategy."""
        return strategy not in self.without


TUNING = Tuning()
"""The numbers of every search that says nothing else."""
