"""NaN and infinities, fed to every bound of the searches, prove nothing and leave nothing out."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from mipselect import Instance
from mipselect.backends.cuts import CutProof, ModularBound, least_value
from mipselect.restricted.fenchel import FenchelBounds
from mipselect.restricted.gram import KnownGram
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.convex import (
    ConvexNeighbourhood,
    FenchelNode,
    divide,
    fenchel_cut,
    last_bounds,
)
from mipselect.search.convex import screened as screened_completions
from mipselect.search.least_squares.branch_and_bound import (
    branch_and_bound,
)
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.curvature import (
    UniformCurvature,
    curvature_of,
    spectral_curvatures,
)
from mipselect.search.least_squares.cuts import sparse_diagonal_cut
from mipselect.search.least_squares.expansion import (
    ChildrenExpansion,
    best_expanded_children,
)
from mipselect.search.least_squares.method import (
    Center,
    LeastSquaresMethod,
    bound_on_changes,
    bounded_family,
    lean_cut,
    level_bound,
    node_of,
    whole_level,
)
from mipselect.search.least_squares.near_columns import LiveSets, near_columns
from mipselect.search.least_squares.node import SquaredNode, children_of, squared_node
from mipselect.search.progress import Run
from mipselect.search.soft.partition import Cell, LogWeight, Partition, parts_of, tight
from mipselect.search.soft.spaces import Bounds, squared_bounds
from mipselect.search.tree import Engine, Node, TreeSearch
from mipselect.search.tuning import TUNING, Strategy
from tests.support.scripted_solvers import Scripted, change_of, weak_levels
from tests.support.searches import supports_by, tree_of, tuned

BAD = [math.nan, math.inf, -math.inf]
WRONG = 2
"""The feature of which something is no number, among the live ones."""

pytestmark = [
    pytest.mark.parametrize("bad", BAD),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


class Offered:
    """A collector of which no support is good enough, and that keeps all it is offered."""

    threshold = target = 0.0

    def __init__(self) -> None:
        self.sets: set[tuple[int, ...]] = set()

    def offer(self, supports: np.ndarray, values: np.ndarray) -> None:
        self.sets |= set(map(tuple, supports.tolist()))

    def settle(self, bound: float) -> None:
        assert not math.isnan(bound)


def instance_of(loss: str = "squared") -> Instance:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (30, 10))
    X[:, 1:] += 0.6 * X[:, :-1]
    y = np.where(X[:, 0] + X[:, 4] > 0.0, 1.0, -1.0)
    bounds = {"x_bound": 2.0, "y_bound": 1.0, "coef_bound": 5.0, "ridge": 1.0}
    return Instance(X, y, support_size=4, loss=loss, **bounds)


def problem_of() -> PreparedSquared:
    problem = instance_of().prepared
    return problem


def subproblem(size: int = 3) -> SquaredNode:
    """One feature is in the base; of ten features nine are live."""
    problem, base = problem_of(), np.array([0])
    tops = problem.gram.row_tops(np.arange(1, 10), 4, lambda: None)
    return squared_node(problem, base, size, np.arange(1, 10), 0.0, tops)


def spoilt(sub: SquaredNode, field: str, bad: float) -> SquaredNode:
    """The same with one number that is none."""
    if field == "base_value":
        return replace(sub, base_value=bad)
    array = getattr(sub, field).copy()
    array[..., WRONG] = bad
    return replace(sub, **{field: array})


def in_doubt(sub: SquaredNode, field: str) -> list[tuple[int, ...]]:
    """The sets of positions of which nothing is known."""
    every = itertools.combinations(range(len(sub.live)), sub.size)
    return [row for row in every if field == "base_value" or WRONG in row]


FIELDS = ["g", "h", "whitened", "base_value"]
SUBPROBLEMS = [
    (field, size, after)
    for field, size, after in itertools.product(FIELDS, (1, 2, 3, 4), (-1, 10**9))
    # Centres need no h of features that they are not made of, and a gain alone only g and h.
    if not (field == "h" and after < 0) and not (field == "whitened" and size == 1)
]
"""What is no number, how many are added, and after how many subproblems centres are tried."""


@pytest.mark.parametrize(("field", "size", "after"), SUBPROBLEMS)
@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("engine", [ClosedForm(), Engine()], ids=["closed form", "divided"])
def test_every_set_in_doubt_is_looked_at(
    bad: float, field: str, size: int, clusters: bool, after: int, engine: object
) -> None:
    """By screening, shares, centres, children, clusters, pairs and triples, one after another."""
    sub = spoilt(subproblem(size), field, bad)
    if clusters:
        sub = replace(sub, near=LiveSets(near_columns(sub.problem)))
    if field == "whitened" and math.isinf(bad) and size == 2:
        return  # The entries of H are bounded by its diagonal, from which all has been taken.
    found = Offered()
    # What all measures are tried for, and then the best of them for all children at once.
    tree = tree_of(sub.problem, tuned(cheap=after, least_size=1), found, engine)
    for _ in range(4 if after < 0 else 1):
        branch_and_bound(sub, replace(tree, run=Run()))
    expected = {(0, *(sub.live[list(row)]).tolist()) for row in in_doubt(sub, field)}
    assert expected <= found.sets


def test_points_of_children_that_bound_nothing(bad: float, monkeypatch: pytest.MonkeyPatch) -> None:
    around = ChildrenExpansion.around

    def nothing(self, k: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, ...]:
        constants, shares, reachable = around(self, k, z)
        return np.full_like(constants, bad), shares, reachable

    monkeypatch.setattr(ChildrenExpansion, "around", nothing)
    children = children_of(subproblem(), np.arange(9), 0, 7)
    convexity = UniformCurvature(0.5).of_children(children)
    constants, _, worst, _ = best_expanded_children(children, convexity, np.full(7, 1e300))
    assert (worst == math.inf).all()
    assert (constants == math.inf).all()


@pytest.mark.parametrize("field", FIELDS)
def test_sparse_diagonal_cuts(bad: float, field: str) -> None:
    sub = spoilt(subproblem(), field, bad)
    assert sub.lower_bound(0.0) < math.inf
    assert least_value(sparse_diagonal_cut(sub, np.array([0, WRONG])), 3) <= 0.0


def test_curvature_of_what_is_no_number_is_none(bad: float) -> None:
    G = np.eye(6) + 1.0
    G[1, 2] = G[2, 1] = bad
    problem = PreparedSquared(KnownGram(G), np.ones(6), 1.0, 40, ridge=1.0, radius=1.0)
    everything = np.arange(6)
    whole = squared_node(problem, everything[:0], 1, everything, 0.0, None)
    assert curvature_of(whole) == UniformCurvature(0.0)
    assert spectral_curvatures(whole) == []


@pytest.mark.parametrize("part", ["value", "costs", "credits"])
def test_cuts_of_levels(bad: float, part: str) -> None:
    if (part, bad) in {("value", -math.inf), ("credits", math.inf)}:
        return  # That says nothing, and is no error.
    costs, credits, value = np.ones(4), np.ones(6), 10.0
    if part == "value":
        value = bad
    else:
        {"costs": costs, "credits": credits}[part][1] = bad
    center = LeastSquaresMethod(problem_of(), Engine()).center_at(np.arange(4), 1.0, Run())
    for level in range(1, 5):
        cut = bound_on_changes(center, value, costs, credits)
        assert level_bound(center, cut, level) == 0.0
        assert np.isfinite(cut.terms).all()


def test_families_of_removed_sets_and_cuts_around_centres(
    bad: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of()
    center = LeastSquaresMethod(problem, Engine()).center_at(np.arange(4), 1.0, Run())
    made = Center.node
    monkeypatch.setattr(Center, "node", lambda *given: spoilt(made(*given), "g", bad))
    kept = replace(whole_level(center, 2, 0.0), base=np.array([0]), size=1, live=np.arange(1, 4))
    for after in (-1, 10**9):
        tree = tree_of(problem, tuned(cheap=after))
        node, budgets = node_of(center, kept, 2)
        bound = bounded_family(node, kept, budgets, -1e300, tree)
        assert not bound.largest(budgets) <= node.needed_gain(-1e300)
    plain = bound_on_changes(center, 1.0, np.ones(4), np.ones(6))
    wrong = replace(center, whole=spoilt(center.whole, "g", bad))
    cut = lean_cut(wrong, plain, 2)
    assert level_bound(center, cut, 2) == 0.0


@pytest.mark.parametrize("count", [1, 2])
def test_collectors(bad: float, count: int) -> None:
    rows = np.array([[0, 1], [0, 2], [1, 2]])
    collector = Collector(count, 0.0)
    collector.offer(rows, np.array([bad, 0.5, 0.7]))
    assert collector.bound == -math.inf
    assert collector.best()[1].tolist() == [0.5, 0.7][:count]
    other = Collector(count, 0.0)
    other.offer(rows[1:], np.array([0.5, 0.7]))
    other.settle(bad)
    assert other.bound == (0.5 if bad == math.inf else -math.inf)


@pytest.mark.parametrize("part", ["constant", "terms"])
def test_masters_and_their_proofs(bad: float, part: str) -> None:
    terms = np.full(5, 1.0)
    if part == "terms":
        terms[WRONG] = -bad
    weak = ModularBound(-0.5, np.full(5, 0.1))
    cut = ModularBound(-bad if part == "constant" else -9.0, terms)
    for cuts in ([cut], [cut, weak]):
        proven, left = CutProof(cuts, 2, 0.0, set(), 100).decide(1.0, lambda: None)
        assert not proven
        assert left is not None
    if not bad < 0.0:
        assert not CutProof([weak], 2, 0.0, set(), 100).decide(bad, lambda: None)[0]


@pytest.mark.parametrize("chosen", [True, False])
def test_what_a_back_end_reports(bad: float, chosen: bool) -> None:
    fields = {"bound": bad} if chosen else {"bound": bad, "chosen": None}
    instance = weak_levels()
    values = np.sort(supports_by(instance, "all").values)
    pool = supports_by(instance, 3, Scripted(change_of(**fields)), 0.0, enumerated=0)
    assert pool.values == pytest.approx(values[:3], rel=1e-9)
    assert pool.rest_bound <= values[3] * (1.0 + 1e-9)


def dual_bounds(part: str, bad: float) -> FenchelBounds:
    """One dual point that would prove everything, but for a number that is none."""
    constants, always = np.array([1e6]), np.zeros(1)
    weights: np.ndarray = np.linspace(1.0, 2.0, 10)[None].copy()
    for name, array in (("constants", constants), ("always", always), ("weights", weights)):
        if name == part:
            array[..., min(WRONG, array.shape[-1] - 1)] = bad
    return FenchelBounds(constants, weights, 30, 1.0, 5.0, always)


class SpoiltDual:
    """A loss whose dual points have that number, and whose values are all zero."""

    p = 10

    def __init__(self, bounds: FenchelBounds) -> None:
        self._bounds = bounds

    def bounds(self, supports: np.ndarray, near: object = None) -> FenchelBounds:
        few, many = self._bounds, len(supports)
        return FenchelBounds(
            few.constants.repeat(many), few.weights.repeat(many, axis=0), few.n, few.ridge,
            few.radius, few.always.repeat(many), np.zeros((many, 30)),
        )  # fmt: skip

    def values(self, supports: np.ndarray, near: object = None) -> np.ndarray:
        return np.ones(len(supports))

    def fit(self, support: np.ndarray) -> None:
        raise AssertionError

    def bounds_with_one_more(
        self, base: np.ndarray, point: np.ndarray, candidates: np.ndarray
    ) -> np.ndarray:
        return np.full(len(candidates), math.nan)

    def scaled_bounds(self, features: np.ndarray, scales: np.ndarray, **_: float) -> FenchelBounds:
        return self._bounds


@pytest.mark.parametrize("part", ["constants", "weights", "always"])
@pytest.mark.parametrize("centred", [False, True])
def test_every_completion_in_doubt_is_looked_at(bad: float, part: str, centred: bool) -> None:
    """By dual points of bases and of centres, family by family."""
    bounds = dual_bounds(part, bad)
    problem = SpoiltDual(bounds)
    without = replace(TUNING, without=frozenset({Strategy.DUAL_POINTS}))
    tuning = TUNING if centred else without
    for size in (1, 2, 3):
        found = Offered()
        order = np.argsort(-bounds.weights[0], kind="stable")
        sub = FenchelNode(order[:0], size, order, problem, problem.bounds(np.zeros((1, 0))), 0)
        assert WRONG in screened_completions(sub, sub.best_bounds, found, 0.0).live
        divide([sub], TreeSearch(found, Engine(), Run(), tuning))
        every = itertools.combinations(range(10), size)
        assert {row for row in every if part != "weights" or WRONG in row} <= found.sets
    around = ConvexNeighbourhood(problem, Engine(), np.arange(4), 1.0)
    assert around.level_bound(2) == -math.inf
    found = Offered()
    around.search_level(2, found, Run())
    assert len({row for row in found.sets if WRONG in row}) >= 45


@pytest.mark.parametrize("part", ["constants", "weights", "always"])
def test_cuts_of_dual_points(bad: float, part: str) -> None:
    bounds = dual_bounds(part, bad)
    own, live = bounds.own(0, np.array([WRONG])), np.arange(3, 10)
    cut = fenchel_cut(bounds, 0, own, bounds.weights[0][live], math.sqrt(own))
    assert least_value(cut, 3) <= 0.0


def test_one_more_column(bad: float) -> None:
    problem = SpoiltDual(dual_bounds("none", bad))
    problem.bounds_with_one_more = lambda base, point, some: np.full(len(some), bad)
    bounds = problem.bounds(np.zeros((1, 0)))
    sub = FenchelNode(np.empty(0, dtype=np.intp), 1, np.arange(9, -1, -1), problem, bounds, 0)
    assert (last_bounds(sub, 1e300, Run()) == sub.best_bounds).all()


TARGET = LogWeight(1.0, 0.0, dict.fromkeys(range(10), 0.0), np.zeros(10))
NOTHING = ModularBound(0.0, np.zeros(7))


def spoilt_bounds(node: Node, floor: ModularBound, bad: float = math.nan) -> Bounds:
    """A node with this bound; its guess and what is around centres are no numbers."""
    L = len(node.live)
    around = ModularBound(bad, np.full(L, bad))
    return Bounds([floor], ModularBound(bad, np.zeros(L)), lambda _: around)


@dataclass(frozen=True)
class SpoiltSpace:
    """Seven features, of which values are no numbers."""

    bad: float

    def root(self, size: int) -> Node:
        return Node(np.arange(0), size, np.arange(7))

    def nodes(self, cuts: list) -> list[Node]:
        return [cut.of(cut.parent) for cut in cuts]

    def bounds(self, node: Node) -> Bounds:
        return spoilt_bounds(node, ModularBound(0.0, np.zeros(len(node.live))), self.bad)

    def values(self, node: Node) -> None:
        return None

    def ceiling(self, node: Node) -> ModularBound:
        return ModularBound(self.bad, np.full(len(node.live), self.bad))


@pytest.mark.parametrize("field", FIELDS)
def test_cells_of_least_squares(bad: float, field: str) -> None:
    for size in (1, 2, 3):
        sub = subproblem(size)
        nothing = tight(sub, spoilt_bounds(sub, ModularBound(0.0, np.zeros(9))), [], TARGET)
        wrong = spoilt(sub, field, bad)
        cell = tight(wrong, squared_bounds(wrong, UniformCurvature(0.0)), [], TARGET)
        assert math.isfinite(cell.log_upper)
        if not (field == "whitened" and size == 1):
            assert cell.log_upper >= nothing.log_upper - 1e-9


def test_cells_and_totals(bad: float) -> None:
    space = SpoiltSpace(bad)
    node = space.root(2)
    whole = tight(node, space.bounds(node), [], TARGET)
    assert whole.log_upper == pytest.approx(math.log(21))
    assert whole.log_guess <= whole.log_upper
    own = spoilt_bounds(node, ModularBound(bad, np.zeros(7)), bad)
    assert tight(node, own, [NOTHING], TARGET).log_upper == whole.log_upper
    parts = parts_of(whole, space, TARGET)
    assert all(type(part) is Cell for part in parts)
    total = np.logaddexp.reduce([part.log_upper for part in parts])
    assert total == pytest.approx(math.log(21))
    low, high = Partition(space, TARGET, [2], lambda: None).log_total(0.0)
    assert low == -math.inf
    assert high >= math.log(21)
