"""Whole models are R(S), up to a unit, at every support."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyomo.environ as pyo
import pytest

from mipselect import available_solvers, whole_model
from mipselect.backends.whole import FORMULATIONS
from mipselect.errors import InvalidInput
from mipselect.problem.instance import Instance
from mipselect.problem.stored import load_instance
from tests.support.designs import all_supports, with_loss
from tests.support.wants import wants

TOLERANCES = {
    "scip_direct": {"numerics/feastol": 1e-8, "limits/gap": 0.0},
    "gurobi_direct": {"FeasibilityTol": 1e-9, "MIPGap": 0.0},
}
NONLINEAR = [
    pytest.param(name, marks=wants(f"{name}: not there", name.split("_")[0] in available_solvers()))
    for name in TOLERANCES
]
"""Solvers of mixed-integer models with cones."""


def of_blocks(seed: int) -> Instance:
    """Least squares on blocks of rows, which stand as sums."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 6))
    y = np.exp(X[:, 1] - X[:, 4])
    return Instance.from_blocks(X, y, support_size=2, partitions=2, partition_seed=seed)


def moderate(loss: str, coef_bound: float, **options: object) -> Instance:
    """A small problem whose numbers are of one size, with or without an active norm constraint."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 7))
    score = X[:, 0] - X[:, 3] + 0.3 * X[:, 6] + 0.3 * rng.standard_normal(30)
    return Instance(
        X, np.sign(score) if loss == "hinge" else score, support_size=2, x_bound=2.0, y_bound=2.0,
        coef_bound=coef_bound, ridge=2.0, loss=loss, **options,
    )  # fmt: skip


GROUPS = {"groups": [[0], [1, 2], [3], [4, 5]], "always": [6], "intercept": True}
INSTANCES: dict[str, Callable[[], Instance]] = {
    f"{loss} {bound} {len(options)}": partial(moderate, loss, bound, **options)
    for loss in ("squared", "hinge", "quantile(0.3)")
    for bound, options in ((3.0, {}), (0.4, {}), (1.0, GROUPS))
} | {"blocks": partial(of_blocks, 1), "a table": partial(load_instance, "tiny-groups")}


def units(instance: Instance) -> float:
    """c, by the definition of each loss at the prediction 0."""
    if instance.loss == "squared":
        return 2000.0 * instance.prepared.n / instance.prepared.target_norm
    if instance.loss == "hinge":
        return 1000.0
    y = np.clip(np.asarray(instance.y), -2.0, 2.0)
    return 1000.0 / float(np.mean(np.maximum(0.3 * y, -0.7 * y)))


@pytest.mark.parametrize("solver", NONLINEAR)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", INSTANCES)
def test_a_model_is_our_problem_at_every_support(name: str, formulation: str, solver: str) -> None:
    instance = INSTANCES[name]()
    model, supports = whole_model(instance, formulation), all_supports(instance)
    for support in supports[:: max(1, len(supports) // 4)]:
        for j, z in model.z.items():
            z.fix(float(j in support))
        pyo.SolverFactory(solver).solve(model, options=TOLERANCES[solver])
        # Solvers may be wrong by 10⁻⁶ of the value of no features, which is 1000 units.
        expected = units(instance) * instance.objective(support)
        assert pyo.value(model.objective) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("solver", NONLINEAR)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_solver_finds_the_best_support(formulation: str, solver: str) -> None:
    for name in ("tiny-plain", "tiny-active-norm"):
        instance = load_instance(name)
        model = whole_model(instance, formulation)
        pyo.SolverFactory(solver).solve(model, options=TOLERANCES[solver])
        found = [j for j, z in model.z.items() if z.value > 0.5]
        supports = all_supports(instance)
        best = supports[np.argmin(instance.objectives(supports))]
        assert found == best.tolist()


def test_a_value_of_zero_has_no_unit() -> None:
    zero = Instance(
        np.eye(4), np.zeros(4), support_size=1, x_bound=1, y_bound=1, coef_bound=1, ridge=1
    )
    for formulation in FORMULATIONS:
        model = whole_model(zero, formulation)
        assert [(len(model.z), len(model.b))] == [(4, 4)]


@pytest.mark.parametrize(
    ("formulation", "loss", "message"),
    [
        ("hull", "squared", "formulation must be 'perspective' or 'big-m', got 'hull'"),
        ("cuts", "squared", "formulation must be"),
        ("big-m", "huber", "hinge and quantile losses; this instance has the loss"),
    ],
)
def test_what_has_no_model(formulation: str, loss: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        whole_model(with_loss(moderate("squared", 3.0), loss), formulation)
