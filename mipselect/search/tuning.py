"""Every number that steers a search.

None is a matter of truth: with any of them a search proves the same, in more time or in less.
"""

from __future__ import annotations

from dataclasses import dataclass

from mipselect.search.strategies import Strategy

ANY = 10**9
"""More than there is of anything that is counted."""


@dataclass(frozen=True)
class Patience:
    """Numbers of subproblems after which a search turns to other means.

    Attributes
    ----------
    cheap : int
        So many are bounded by shares alone, before bounds around expansion points.
    convex : int
        So many are bounded by the optimum on their base alone, where the loss is not the squared.
    near : int
        After so many near columns are looked for.
    long : int
        After so many what certifies is enough, and no exact value is looked for.
    """

    cheap: int = 200
    convex: int = 20
    near: int = 400
    long: int = 1000


@dataclass(frozen=True)
class Trials:
    """Rules for trying what may not pay.

    Attributes
    ----------
    first : int
        Tries, for every size of subproblems, before it is asked whether they paid.
    share : float
        What they must have paid: tries, or features that are dropped.
    again : int
        What did not pay is tried once in so many times.
    """

    first: int
    share: float
    again: int


@dataclass(frozen=True)
class Families:
    """Bounds on families of removed sets, which must have settled one set on the average.

    Attributes
    ----------
    listed : int
        Number of sets up to which each is looked at.
    least, share : int, float
        Bounds that need not have paid: so many, or such a share of the sets of the level.
    """

    listed: int = 2
    least: int = 16
    share: float = 0.25


@dataclass(frozen=True)
class Screening:
    """Sizes up to which blocks of G are formed for the sake of a bound.

    Attributes
    ----------
    small : int
        Up to so many live features that block is formed without looking at cheaper bounds first.
    dense : int
        Up to so many live features the block H_TT of all of them is formed.
    tops_columns : int
        Most live features for which a block of G is formed, and dropped, only to bound its rows.
    much : float
        Features that are left, as a share: with no more than these it is worth screening again.
    """

    small: int = 128
    dense: int = 512
    tops_columns: int = 1024
    much: float = 0.7


@dataclass(frozen=True)
class Expanding:
    """Bounds around expansion points, of one subproblem or of many children at once.

    Attributes
    ----------
    least_size : int
        Fewer additions are not worth an expansion point,
    spare : int
        nor are subproblems with fewer live features beyond those that are added.
    steps : int
        Points that are tried for one bound.
    members : int
        Most features that a point is made of.
    likely : int
        A point begins with so many times as many features as are added.
    expected : int
        Where G is not held, so many of its columns are computed in one pass over X: those of the
        features that gain most beside the incumbent.
    admitting : tuple of int
        Steps after which further features may become part of the point,
    promising : int
        so many more than are added.
    close, close_if_open, close_if_divided : float
        Shares of what the bound lacks: a point that is so close to the best is kept. The
        second is for a child that no point can settle, the third for such a family of removed
        sets, which is divided.
    trials : Trials
        Trials of all measures of convexity, before the best is kept; their share is not used.
    fewer : Trials
        Trials of shares beside a point: they leave fewer families open.
    """

    least_size: int = 3
    spare: int = 3
    steps: int = 15
    members: int = 192
    likely: int = 2
    expected: int = 32
    admitting: tuple[int, ...] = (0, 1, 3, 6)
    promising: int = 4
    close: float = 0.02
    close_if_open: float = 0.05
    close_if_divided: float = 0.3
    trials: Trials = Trials(first=3, share=0.0, again=50)
    fewer: Trials = Trials(first=8, share=0.05, again=16)


@dataclass(frozen=True)
class Spectrum:
    """Measures of convexity.

    Attributes
    ----------
    eigenvalues : int
        Most columns, or rows if these are fewer, for which eigenvalues are computed.
    inverse_columns : int
        Most columns for which G + tI is inverted, or E is formed.
    shares : tuple of float
        Limits t of the spectrum, in medians of the diagonal of G, from small to large.
    mostly : float
        Share of what E could be, from which on a larger limit is worth another inverse.
    exact_rows : int
        Up to so many rows of what is left of E are looked at for the sums of their entries.
    row_tops : int
        So many of the largest entries of every row of E are known.
    """

    eigenvalues: int = 2000
    inverse_columns: int = 5000
    shares: tuple[float, ...] = (0.03, 0.1, 0.3)
    mostly: float = 0.75
    exact_rows: int = 256
    row_tops: int = 32


@dataclass(frozen=True)
class Near:
    """Near columns of G, and bounds by clusters of them.

    Attributes
    ----------
    columns : int
        Most columns for which near ones are looked for.
    heavy : int
        Features of all families of a subproblem; with more, they are looked for at once.
    degree : int
        So many columns are near to one, on the average, at most.
    least : float
        Columns with a smaller |G_jl|, scaled, are not near.
    entries : int
        Entries of G in sets of one size, for each column; more are not listed.
    tops : int
        So many of the largest entries of a row that are not near are known.
    looked_at : int
        So many rows of features that have most in common with the base, and of those that gain
        most.
    open : int
        Families of a division by clusters that are always few enough to be looked at one by one.
    fewer : int
        They are few, too, if a division by shares has so many times as many.
    steps : int
        So many features are taken or left, one after another, where clusters are too many.
    apart : float
        That is worth it if one gains so many times what those beyond the best m gain, m added.
        On gene expression the best is 1.1 to 1.5 of that, and steps double the time; where true
        features stand out it is 2.3 or more, and they save nine nodes in ten.
    trials : Trials
        Trials of divisions by clusters.
    """

    columns: int = 5000
    heavy: int = 2**20
    degree: int = 5
    least: float = 0.05
    entries: int = 1000
    tops: int = 15
    looked_at: int = 16
    open: int = 8
    fewer: int = 4
    steps: int = 8
    apart: float = 2.0
    trials: Trials = Trials(first=4, share=0.25, again=50)


@dataclass(frozen=True)
class Together:
    """Sizes of what is looked at together.

    Attributes
    ----------
    entries : int
        Entries of arrays that are formed at once.
    children : int
        Most children that are bounded at once: what they find may settle others.
    supports : int
        Supports that are evaluated at once where all are.
    """

    entries: int = 2**16
    children: int = 64
    supports: int = 4096


@dataclass(frozen=True)
class InClosedForm:
    """Subproblems of two or three additions that are settled by the gains of all of them.

    Attributes
    ----------
    pairs, triples : int
        Most live features.
    unknown : int
        The same where nothing is known of the rows of G.
    worth : int
        Most pairs, for every first feature of a triple, that its shares may leave open. With more,
        the children are bounded around expansion points, and their pairs looked at by that.
    """

    pairs: int = ANY
    triples: int = ANY
    unknown: int = 512
    worth: int = 2**18


@dataclass(frozen=True)
class DualPoints:
    """Restricted problems of other losses than the squared one, and dual points of families.

    Attributes
    ----------
    bases : int
        Bases whose subproblems are siblings, solved at once; the threshold may fall between two
        such batches.
    supports : int
        Supports that are evaluated between two looks at the threshold.
    stepped : int
        Fewer last features are solved in less time than it takes to bound them by a step.
    many : int
        FenchelNode: fewer take less time than a dual point of their own.
    trials, trials_of_pairs : Trials
        Trials of such points; they must drop these shares of the features.
    steps : int
        Points that are tried for one family.
    hopeless : int
        Steps that are taken towards a bound that no point reaches, to bound more of the features.
    likely : int
        A point begins with so many times as many features as are added.
    admitted : int
        Features that it may be made of, in those that are added.
    promising : int
        Features that it may be made of after every step, beyond those that are added.
    precision : float
        Relative duality gap that is aimed at.
    """

    bases: int = 32
    supports: int = 64
    stepped: int = 4
    many: int = 300
    trials: Trials = Trials(first=3, share=0.1, again=20)
    trials_of_pairs: Trials = Trials(first=3, share=0.5, again=20)
    steps: int = 10
    hopeless: int = 4
    likely: int = 2
    admitted: int = 6
    promising: int = 4
    precision: float = 1e-5


@dataclass(frozen=True)
class CutMasters:
    """Masters of cuts for a MIP solver, and the proof of what it claims.

    Attributes
    ----------
    columns : int
        Larger subproblems are divided first: a master of few columns has strong cuts.
    enumerated : int
        Evaluating so many supports takes less time than one solve of a master.
    patience : int
        Solutions of one master after which a proof within τ is accepted, or the master given up.
    tree_patience : int
        A single tree visits choices that are no optima of a master: so many times more are
        allowed.
    seconds : float
        A solver that needs more for one master, or never ends, has the subproblem taken from it;
        a single tree has `tree_patience` times as many.
    proof_nodes : int
        Beginnings of choices that a proof may extend before the subproblem is divided instead.
    between_rows : int
        Beginnings that are extended before another row is worth its linear program.
    entries : int
        Numbers that a proof forms at once.
    units_per_tau : float
        The master's objective is scaled so that τ is this many units.
    smallest_tau : float
        Floor for τ in that scaling, in units of the sensitivity.
    largest_range : float
        Units of the largest coefficient: solvers' tolerances are absolute, and beyond 1e4 GLPK's
        lose solutions.
    negligible : float
        Units; smaller coefficients only make a master hard to solve, and lower its constant.
    margin : float
        Units above the target at which a master may stop; more than most solvers' tolerances take.
    """

    columns: int = 64
    enumerated: int = 500
    patience: int = 30
    tree_patience: int = 10
    seconds: float = 5.0
    proof_nodes: int = 100_000
    between_rows: int = 300
    entries: int = 2**18
    units_per_tau: float = 100.0
    smallest_tau: float = 1e-3
    largest_range: float = 1e3
    negligible: float = 1e-3
    margin: float = 1e-2


@dataclass(frozen=True)
class Refining:
    """Cells of exact draws.

    Attributes
    ----------
    batch : int
        Cells that are tightened together.
    expansions : int
        Most times that a bound is expanded anew, around the features that it expects itself.
    close : float
        A total that is known this well, in logs, is not bounded any better.
    gained : float
        A point that gains less, in logs, is the last.
    ways : int
        Features by which a cell is divided at most.
    doubt : float
        Share of the largest doubt: features with less do not divide.
    expanded_columns, dual_columns : int
        Most features that the point of a bound is made of, by Schur complements or by dual points.
    least_inclusion : float
        Features that are in less often are not part of a point.
    pair_columns : int
        Most live features whose pairs are weighed one by one.
    crowded : int
        So many cells are bounded without row sums of G, where their features are many.
    """

    batch: int = 16
    expansions: int = 6
    close: float = 0.01
    gained: float = 0.05
    ways: int = 8
    doubt: float = 0.1
    expanded_columns: int = 64
    dual_columns: int = 32
    least_inclusion: float = 0.01
    pair_columns: int = 1500
    crowded: int = 64


@dataclass(frozen=True)
class WholeModels:
    """Models of the whole problem for a nonlinear solver.

    Attributes
    ----------
    units : float
        The objective of no features, in the units of the model.
    share_of_tau : float
        Solvers may stop when value and bound differ by this share of τ.
    """

    units: float = 1000.0
    share_of_tau: float = 0.1


@dataclass(frozen=True)
class Tuning:
    """All that steers a search.

    Attributes
    ----------
    few, few_convex : int
        Evaluating so many supports takes less time than bounding them: columns of the squared
        loss count, supports of any other.
    few_columns : int
        So few that all of G is computed at once. With more columns as much as the search needs.
    swaps : int
        Most swaps that improve the first incumbent.
    without : frozenset of Strategy
        Strategies that are left out; `benchmarks/ablation.py` shows what that costs.
    """

    few: int = 20_000
    few_convex: int = 100
    few_columns: int = 2048
    swaps: int = 200
    patience: Patience = Patience()
    families: Families = Families()
    screening: Screening = Screening()
    expanding: Expanding = Expanding()
    spectrum: Spectrum = Spectrum()
    near: Near = Near()
    together: Together = Together()
    closed_form: InClosedForm = InClosedForm()
    dual_points: DualPoints = DualPoints()
    masters: CutMasters = CutMasters()
    refining: Refining = Refining()
    whole_models: WholeModels = WholeModels()
    without: frozenset[Strategy] = frozenset()

    def uses(self, strategy: Strategy) -> bool:
        """Tell whether the search may use a strategy."""
        return strategy not in self.without


TUNING = Tuning()
"""The numbers of every search that says nothing else."""
