"""Whole models as files: solvers read them back, and they mean what ours do; brute force judges."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mipselect import Instance, load_instance, whole_model
from mipselect.backends.protocols import Capability
from mipselect.errors import InvalidInput
from tests.support.back_ends import back_ends
from tests.support.designs import all_supports, with_loss
from tests.support.read_back import READERS, ByHighs, ReadBack, some_of

FORMULATIONS = ["perspective", "big-m"]

ENDINGS = {"gurobi": [".mps", ".lp"], "scip": [".mps"]}
"""SCIP does not read "x ^ 2", which Pyomo writes in .lp."""

SETTINGS = {
    "gurobi": {
        "MIPGap": 0.0, "MIPGapAbs": 1e-4,
        "FeasibilityTol": 1e-9, "IntFeasTol": 1e-9, "OptimalityTol": 1e-9,
    },
    "scip": {"limits/gap": 0.0, "limits/absgap": 1e-4, "numerics/feastol": 1e-8},
}  # fmt: skip


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


def written(instance: Instance, path: Path, formulation: str) -> Path:
    model = whole_model(instance, formulation)
    model.write(str(path), io_options={"symbolic_solver_labels": True})
    return path


def read_by(solver: str, path: Path) -> ReadBack:
    return READERS[solver](path, SETTINGS[solver])


def units(instance: Instance) -> float:
    """c, by the definition of each loss at the prediction 0."""
    y = np.clip(np.asarray(instance.y), -2.0, 2.0)
    if instance.loss == "hinge":
        return 1000.0
    if instance.loss.startswith("quantile"):
        return 1000.0 / float(np.mean(np.maximum(0.3 * y, -0.7 * y)))
    return 2000.0 * len(y) / float(y @ y)


@pytest.mark.parametrize("solver", back_ends(Capability.MISOCP))
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("loss", ["squared", "hinge", "quantile(0.3)"])
def test_a_file_is_our_problem_at_every_support(
    tmp_path: Path, loss: str, formulation: str, solver: str
) -> None:
    instances = (moderate(0, loss), moderate(1, loss), grouped(0, loss))
    for instance, ending in product(instances, ENDINGS[solver]):
        model = read_by(solver, written(instance, tmp_path / f"m{ending}", formulation))
        unit, supports = units(instance), all_supports(instance)
        values = instance.objectives(supports)
        objective, chosen = model.minimum()
        # Solvers may be wrong by 10⁻⁶ of the value of no features, which is 1000 units.
        assert objective == pytest.approx(unit * values.min(), abs=1e-3)
        assert unit * instance.objective(chosen) <= unit * values.min() + 1e-3
        for support in some_of(supports, 4):
            at, only = model.minimum(support)
            assert only == support.tolist()
            assert at == pytest.approx(unit * instance.objective(support), abs=1e-3)


@pytest.mark.parametrize("solver", back_ends(Capability.MISOCP))
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_blocks_of_rows_and_a_stored_table(tmp_path: Path, formulation: str, solver: str) -> None:
    for instance in (of_blocks(1), load_instance("tiny-groups")):
        model = read_by(solver, written(instance, tmp_path / "m.mps", formulation))
        _, chosen = model.minimum()
        values = instance.objectives(all_supports(instance))
        assert instance.objective(chosen) == pytest.approx(values.min(), rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_highs_agrees_where_the_quadratic_row_does_not_matter(tmp_path: Path, loss: str) -> None:
    """HiGHS has no quadratic rows, but solves the rest of a big-m model at a given support."""
    instance = with_loss(moderate(0), loss)
    path = written(instance, tmp_path / "m.lp", "big-m")
    before, row, after = path.read_text().partition("c_u_norm_:")
    assert row
    _, end, after = after.partition("<= 1.0\n")
    assert end
    path.write_text(before + after)
    compared = 0
    for support in all_supports(instance):
        if np.linalg.norm(instance.fit(support).coef) < 0.99 * instance.coef_bound:
            objective = ByHighs(path, {}).at(support)
            expected = units(instance) * instance.objective(support)
            assert objective == pytest.approx(expected, rel=1e-6)
            compared += 1
    assert compared >= 5


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
        ("big-m", "huber", "whole models exist for the squared loss"),
    ],
)
def test_what_has_no_model(formulation: str, loss: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        whole_model(with_loss(moderate(0), loss), formulation)
