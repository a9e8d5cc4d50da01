"""The search for the squared loss: an incumbent, its root cut, and the levels around it.

Cuts at the incumbent for whole levels say what leaving costs and entering gains. What they leave
open is a list of removed sets, the cheapest first. A level that turns out to be long is divided
into families of supports instead: who of the incumbent stays, who leaves, who may. One bound prunes
all supports of a family, where a list would have to look at each removed set: of s = 15 features
there are 6,435 sets of 8 that leave.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.cuts import Budget, ModularBound
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.expansion import on_capped_simplices
from mipselect.search.least_squares import shares
from mipselect.search.least_squares.branch_and_bound import bounded, divide, likely_additions
from mipselect.search.least_squares.curvature import UniformCurvature
from mipselect.search.least_squares.cuts import sparse_diagonal_cut
from mipselect.search.least_squares.expansion import ExpandedBound, best_expanded
from mipselect.search.least_squares.node import SquaredNode, squared_node, squared_nodes
from mipselect.search.least_squares.tree import GramMeasures, SquaredTree, is_crowded
from mipselect.search.progress import TRY, Deadline, Run
from mipselect.search.tree import Engine, Node, TreeMethod, removed_sets
from mipselect.search.tuning import TUNING, Strategy, Tuning


def forward_selection(problem: PreparedSquared, size: int) -> IntArray:
    """Add the feature that gains most, `size` times; sorted indices, shape (s,)."""
    none, everything = np.empty(0, dtype=np.intp), np.arange(problem.features.count)
    whole = squared_node(problem, none, size, everything, 0.0, None)
    promising = np.argsort(-whole.gains_alone(), kind="stable")[: whole.tuning.expanding.expected]
    problem.gram.expect(whole.columns[whole.places(promising)])
    return whole.greedy_completion()


def best_by_swaps(
    problem: PreparedSquared, size: int, run: Run, tuning: Tuning = TUNING
) -> tuple[IntArray, float, FloatArray | None]:
    """Find a support that no single swap improves, after many swaps any, and its value.

    Any support would do as the incumbent of the search; a better one makes it faster. All of G is
    held from now on where columns are few.

    Last is R with a feature of the support replaced by one that is not in it, both in rising order,
    shape (s, p-s); None where that has not been evaluated, or one of them is no number.
    """
    few = problem.features.size <= tuning.few_columns
    if problem.gram.fits and (few or not problem.features.singles):
        problem.gram.full()
    support = forward_selection(problem, size)
    value = float(problem.values(support[None])[0])
    if not tuning.uses(Strategy.SWAPS) or size == problem.features.count:
        return support, value, None
    with run.accounts.trying(Strategy.SWAPS) as account:
        for _ in range(tuning.swaps):
            outside = np.setdiff1d(np.arange(problem.features.count), support)
            swapped = np.empty((size, len(outside)))
            for place in range(size):
                run.tick()
                swapped[place] = problem.values_of_additions(np.delete(support, place), outside)
            k, j = np.unravel_index(np.argmin(np.nan_to_num(swapped, nan=np.inf)), swapped.shape)
            if not swapped[k, j] < value:
                known = np.isfinite(swapped).all()
                return support, value, swapped if known else None
            value, account.successes = float(swapped[k, j]), 1
            support = np.sort(np.append(np.delete(support, k), outside[j]))
    return support, value, None


def offer_swapped(support: IntArray, swapped: FloatArray, collector: Collector) -> None:
    """Offer all supports that differ from this one by one feature, by their values, (s, p-s)."""
    outside = np.setdiff1d(np.arange(len(support) + swapped.shape[1]), support)
    for k, values in enumerate(swapped):
        kept = np.tile(np.delete(support, k), (len(outside), 1))
        collector.offer(np.sort(np.column_stack([kept, outside]), axis=1), values)


@dataclass(eq=False)
class Center:
    """A support Ŝ around which all others are sorted by their distance, level after level.

    Attributes
    ----------
    problem : PreparedSquared
    engine : Engine
        Settles nodes that suit it.
    measures : GramMeasures
    support : ndarray of int, shape (s,)
        Sorted.
    value : float
        R(Ŝ).
    coef : ndarray of shape (c,)
        Coefficients of the columns of Ŝ.
    multiplier : float
        ν.
    whole : SquaredNode
        All supports of its size, with the ν of Ŝ.
    candidates : ndarray of int, shape (p-s,)
        The features outside Ŝ.
    swapped : ndarray of shape (s, p-s) or None
        See `best_by_swaps`.
    row_tops : ndarray of shape (p, c) or None
        See `Gram.row_tops`, among the candidates; None as long as the search can do without.
    """

    problem: PreparedSquared
    engine: Engine[SquaredNode]
    measures: GramMeasures
    support: IntArray
    value: float
    coef: FloatArray
    multiplier: float
    whole: SquaredNode
    candidates: IntArray
    swapped: FloatArray | None
    row_tops: FloatArray | None = None
    _cuts: dict[tuple[int, bool], ModularBound] = field(default_factory=dict, init=False)

    @property
    def tuning(self) -> Tuning:
        """The numbers of the search."""
        return self.whole.tuning

    @property
    def ridge(self) -> float:
        """λ + ν."""
        return self.problem.ridge + self.multiplier

    def node(self, base: IntArray, size: int, candidates: IntArray) -> SquaredNode:
        """Return the node of `size` candidates added to a base, with the ν of Ŝ."""
        given = self.problem, base, size, candidates, self.multiplier
        return squared_node(*given, self.row_tops, self.tuning)

    def nodes(self, bases: IntArray, size: int) -> list[SquaredNode]:
        """Return the nodes of `size` candidates added to bases, shape (m, k), with the ν of Ŝ."""
        given = self.problem, bases, size, self.candidates, self.multiplier
        return squared_nodes(*given, self.row_tops, self.tuning)

    @cached_property
    def across(self) -> FloatArray:
        """H between all features and those of Ŝ, of one column each; shape (p, s)."""
        columns = self.problem.gram.columns(self.support)[: self.problem.features.count]
        whitened = self.whole.whitened
        return np.asarray(columns - whitened.T @ whitened[:, self.support])

    @property
    def lean(self) -> bool:
        """True if little is known of G among the candidates, because it takes time to compute."""
        return self.problem.features.singles and self.row_tops is None

    @property
    def floor(self) -> float:
        """R(Ŝ), less what is lost where columns that are always in are eliminated first."""
        if self.problem.features.plain:
            return self.value
        return self.value - self.whole.slack / (2.0 * self.problem.n)

    def find_tops(self, tick: Callable[[], None]) -> None:
        """Look at all of G once, for the sums of the largest entries of its rows."""
        most = max(1, min(len(self.support), len(self.candidates)))
        self.row_tops = self.problem.gram.row_tops(self.candidates, most, tick)

    def level_bound(self, level: int) -> float:
        """Bound R from below on a whole level, by its root cut if no values are known."""
        if level == 1 and self.swapped is not None:
            return max(0.0, float(self.swapped.min()))
        return level_bound(self, self._cut(level), level)

    def search_level(self, level: int, collector: Collector, run: Run) -> None:
        """Offer every support of a level below the cutoff; settle a bound for the rest.

        Where it is stopped, it settles what is proven of all that is open.
        """
        if level == 1 and self.swapped is not None:
            offer_swapped(self.support, self.swapped, collector)
            return
        tree = SquaredTree(collector, self.engine, run, self.tuning, self.measures)
        with tree.settled():
            with run.accounts.trying(Strategy.ROOT_CUTS) as account:
                cut = self._cut(level)
                account.successes += level_bound(self, cut, level) >= tree.cutoff
            search_level(self, level, cut, tree)

    def _cut(self, level: int) -> ModularBound:
        """Make the cut of a level once, and once more when more is known of G."""
        lean = self.lean and level > 1
        if (level, lean) not in self._cuts:
            self._cuts[level, lean] = (
                lean_cut(self, self._cut(1), level) if lean else root_cut(self, level)
            )
        return self._cuts[level, lean]


def changes(center: Center, level: int) -> list[Budget]:
    """Make budgets for a level: so many features of Ŝ leave, and as many candidates enter."""
    s, p = len(center.support), len(center.support) + len(center.candidates)
    return [Budget(np.arange(s), level), Budget(np.arange(s, p), level)]


def bound_on_changes(
    center: Center, value: float, costs: FloatArray, gains: FloatArray
) -> ModularBound:
    """Bound -R(S) by the features that leave Ŝ and those that enter, whose terms come after them.

    2n·R(S) ≥ 2n·value + Σ_{j∈Ŝ\\S} costs_j - Σ_{j∈S\\Ŝ} gains_j
    """
    costs = np.where(np.isfinite(costs), costs, np.nan)
    return ModularBound(-value, np.concatenate([-costs, gains]) / (2.0 * center.problem.n))


def root_cut(center: Center, level: int) -> ModularBound:
    """Compute the sparse-diagonal cut at Ŝ, with M for the worst supports at this distance.

    See docs/mathematics/cuts.md, (3).
    """
    whole, support, candidates = center.whole, center.support, center.candidates
    features, ridge = center.problem.features, center.ridge
    if not center.tuning.uses(Strategy.ROOT_CUTS):
        return bound_on_changes(center, -np.inf, np.zeros(len(support)), np.zeros(len(candidates)))
    if whole.ridge > ridge and not features.plain:
        # G is singular as it is rounded: nothing can be said of what is left of it.
        nothing = np.zeros(len(support)), np.full(len(candidates), np.inf)
        return bound_on_changes(center, center.floor, *nothing)
    if not features.singles:
        return _root_cut_by_blocks(center, level)
    H = center.across
    w = whole.g[candidates] - H[candidates] @ center.coef
    if center.lean:
        promising = np.argsort(-(w**2) / whole.h[candidates], kind="stable")
        center.problem.gram.expect(candidates[promising[: center.tuning.expanding.expected]])
    inner = np.abs(H[support]).sum(axis=1) - np.abs(np.diagonal(H[support]))
    across = np.abs(H[candidates])
    outside = replace(whole.restricted(candidates), row_tops=center.row_tops)
    among = shares.cheap_off_sums(outside, level - 1) if level > 1 else np.zeros(len(candidates))
    off_sums = np.concatenate(
        [inner + shares.largest_sums(across.T.copy(), level), across.sum(axis=1) + among]
    )
    diagonal = whole.h[np.concatenate([support, candidates])] - (whole.ridge - ridge)
    M = shares.dominated_diagonal(diagonal, off_sums, ridge)
    costs, gains = M[: len(support)] * center.coef**2, w**2 / M[len(support) :]
    return bound_on_changes(center, center.floor, costs, gains)


def _root_cut_by_blocks(center: Center, level: int) -> ModularBound:
    """Compute the root cut for features of several columns, by all of H."""
    cut = sparse_diagonal_cut(replace(center.whole, size=level), center.support)
    terms = 2.0 * center.problem.n * cut.terms
    value = -float(cut.at(center.support))
    return bound_on_changes(center, value, terms[center.support], terms[center.candidates])


def likely_changes(center: Center, level: int, gains: FloatArray) -> FloatArray:
    """Return the weights of a point for a level, shape (p,), from which its bound may be improved.

    All features of Ŝ are as likely to stay, and as likely to enter the candidates that have the
    largest `gains`, shape (c,).
    """
    support, most = center.support, center.tuning.expanding.likely * level
    entering = center.candidates[np.argsort(-gains, kind="stable")[:most]]
    weights = np.zeros(len(center.whole.live))
    weights[support], weights[entering] = 1.0 - level / len(support), level / len(entering)
    return weights


def lean_cut(center: Center, cut: ModularBound, level: int) -> ModularBound:
    """Compute the cut of the best expansion point for a level, from a few columns of G.

    With two budgets, s - i features of Ŝ and i others, the bound on the gain is one on R whose
    terms are what leaving costs and entering gains (docs/mathematics/cuts.md, (12)). The ridge is
    all that is used of how convex the loss is. The point begins at the terms of `cut`.
    """
    whole, support, candidates = center.whole, center.support, center.candidates
    start = likely_changes(center, level, cut.terms[len(support) :])
    budgets = [Budget(support, len(support) - level), Budget(candidates, level)]
    convexity, needed = UniformCurvature(0.0).at(whole), whole.needed_gain(center.value)
    bound = best_expanded(whole, convexity, budgets, start, needed, center.tuning.expanding.close)
    costs, gains = bound.terms[support], bound.terms[candidates]
    value = whole.lower_bound(bound.constant + float(costs.sum()))
    return bound_on_changes(center, value, costs, gains)


def level_bound(center: Center, cut: ModularBound, level: int) -> float:
    """Bound R from below on a whole level by its cut, at the cost of a sort; R ≥ 0."""
    return max(0.0, -cut.largest(changes(center, level)))


def search_level(center: Center, level: int, cut: ModularBound, tree: SquaredTree) -> None:
    """Offer every support of the level below the cutoff; settle a bound for the rest.

    A level that turns out to be long is begun again, with families of removed sets; so is one
    that cannot do without the largest entries of G, when these are known.
    """
    proven, persistent = level_bound(center, cut, level), tree.is_long
    if proven >= tree.cutoff:
        tree.collector.settle(proven)
        return
    nodes = listed_nodes(center, cut, level, tree)
    if persistent and center.tuning.uses(Strategy.REMOVED_FAMILIES):
        nodes = open_nodes(center, level, proven, tree)
    for proven, waiting, node in nodes:
        tree.run.bound, tree.run.incumbent = proven, tree.collector.threshold
        with tree.within(proven, waiting):
            left = None if tree.is_long and not persistent else begun(node, tree)
            if left is not None and not (persistent or is_crowded(left)):
                tree.weigh(left)
            if tree.is_long and not persistent:
                search_level(center, level, cut, tree)
                return
            if left is not None and center.lean and is_crowded(left):
                center.find_tops(tree.run.tick)
                cuts = cut, root_cut(center, level)
                better = max(cuts, key=lambda known: level_bound(center, known, level))
                search_level(center, level, better, tree)
                return
            divide(left, tree)
        tree.run.done += 1


def listed_nodes(
    center: Center, cut: ModularBound, level: int, tree: SquaredTree
) -> Iterator[tuple[float, float, SquaredNode]]:
    """Yield the node of every removed set that is not pruned at once, with two bounds.

    One is on its own supports, one on what follows. They come in the order of what leaving costs;
    the others are settled. The first has good supports, which prune most of the others, so that
    these are made and bounded many at once.
    """
    leaving, entering = changes(center, level)
    best = cut.largest([entering])
    every = removed_sets(-cut.terms[leaving.positions], level)
    limits, count = center.tuning.together, 1
    singles = center.problem.features.singles
    most = max(1, limits.entries // len(center.candidates)) if singles else 1
    while some := list(itertools.islice(every, count)):
        with tree.within(some[0][0] - best):
            nodes = center.nodes(np.stack([np.delete(center.support, at) for _, at in some]), level)
        gains = shares.largest_gains(nodes) if len(nodes) > 1 else np.full(1, np.inf)
        for (cost, _), node, gain in zip(some, nodes, gains, strict=True):
            proven, cutoff = max(0.0, cost - best), tree.cutoff
            with tree.within(proven):
                tree.run.tick()
                if proven >= cutoff:
                    tree.collector.settle(proven)
                    return
                pruned = gain <= node.needed_gain(cutoff) and center.tuning.uses(Strategy.SCREENING)
                if pruned:
                    with tree.run.accounts.trying(Strategy.SCREENING) as account:
                        account.successes += 1
                        tree.visit()
                    tree.collector.settle(cutoff)
                    tree.run.done += 1
            if not pruned:
                yield proven, proven, node
        count = min(most, limits.siblings)


def begun(node: SquaredNode, tree: SquaredTree) -> SquaredNode | None:
    """Bound a node before its completion is offered, once there is a cutoff: few are left."""
    left = bounded(node, tree) if tree.cutoff < math.inf else node
    if left is None or len(left.live) < left.size:
        return None
    more = completed(left, tree)
    if more.bound is None:
        return bounded(more, tree)
    cutoff = tree.cutoff
    tree.collector.settle(cutoff)
    return more.restricted(more.bound.screened(more.size, more.needed_gain(cutoff)))


def completed(node: SquaredNode, tree: SquaredTree) -> SquaredNode:
    """Offer the greedy completion of a node, for a cutoff; the node with the completion's ν.

    That makes bounds tight where the norm constraint is active.
    """
    tuning = node.tuning
    if not (tuning.uses(Strategy.COMPLETIONS) or tuning.uses(Strategy.MULTIPLIERS)):
        return node
    with tree.run.accounts.trying(Strategy.COMPLETIONS, node.size) as account:
        tree.run.accounts.work += (
            node.size * TRY + (node.size + len(node.whitened)) * node.whitened.size
        )
        support = np.sort(np.append(node.base, node.live[node.greedy_completion()]))
        fit = node.problem.fit(support)
        if tuning.uses(Strategy.COMPLETIONS):
            account.successes += fit.value < tree.collector.threshold
            tree.collector.offer(support[None], np.array([fit.value]))
    if not (fit.multiplier > 0.0 and tuning.uses(Strategy.MULTIPLIERS)):
        return node
    return squared_node(
        node.problem, node.base, node.size, node.live, fit.multiplier, node.row_tops, tuning
    )


@dataclass(frozen=True, eq=False)
class LevelFamily(Node):
    """All kept sets `base` and `size` of the features `live` of Ŝ; any candidates enter.

    Attributes
    ----------
    weights : ndarray of shape (p,)
        From which the point of its bound starts, by feature; any will do.
    proven : float
        A bound on R.
    """

    weights: FloatArray
    proven: float = -math.inf


def whole_level(center: Center, level: int, proven: float) -> LevelFamily:
    """Make the family of all kept sets of a level; its point starts at what gains most alone."""
    support = center.support
    weights = likely_changes(center, level, center.whole.gains_alone()[center.candidates])
    return LevelFamily(np.empty(0, dtype=np.intp), len(support) - level, support, weights, proven)


def open_nodes(
    center: Center, level: int, proven: float, tree: SquaredTree
) -> Iterator[tuple[float, float, SquaredNode]]:
    """Yield the node of every removed set that no bound on its family prunes, with two bounds.

    One is on its own supports, one on what follows, and both are at least `proven`. A family is
    divided by a feature of the incumbent that leaves or stays. That in which the costliest feature
    stays comes first, for good supports are there. Where bounds do not pay it is divided without
    one, and the nodes are not bounded yet.
    """
    families = [whole_level(center, level, proven)]
    while families:
        family = families.pop()
        waiting = min((other.proven for other in families), default=math.inf)
        if family.number <= 1:
            if family.number:
                base = np.sort(np.append(family.base, family.live[: family.size]))
                node = center.node(base, level, center.candidates)
                yield family.proven, waiting, node
            continue
        if tree.worth(Strategy.REMOVED_FAMILIES, level, family.number):
            with (
                tree.within(family.proven, waiting),
                tree.run.accounts.trying(Strategy.REMOVED_FAMILIES, level) as account,
            ):
                tree.visit()
                left = open_family(center, family, level, tree)
                account.successes += left is None
                account.settled += family.number if left is None else 0
            if left is None:
                tree.run.done += family.number
                continue
            family = left
        others = np.arange(1, len(family.live))
        families += [family.restricted(others), family.with_feature(0, others)]


def open_family(
    center: Center, family: LevelFamily, level: int, tree: SquaredTree
) -> LevelFamily | None:
    """Bound a family: None if that prunes it, else with its costliest feature first."""
    cutoff = tree.cutoff
    node, budgets = node_of(center, family, level)
    bound = bounded_family(node, family, budgets, cutoff, tree)
    gain = bound.largest(budgets)
    if gain <= node.needed_gain(cutoff):
        tree.collector.settle(cutoff)
        return None
    weights = np.zeros(len(family.weights))
    weights[node.live] = bound.weights
    order = np.argsort(-bound.terms[: len(family.live)], kind="stable")
    proven = max(family.proven, node.lower_bound(gain))
    return replace(family, live=family.live[order], weights=weights, proven=proven)


def node_of(center: Center, family: LevelFamily, level: int) -> tuple[SquaredNode, list[Budget]]:
    """Make the node of a family, with budgets of what may stay and of candidates."""
    free = np.concatenate([family.live, center.candidates])
    staying, entering = np.split(np.arange(len(free)), [len(family.live)])
    node = center.node(np.sort(family.base), family.size + level, free)
    return node, [Budget(staying, family.size), Budget(entering, level)]


def bounded_family(
    node: SquaredNode, family: LevelFamily, budgets: list[Budget], cutoff: float, tree: SquaredTree
) -> ExpandedBound:
    """Bound a family, from the point of the family before; docs/mathematics/cuts.md, (12)."""
    start = np.zeros(len(node.live))
    for budget in budgets:
        likely = family.weights[None, node.live[budget.positions]]
        weights = on_capped_simplices(np.where(likely > 0.0, likely, -np.inf), budget.count)
        start[budget.positions] = weights[0]
    close = node.tuning.expanding.close_if_divided
    return tree.expanded(node, budgets, start, node.needed_gain(cutoff), close)


class LeastSquaresMethod(TreeMethod[PreparedSquared, SquaredNode]):
    """Search by Schur complements."""

    def center(self, size: int, run: Run) -> Center:
        """Find a support that no swap improves, with its cut."""
        support, value, swapped = best_by_swaps(self.problem, size, run, self.tuning)
        return self.center_at(support, value, run, swapped)

    def center_at(
        self, support: IntArray, value: float, run: Run, swapped: FloatArray | None = None
    ) -> Center:
        """Solve the restricted problem at a support of known value, and gather what cuts need."""
        problem, tuning, none = self.problem, self.tuning, np.empty(0, dtype=np.intp)
        fit, everything = problem.fit(support), np.arange(problem.features.count)
        whole = squared_node(problem, none, len(support), everything, fit.multiplier, None, tuning)
        candidates = np.setdiff1d(everything, support)
        found = support, value, fit.coef, fit.multiplier, whole, candidates, swapped
        center = Center(problem, self.engine, self.measures, *found)
        if problem.gram.held and problem.features.singles:
            center.find_tops(run.tick)
        return center

    def relaxation(self, size: int, grace: Deadline) -> float:
        """Bound R from below on all supports around the best points; see `Method`."""
        problem, tuning, best = self.problem, self.tuning, 0.0
        none, everything = np.empty(0, dtype=np.intp), np.arange(problem.features.count)
        whole = squared_node(problem, none, size, everything, 0.0, None, tuning)
        found = problem.fit(np.sort(whole.greedy_completion()))
        if found.multiplier > 0.0:
            whole = squared_node(problem, none, size, everything, found.multiplier, None, tuning)
        budget = Budget(everything, size)
        start, needed = likely_additions(whole), whole.needed_gain(found.value)
        for curvature in self.measures.ready_curvatures():
            given = whole, curvature.at(whole), [budget], start, needed
            bound = best_expanded(*given, tuning.expanding.close)
            best = max(best, whole.lower_bound(bound.largest([budget])))
            if grace.remaining <= 0.0:
                break
        return best

    @cached_property
    def measures(self) -> GramMeasures:
        """Measures of G, shared by all neighbourhoods."""
        return GramMeasures(self.problem, self.tuning)
