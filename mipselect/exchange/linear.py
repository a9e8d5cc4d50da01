"""Linear models: cuts that are enough to prove the optimum, for solvers without quadratic terms.

The model of the cuts k is

    min η   over   z ∈ {0,1}^p, Σ z = s   with   η ≥ floor,   η ≥ constant_k + Σ_j w_kj z_j.

Every cut is a lower bound on R at every support, so η* ≤ R*. Cuts are added where a solver finds
that they are too low, until a proof says that at every support one of them reaches R* - τ. So
R* - τ ≤ η* ≤ R*, by any solver (docs/mathematics/cuts.md, (14)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mipselect.arrays import IntArray
from mipselect.errors import InvalidInput, NotCertified
from mipselect.problem.instance import Instance
from mipselect.restricted.fenchel import FenchelLoss
from mipselect.restricted.prepared import PreparedLoss
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.collectors import Collector
from mipselect.search.convex.cuts import cut_of_point
from mipselect.search.cuts import least_value, scaled
from mipselect.search.cutting_loop import OuterApproximation
from mipselect.search.least_squares.cuts import sparse_diagonal_cut
from mipselect.search.least_squares.node import squared_node
from mipselect.search.options import SearchOptions
from mipselect.search.progress import TimeUp
from mipselect.search.setup import outer_approximation, set_up
from mipselect.search.supports import find_supports

MASTERS = "highs"
"""Back end that finds where cuts are too low; it is always there, and proves nothing."""

NEGLIGIBLE = 1e-8
"""Smaller coefficients, in units of the model, are left out: solvers drop them without a word."""

PATIENCE = 2000
"""Cuts beyond which a model is given up: it would be of little use."""


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Cuts that prove the best support.

    Attributes
    ----------
    cuts : tuple of ModularBound
        On -R, with one term a feature, all ≥ 0.
    floor : float
        Proven lower bound on R at every support.
    bound : float
        Proven lower bound on η* in units of R: R* - τ or above.
    support : ndarray of int, shape (s,)
        The best support.
    value : float
        R*.
    """

    cuts: tuple[ModularBound, ...]
    floor: float
    bound: float
    support: IntArray
    value: float

    def build(self, scale: float) -> Any:
        """Build the model; its objective is c·η.

        Returns
        -------
        ConcreteModel
            With the binary variables ``z[0..p-1]``.
        """
        import pyomo.environ as pyo

        features = range(len(self.cuts[0].terms))
        model: Any = pyo.ConcreteModel()
        model.z = pyo.Var(features, domain=pyo.Binary)
        model.eta = pyo.Var(bounds=(scale * self.floor, None))
        size = len(self.support)
        model.size = pyo.Constraint(expr=pyo.quicksum(model.z.values()) == size)
        cuts = [scaled(cut, self.floor, 1.0 / scale, size, NEGLIGIBLE) for cut in self.cuts]
        weights = [coefficients.tolist() for _, coefficients in cuts]
        model.cut = pyo.Constraint(
            range(len(cuts)),
            rule=lambda m, k: (
                m.eta - pyo.quicksum(m.z[j] * w for j, w in enumerate(weights[k]) if w)
                >= cuts[k][0] + scale * self.floor
            ),
        )
        model.objective = pyo.Objective(expr=model.eta)
        return model


def linear_model(instance: Instance, options: SearchOptions) -> LinearModel:
    """Find the best support, and cuts that prove it.

    Parameters
    ----------
    instance : Instance
    options : SearchOptions
        Its solver is the one that finds cuts to add: "auto" is HiGHS.

    Raises
    ------
    NotCertified
        The time limit passed first, or the cuts are too weak to prove it.
    InvalidInput, SolverFailure
    """
    search = set_up(instance, options)
    problem, run = instance.prepared, search.run
    best = find_supports(search, 1)
    collector = Collector(1, search.allowance)
    collector.offer(best.supports, best.values)
    cuts, visited = [cut_at(problem, best.supports[0])], [best.supports[0]]

    def visit(chosen: IntArray) -> tuple[float, ModularBound]:
        value = float(problem.values(chosen[None])[0])
        collector.offer(chosen[None], np.array([value]))
        cuts.append(cut_at(problem, chosen))
        visited.append(chosen)
        run.done = len(cuts)
        return value, cuts[-1]

    run.stage = "cuts"
    why = "rounding leaves too much of them open: export another formulation"
    solver = MASTERS if options.solver == "auto" else options.solver
    # The loop of masters may take as long as the deadline says.
    masters = replace(options.tuning.masters, patience=PATIENCE, seconds=math.inf)
    patient = replace(options, solver=solver, tuning=replace(options.tuning, masters=masters))
    engine = outer_approximation(OuterApproximation, instance, patient)
    try:
        proven = engine.prove(list(cuts), instance.support_size, visit, collector, run)
    except TimeUp:
        proven = False
        why = f"time limit of {run.deadline.limit:g} s reached: give more, or another formulation"
    # The proof leaves out the supports that were visited: there the cuts themselves are looked at.
    supports = np.array(visited)
    reached = float(np.max([-cut.at(supports) for cut in cuts], axis=0).min())
    bound = min(collector.bound, reached) if proven else -math.inf
    if bound < collector.value - search.allowance - instance.uncertain:
        raise NotCertified(
            f"the {len(cuts):,} cuts of the linear model do not prove the best support; {why}",
            bound=max(bound, 0.0),
            incumbent=collector.value,
        )
    floor = max(0.0, *(least_value(cut, instance.support_size) for cut in cuts))
    (support,), _ = collector.best()
    return LinearModel(tuple(cuts), floor, bound, support, collector.value)


def cut_at(problem: PreparedLoss, support: IntArray) -> ModularBound:
    """Return the cut on all features that is R(S) at the support S, but for rounding.

    Parameters
    ----------
    problem : PreparedLoss
        The squared loss, or one that bounds itself by dual points.
    support : ndarray of int, shape (s,)
    """
    none = np.empty(0, dtype=np.intp)
    if isinstance(problem, PreparedSquared):
        everything = np.arange(problem.features.count)
        multiplier = problem.fit(support).multiplier
        node = squared_node(problem, none, len(support), everything, multiplier, None)
        return sparse_diagonal_cut(node, support)
    if isinstance(problem, FenchelLoss):
        bounds = problem.bounds(support[None])
        return cut_of_point(bounds, 0, none, np.arange(problem.p), support)
    raise InvalidInput("this loss has no cuts: it does not bound itself by dual points")
