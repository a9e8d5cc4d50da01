"""Whole models: what solvers find, against brute force; licences; R(S) at every support."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyomo.environ as pyo
import pytest

from mipselect import whole_model
from mipselect.backends.discovery import solver_by_name
from mipselect.backends.protocols import Capability, MipStatus, WholeSolution
from mipselect.errors import InvalidInput, NotCertified, SolverFailure, UnknownSolver
from mipselect.problem.instance import Instance
from mipselect.problem.stored import load_instance
from mipselect.search import mistake_levels
from mipselect.search.monolithic.forms import Form
from mipselect.search.monolithic.whole import whole_levels, whole_optimum
from mipselect.search.tuning import TUNING
from tests.support.back_ends import back_ends
from tests.support.designs import (
    all_supports,
    distances,
    random_block_instance,
    random_grouped_instance,
    random_instance,
    with_loss,
)
from tests.support.scripted_solvers import ScriptedWhole
from tests.support.wants import skip_for_want_of


@pytest.fixture(params=back_ends(Capability.MISOCP, slow=("scip",)))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def piecewise(seed: int, loss: str) -> Instance:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((25, 6))
    score = X[:, 0] - X[:, 1] + rng.standard_normal(25)
    return Instance(
        X, np.sign(score) if loss == "hinge" else score, support_size=2, x_bound=2.0, y_bound=2.0,
        coef_bound=float(rng.choice([0.4, 3.0])), ridge=2.0, loss=loss,
    )  # fmt: skip


def of_features(seed: int, loss: str) -> Instance:
    return with_loss(random_grouped_instance(3 + 6 * seed, max_p=5, max_s=2), loss)


PROBLEMS: dict[str, tuple[Callable[[int], Instance], int]] = {
    "columns": (partial(random_instance, max_p=8, max_s=3), 10),
    "groups": (partial(random_grouped_instance, max_p=4, max_s=3), 4),
    "blocks": (partial(random_block_instance, max_p=4, max_s=3), 4),
    **{loss: (partial(piecewise, loss=loss), 3) for loss in ("hinge", "quantile(0.3)")},
    **{f"groups, {loss}": (partial(of_features, loss=loss), 2)
       for loss in ("hinge", "quantile(0.9)")},
}  # fmt: skip
"""A problem of a seed, and how many seeds are tried."""


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("start", [0, pytest.param(10, marks=pytest.mark.deep)])
def test_optima_and_levels_against_brute_force(
    name: str, form: Form, start: int, problem: str
) -> None:
    (make, count), certified = PROBLEMS[problem], 0
    for seed in range(start, start + count):
        instance = make(seed)
        supports = all_supports(instance)
        values = instance.objectives(supports)
        tau = 0.05 * instance.sensitivity
        pool = whole_optimum(instance, solver=name, form=form)
        assert pool.certified
        assert values.min() * (1 - 1e-9) <= pool.values[0] <= values.min() + tau
        assert pool.rest_bound <= values.min() or len(values) == 1
        try:
            levels = whole_levels(instance, solver=name, form=form)
        except NotCertified as error:
            levels = error.partial
        certified += levels.certified
        assert levels.certified or levels.gap < 0.0
        level_of = distances(supports, levels.supports[0])
        best = np.array([values[level_of == i].min() for i in range(len(levels))])
        assert np.all(levels.bounds <= best * (1 + 1e-9))
        assert np.all(levels.values >= best * (1 - 1e-9))
        assert np.all(levels.values <= best * (1 + 1e-9) + tau)
    assert certified > 0


@pytest.mark.parametrize(
    "name",
    [
        *back_ends(Capability.MISOCP),
        *(
            pytest.param(f"pyomo:{each.values[0]}_direct", marks=each.marks)
            for each in back_ends(Capability.MISOCP)
        ),
    ],
)
def test_the_second_opinion_is_that_of_the_search(name: str) -> None:
    for stored in ("tiny-plain", "tiny-active-norm", "diabetes"):
        instance = load_instance(stored)
        one = whole_levels(instance, solver=name, tolerance=1e-3)
        other = mistake_levels(instance, tolerance=0.0)
        assert one.certified
        assert one.values == pytest.approx(other.values, rel=1e-9)
        assert np.all(one.bounds <= other.values)


def test_a_hundred_features_and_four_thousand_rows(name: str) -> None:
    instance = load_instance("paper-p100")
    pool = whole_optimum(instance, solver=name)
    assert pool.supports.tolist() == [[1, 3, 5, 7, 9]]
    assert pool.values[0] == pytest.approx(0.05004376691855498, rel=1e-9)
    assert pool.certified


def test_a_tie_is_left_open(name: str) -> None:
    with pytest.raises(NotCertified, match="the best one may be tied") as caught:
        whole_levels(load_instance("tiny-duplicates"), solver=name)
    assert caught.value.bound <= caught.value.incumbent


def test_the_time_limit_is_reported_with_what_is_proven(name: str) -> None:
    with pytest.raises(NotCertified, match=r"time limit .* in stage 'optimum'") as caught:
        whole_optimum(load_instance("paper-p100"), solver=name, time_limit=1e-3)
    assert 0.0 <= caught.value.bound <= 0.050043767


class Tiring:
    """A back end that runs out of time after so many models."""

    def __init__(self, name: str, models: int) -> None:
        self.solver, self.left = solver_by_name(name), models
        self.status = self.solver.status

    def solve(self, model: object, **limits: float) -> WholeSolution:
        self.left -= 1
        if self.left < 0:
            return WholeSolution(MipStatus.TIME_LIMIT, False, -np.inf, 0, "tired")
        return self.solver.solve(model, **limits)


@pytest.mark.parametrize("models", [2, 3])
def test_levels_that_are_proven_before_time_is_up_are_kept(name: str, models: int) -> None:
    instance = load_instance("tiny-plain")
    with pytest.raises(NotCertified, match=f"stopped in stage 'level {models}'") as caught:
        whole_levels(instance, solver=Tiring(name, models))
    assert str(caught.value).endswith(
        f"levels 1 to {models - 1} of 3 around the optimum are certified"
    )
    found, all_levels = caught.value.partial, mistake_levels(instance)
    assert found.values == pytest.approx(all_levels.values[:models], rel=1e-9)
    assert found.certified_rows == models
    assert found.values[0] <= caught.value.bound <= all_levels.values[models] * (1 + 1e-9)


def test_threads_and_seeds_change_no_answer(name: str) -> None:
    instance = load_instance("tiny-plain")
    for threads, seed in ((1, 3), (2, 40)):
        solver = solver_by_name(name, threads=threads, seed=seed)
        assert whole_optimum(instance, solver=solver).supports.tolist() == [[1, 4, 6]]


def test_what_cannot_be_asked_for() -> None:
    instance = load_instance("tiny-plain")
    with pytest.raises(UnknownSolver, match="'highs' does not take misocp; usable here:"):
        whole_optimum(instance, solver="highs")
    with pytest.raises(UnknownSolver, match="'highs' does not take miqp"):
        whole_optimum(instance, solver="highs", form=Form.BIG_M)
    with pytest.raises(InvalidInput, match="tolerance must be"):
        whole_levels(instance, solver="highs", tolerance=-1.0)


@pytest.mark.parametrize("solver", back_ends(Capability.MISOCP))
def test_a_licence_that_is_too_small_is_recognised_before_solving(solver: str) -> None:
    limit = solver_by_name(solver).status.limit
    if limit is None:
        skip_for_want_of(f"a licence of {solver} that limits sizes")
    with pytest.raises(SolverFailure, match=r"size-limited licence allows 200 columns .* 400 and"):
        whole_optimum(load_instance("paper-p100"), solver=solver, form=Form.PERSPECTIVE)


def test_back_ends_that_misbehave_are_named() -> None:
    instance = load_instance("tiny-plain")
    wrong = ScriptedWhole(MipStatus.OPTIMAL, 10.0 * TUNING.whole_models.units)
    with pytest.raises(SolverFailure, match=r"scripted, whole .* its bound is wrong"):
        whole_optimum(instance, solver=wrong)
    nothing = ScriptedWhole(MipStatus.FAILED, 1.0, found=False)
    with pytest.raises(SolverFailure, match=r"'failed' \(its own words\) .* in stage 'optimum'"):
        whole_optimum(instance, solver=nothing)
    weak = ScriptedWhole(MipStatus.FAILED, 0.0)
    with pytest.raises(NotCertified, match="could only prove") as caught:
        whole_optimum(instance, solver=weak)
    assert caught.value.partial.supports.tolist() == [[0, 1, 2]]


def test_a_lie_that_contradicts_no_known_value_certifies_nothing() -> None:
    """The first features are called optimal, with a bound just below their own value."""
    instance = load_instance("tiny-plain")
    claim = instance.fit([0, 1, 2]).value
    scale = TUNING.whole_models.units * 2 * instance.n / float(instance.y @ instance.y)
    liar = ScriptedWhole(MipStatus.OPTIMAL, claim * scale)
    with pytest.raises(NotCertified, match="the native search could only prove") as caught:
        whole_optimum(instance, solver=liar)
    assert caught.value.bound == pytest.approx(mistake_levels(instance).values[0], rel=1e-9)
    with pytest.raises(NotCertified):
        whole_levels(instance, solver=liar)


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


@pytest.mark.parametrize("solver", back_ends(Capability.MISOCP))
@pytest.mark.parametrize("formulation", Form)
@pytest.mark.parametrize("name", INSTANCES)
def test_a_model_is_our_problem_at_every_support(name: str, formulation: str, solver: str) -> None:
    instance = INSTANCES[name]()
    model, supports = whole_model(instance, formulation), all_supports(instance)
    for support in supports[:: max(1, len(supports) // 4)]:
        for j, z in model.z.items():
            z.fix(float(j in support))
        assert solver_by_name(solver).solve(model, time_limit=60.0, gap=1e-4).found
        # Solvers may be wrong by 10⁻⁶ of the value of no features, which is 1000 units.
        expected = units(instance) * instance.objective(support)
        assert pyo.value(model.objective) == pytest.approx(expected, abs=1e-3)


def test_a_value_of_zero_has_no_unit() -> None:
    zero = Instance(
        np.eye(4), np.zeros(4), support_size=1, x_bound=1, y_bound=1, coef_bound=1, ridge=1
    )
    for formulation in Form:
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
