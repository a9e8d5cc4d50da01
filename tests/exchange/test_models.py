"""Exported models are read back by solvers, and mean what our own do: brute force judges."""

from __future__ import annotations

import stat
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

from mipselect import Instance, load_instance
from mipselect.backends.protocols import Capability
from mipselect.errors import InvalidInput, NotCertified
from mipselect.exchange import SolverSettings, export_model, exported
from mipselect.exchange.linear import cut_at, linear_model
from mipselect.losses.expression import ExpressionLoss
from mipselect.search.cuts import tightened
from mipselect.search.options import SearchOptions
from tests.support.back_ends import back_ends
from tests.support.designs import (
    LOSSES,
    Design,
    all_supports,
    random_grouped_instance,
    random_instance,
    with_loss,
)
from tests.support.read_back import READERS, ByHighs, some_of

TOLERANCE = 1e-5
"""τ in units of the sensitivity: the default."""

ENDINGS = [".mps", ".lp"]


def of_blocks(seed: int) -> Instance:
    """Least squares on blocks of rows, which stand as sums."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 6))
    return Instance.from_blocks(
        X, np.exp(X[:, 1] - X[:, 4]), support_size=2, partitions=2, partition_seed=seed
    )


def moderate(seed: int, loss: str = "squared") -> Instance:
    """A small problem whose numbers are of one size, with or without an active norm constraint."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((25, 5))
    score = X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(25)
    return Instance(
        X,
        np.sign(score) if loss == "hinge" else score,
        support_size=2,
        x_bound=2.0,
        y_bound=2.0,
        coef_bound=0.4 if seed % 2 else 3.0,
        ridge=2.0,
        loss=loss,
    )


def grouped(seed: int, loss: str = "squared") -> Instance:
    """Features of several columns, columns that are always in, and an intercept."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 7))
    score = X[:, 0] - X[:, 3] + 0.3 * X[:, 6] + 0.3 * rng.standard_normal(30)
    return Instance(
        X,
        np.sign(score) if loss == "hinge" else score,
        support_size=2,
        x_bound=2.0,
        y_bound=2.0,
        coef_bound=1.0,
        ridge=2.0,
        loss=loss,
        groups=[[0], [1, 2], [3], [4, 5]],
        always=[6],
        intercept=True,
    )


def exported_model(instance: Instance, path: Path, formulation: str, solver: str) -> tuple:
    """The model read back by a solver with the settings it is told, and the unit of R in it."""
    told = export_model(instance, path, formulation=formulation)
    return READERS[solver](path, told.settings.of_solvers[solver]), told.unit


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("design", [random_instance, random_grouped_instance, of_blocks])
def test_highs_reads_linear_models_and_agrees(tmp_path: Path, design: Design, ending: str) -> None:
    for seed in range(8):
        instance = design(seed)
        values = instance.objectives(all_supports(instance))
        model, unit = exported_model(instance, tmp_path / f"m{ending}", "cuts", "highs")
        objective, chosen = model.minimum()
        tau = TOLERANCE * instance.sensitivity + 1e-9 * values.min() + 1e-6 / unit
        assert values.min() - tau <= objective / unit <= values.min() + tau
        assert instance.objective(chosen) <= values.min() + 2 * tau


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("loss", LOSSES)
def test_highs_reads_linear_models_of_every_loss(tmp_path: Path, loss: str, ending: str) -> None:
    for base in (moderate(0), moderate(1), grouped(0)):
        instance = with_loss(base, loss)
        values = instance.objectives(all_supports(instance))
        model, unit = exported_model(instance, tmp_path / f"m{ending}", "cuts", "highs")
        objective, chosen = model.minimum()
        assert objective / unit == pytest.approx(values.min(), rel=1e-6)
        assert instance.objective(chosen) == pytest.approx(values.min(), rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", *LOSSES])
def test_a_linear_model_bounds_every_support_and_proves_the_best(loss: str) -> None:
    for seed in range(30 if loss == "squared" else 12):
        design = random_grouped_instance if seed % 3 == 2 else random_instance
        instance = with_loss(design(seed, max_p=7, max_s=3), loss)
        supports = all_supports(instance)
        values = instance.objectives(supports)
        model = linear_model(instance, SearchOptions())
        bounds = np.max([-tightened(cut, model.floor).at(supports) for cut in model.cuts], axis=0)
        bounds = np.maximum(bounds, model.floor)
        off = 1e-9 * np.abs(values) + 2e-6 * instance.sensitivity
        assert np.all(bounds <= values + off)
        assert bounds.min() >= model.bound - off.min()
        assert model.bound >= values.min() - TOLERANCE * instance.sensitivity - off.min()
        assert model.value == pytest.approx(values.min(), rel=1e-6)


def nearly_singular(ridge: float) -> Instance:
    """Two columns that are nearly the same: rounding costs the more, the smaller the ridge."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    X[:, 5] = X[:, 0] + 1e-9 * rng.standard_normal(40)
    y = X[:, 1] + 0.3 * rng.standard_normal(40)
    bounds = {"x_bound": 5.0, "y_bound": 4.0, "coef_bound": 3.0}
    return Instance(X, y, support_size=2, ridge=ridge, **bounds)


def test_rounding_of_the_cuts_is_part_of_the_bound_or_refused() -> None:
    instance = nearly_singular(1e-8)
    supports = all_supports(instance)
    values = instance.objectives(supports)
    model = linear_model(instance, SearchOptions())
    lowest = np.max([-cut.at(supports) for cut in model.cuts], axis=0).min()
    assert model.bound <= lowest * (1.0 + 1e-12)
    tau = TOLERANCE * instance.sensitivity
    assert values.min() - tau < model.bound < values.min() - 0.1 * tau
    with pytest.raises(NotCertified, match="rounding leaves too much of them open") as caught:
        linear_model(nearly_singular(1.2e-10), SearchOptions())
    assert 0.0 <= caught.value.bound < caught.value.incumbent


def logistic(y: np.ndarray, u: cp.Variable) -> cp.Expression:
    return cp.logistic(-cp.multiply(y, u))


def test_a_loss_that_is_an_expression_has_a_linear_model(tmp_path: Path) -> None:
    base = moderate(1, "hinge")
    largest = float(np.log1p(np.exp(base.prediction_bound)))
    instance = with_loss(base, ExpressionLoss("logistic", logistic, 0.0, largest))
    values = instance.objectives(all_supports(instance))
    model, unit = exported_model(instance, tmp_path / "m.mps", "cuts", "highs")
    objective, chosen = model.minimum()
    assert objective / unit == pytest.approx(values.min(), rel=1e-5)
    assert instance.objective(chosen) == pytest.approx(values.min(), rel=1e-6)


class WithoutBounds:
    """A prepared loss that has values and no dual points."""

    def __init__(self, problem: object) -> None:
        self.fit, self.values = problem.fit, problem.values  # type: ignore[attr-defined]


def test_a_loss_without_dual_points_has_no_cuts() -> None:
    problem = WithoutBounds(moderate(1).prepared)
    with pytest.raises(InvalidInput, match="has no cuts"):
        cut_at(problem, np.array([0, 1]))


def test_a_cut_is_the_value_at_its_own_support() -> None:
    for instance in (moderate(0), moderate(1), moderate(0, "hinge"), grouped(0), of_blocks(0)):
        for support in all_supports(instance):
            at = -float(cut_at(instance.prepared, support).at(support))
            assert at == pytest.approx(instance.objective(support), rel=1e-6)


@pytest.mark.parametrize("solver", back_ends(Capability.MISOCP))
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("formulation", ["perspective", "big-m", "whole"])
@pytest.mark.parametrize("loss", ["squared", "hinge", "quantile(0.3)"])
def test_quadratic_models_are_ours_at_every_support(
    tmp_path: Path, loss: str, formulation: str, ending: str, solver: str
) -> None:
    for instance in (moderate(0, loss), moderate(1, loss), grouped(0, loss)):
        model, unit = exported_model(instance, tmp_path / f"m{ending}", formulation, solver)
        supports = all_supports(instance)
        values = instance.objectives(supports)
        objective, chosen = model.minimum()
        # What import-solution takes off a claim: 10⁻⁶ of the value of no features, 1000 units.
        assert objective == pytest.approx(unit * values.min(), abs=1e-3)
        assert unit * instance.objective(chosen) <= unit * values.min() + 1e-3
        for support in some_of(supports, 4):
            at, only = model.minimum(support)
            assert only == support.tolist()
            assert at == pytest.approx(unit * instance.objective(support), abs=1e-3)


@pytest.mark.parametrize("solver", back_ends(Capability.MISOCP))
@pytest.mark.parametrize("formulation", ["cuts", "perspective", "big-m"])
def test_blocks_of_rows_and_a_stored_table(tmp_path: Path, formulation: str, solver: str) -> None:
    for instance in (of_blocks(1), load_instance("tiny-groups")):
        model, unit = exported_model(instance, tmp_path / "m.mps", formulation, solver)
        objective, chosen = model.minimum()
        values = instance.objectives(all_supports(instance))
        assert objective == pytest.approx(unit * values.min(), abs=1e-3)
        assert instance.objective(chosen) == pytest.approx(values.min(), rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_highs_agrees_where_the_quadratic_row_does_not_matter(tmp_path: Path, loss: str) -> None:
    """HiGHS has no quadratic rows, but solves the rest of a big-m model at a given support."""
    instance = with_loss(moderate(0), loss)
    path = tmp_path / "m.lp"
    unit = export_model(instance, path, formulation="big-m").unit
    before, row, after = path.read_text().partition("c_u_norm_:")
    assert row
    _, end, after = after.partition("<= 1.0\n")
    assert end
    path.write_text(before + after)
    compared = 0
    for support in all_supports(instance):
        if np.linalg.norm(instance.fit(support).coef) < 0.99 * instance.coef_bound:
            objective = ByHighs(path, {}).at(support)
            assert objective == pytest.approx(unit * instance.objective(support), rel=1e-6)
            compared += 1
    assert compared >= 5


@pytest.mark.parametrize("formulation", ["cuts", "perspective", "big-m"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_says_that_it_is_sensitive_and_how_to_solve_it(
    tmp_path: Path, formulation: str, ending: str
) -> None:
    path = tmp_path / f"m{ending}"
    told = export_model(load_instance("tiny-plain"), path, formulation=formulation)
    head = [line[2:] for line in path.read_text("ascii").splitlines()[:13]]
    assert head[0].startswith("SENSITIVE")
    text = "\n".join(head)
    for words in (formulation, told.settings.in_words, "MIPGapAbs", "3 features", repr(told.unit)):
        assert words in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert (told.columns, told.binaries, told.settings.linear) == (
        {"cuts": 9, "perspective": 32, "big-m": 16}[formulation], 8, formulation == "cuts"
    )  # fmt: skip


def test_an_objective_of_no_features_is_a_thousand_units(tmp_path: Path) -> None:
    instance = moderate(0)
    told = export_model(instance, tmp_path / "m.lp")
    nothing = float(instance.y @ instance.y) / (2 * instance.n)
    assert told.unit * nothing == pytest.approx(1000.0, rel=1e-12)
    zero = Instance(
        np.eye(4), np.zeros(4), support_size=1, x_bound=1, y_bound=1, coef_bound=1, ridge=1
    )
    for formulation in ("cuts", "big-m", "perspective"):
        assert export_model(zero, tmp_path / "m.lp", formulation=formulation).unit == 1.0


def test_the_settings_are_options_of_the_solvers(tmp_path: Path) -> None:
    """HiGHS, Gurobi and SCIP take theirs above; here the numbers of the others."""
    whole, linear = (SolverSettings.of_model(linear=flag) for flag in (False, True))
    assert set(linear.of_solvers) - set(whole.of_solvers) == {"highs", "cbc"}
    assert whole.of_solvers["cplex"]["mip tolerances absmipgap"] == whole.absolute_gap
    assert whole.absolute_gap == pytest.approx(1e-4)
    assert linear.of_solvers["cbc"]["allowableGap"] == linear.absolute_gap == 1e-6
    assert linear.of_solvers["cbc"]["integerTolerance"] == 1e-7
    assert whole.of_solvers["scip"]["numerics/feastol"] == 1e-8
    for settings in (whole, linear):
        for options in settings.of_solvers.values():
            assert min(options.values()) == 0.0
            assert max(options.values()) <= settings.absolute_gap


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"formulation": "hull"}, "formulation must be one of 'cuts', 'whole', 'perspective'"),
        ({"name": "m.txt"}, "must end in .mps or .lp"),
        ({"name": "m"}, "must end in .mps or .lp"),
        ({"loss": "huber"}, "whole models exist for the squared loss .* cuts takes any loss"),
        ({"tolerance": -1.0}, "tolerance must be"),
        ({"time_limit": 0.0}, "time_limit must be"),
    ],
)
def test_what_cannot_be_exported_leaves_no_file(
    tmp_path: Path, changes: dict, message: str
) -> None:
    asked = {"name": "m.mps", "ridge": 1.0, "loss": "squared", **changes}
    name, ridge, loss = asked.pop("name"), asked.pop("ridge"), asked.pop("loss")
    instance = Instance(
        np.eye(4), np.arange(4.0), support_size=1, x_bound=1, y_bound=1, coef_bound=1,
        ridge=ridge, loss=loss,
    )  # fmt: skip
    with pytest.raises(InvalidInput, match=message):
        export_model(instance, tmp_path / name, **asked)
    assert not list(tmp_path.iterdir())


def test_a_model_that_is_too_large_is_refused_before_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exported, "MOST_TERMS", 30)
    for loss, terms in (("squared", 25), ("hinge", 250)):
        instance = moderate(0, loss)
        if terms <= 30:
            export_model(instance, tmp_path / "m.lp")
            continue
        with pytest.raises(InvalidInput, match=f"has {terms} terms .* export the formulation cuts"):
            export_model(instance, tmp_path / "n.lp")
    assert [path.name for path in tmp_path.iterdir()] == ["m.lp"]


def test_a_search_without_proof_writes_nothing_and_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.lp"
    path.write_text("kept")
    with pytest.raises(NotCertified, match="time limit"):
        export_model(load_instance("correlated-p100"), path, formulation="cuts", time_limit=1.0)
    assert path.read_text() == "kept"
    with pytest.raises(OSError, match="No such file"):
        export_model(moderate(0), tmp_path / "absent" / "m.lp")
    assert [each.name for each in tmp_path.iterdir()] == ["m.lp"]
