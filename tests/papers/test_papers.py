"""The declared experiments: every row of the list has one, and what they compute is right."""

from __future__ import annotations

import ast
import math
from importlib import import_module
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest

from mipselect import ExponentialMechanism
from mipselect.mechanisms import JointExponential, NoisyMax, OneShotTopK, Peeling
from mipselect.mechanisms.noise.noise import NOISES
from mipselect_papers.canonical.counts import (
    CANONICAL,
    EVENT_METRICS,
    LAWS,
    METHODS,
    Counts,
    Zipf,
    threshold,
)
from mipselect_papers.canonical.laws import EVENTS, ends, joint_event, one_shot_event, peeled_shares
from mipselect_papers.catalogue import EXPERIMENTS
from mipselect_papers.experiment import DataSeed, Reading, Recipe
from mipselect_papers.heterogeneous import ConstantScores, RandomScores
from mipselect_papers.kendall import Copies
from mipselect_papers.mip import setting as mip_setting
from mipselect_papers.mip.prediction import ADASSP, AS_ITS_CODE, CLIPPED, NON_PRIVATE, Prediction
from mipselect_papers.mip.setting import (
    EXACT,
    MCMC,
    MISTAKES,
    OURS,
    PUBLISHED,
    TOP_R,
    TRUTH,
    VOTES,
    SupportRecovery,
    hinge_ballot,
    hinge_coefficients,
)
from mipselect_papers.sis.accuracy import OnSynth
from mipselect_papers.sis.figures import PICKED, Instability
from mipselect_papers.sources import SCORES, DataSource
from public_names import MODULES

ROWS = (
    "Figure 1a",
    "Figure 1b, D.2 hinge",
    "D.1.1 prediction error and utility loss",
    "D.1.2 ablations",
    "D.1.3",
    "Figure 1",
    "Table 1",
    "Synth",
    "Figures 2 to 7",
    "Figure 8",
    "Figures 1, 6 to 10",
    "Figures 2, 3",
    "Figure 4",
    "Figures",
    "Figures 1 to 5",
)
"""Of the list of experiments, in its order."""


def test_every_row_of_the_list_has_an_experiment() -> None:
    assert {experiment.row for experiment in EXPERIMENTS} == set(ROWS)


def test_recipes_differ_and_say_all_of_their_settings() -> None:
    for experiment in EXPERIMENTS:
        for quick in (False, True):
            recipes = experiment.recipes(["one", "two"], quick=quick)
            assert len({repr(recipe) for recipe in recipes}) == len(recipes), experiment.name
            assert all(" object at " not in repr(recipe) for recipe in recipes)


def read(recipe: Recipe, seed: int = 1, data: int = 0) -> list[Reading]:
    return list(recipe.measure(DataSeed(data, 1), seed, None))


def value(readings: list[Reading], method: str, metric: str, x: float | None = None) -> float:
    (found,) = [
        reading.value
        for reading in readings
        if reading.method == method and reading.metric == metric and x in (None, reading.x)
    ]
    assert found is not None
    return found


def small(**changes: object) -> SupportRecovery:
    settings = {"x": 1.0, "n": 300, "p": 8, "s": 2, "draws": 40, "vote_draws": 2, "ridge": 5.0}
    return SupportRecovery(methods=(*PUBLISHED, *OURS), steps=50, **(settings | changes))  # type: ignore[arg-type]


def test_recovery_agrees_with_exact_probabilities() -> None:
    recipe = small(epsilon=3.0, draws=400)
    readings = read(recipe)
    problem = mip_setting.Problem.generated(recipe, 1)
    values = problem.instance.objectives(np.array(list(combinations(range(8), 2))))
    assert problem.instance.objective((1, 3)) == pytest.approx(values.min())
    law = ExponentialMechanism(problem.instance, 3.0)
    chance = math.exp(law.log_probability((1, 3)))
    error = math.sqrt(chance * (1.0 - chance) / 400)
    # Here the truth is the optimum, and both columns say the same.
    for metric in (TRUTH, mip_setting.OPTIMUM):
        assert abs(value(readings, EXACT, metric.key) - chance) <= 4.0 * error
    assert 0.0 < chance < 1.0
    assert value(readings, TOP_R, mip_setting.CERTIFIED.key) == 1.0
    levels = problem.levels
    met = float(np.sort(values)[1] - values.min() > 2.0 * levels.sensitivity)
    assert value(readings, MISTAKES, mip_setting.CONDITION.key) == met


def test_every_method_is_there_and_almost_certain_at_a_huge_epsilon() -> None:
    readings = read(small(epsilon=1e4, n=2000, draws=10))
    for method in (*PUBLISHED, *OURS):
        if method not in (MCMC, VOTES):
            assert value(readings, method, TRUTH.key) == 1.0, method
        assert 0.0 <= value(readings, method, mip_setting.F1.key) <= 1.0


def test_other_methods_change_no_draw() -> None:
    few = SupportRecovery(1.0, 300, 8, 2, (EXACT,), 30, ridge=5.0)
    assert value(read(few), EXACT, TRUTH.key) == value(
        read(SupportRecovery(1.0, 300, 8, 2, (TOP_R, EXACT), 30, ridge=5.0)), EXACT, TRUTH.key
    )
    assert read(few) == read(few)
    assert read(few, 1) != read(few, 2)


def test_hinge_votes_are_those_of_the_linear_program() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    y = np.where(X[:, 0] - X[:, 3] + 0.1 * rng.normal(size=40) > 0.0, 1.0, -1.0)

    def loss(beta: np.ndarray) -> float:
        return float(np.maximum(0.0, 1.0 - y * (X @ beta)).sum() + 3.0 * np.abs(beta).sum())

    best = hinge_coefficients(X, y, 3.0)
    for _ in range(300):
        assert loss(best) <= loss(best + rng.normal(size=6) * rng.choice([1e-3, 0.1, 1.0])) + 1e-9
    assert sorted(hinge_ballot(X, y, s=2)) == [0, 3]
    for s in (1, 3, 4):
        # By halving, in both directions.
        assert len(hinge_ballot(X, y, s=s)) == s
    assert hinge_ballot(X[:1], y[:1], s=2) == []
    assert hinge_ballot(np.zeros((5, 3)), np.ones(5), s=2) == []


def test_prediction_measures_all_and_the_truth_has_the_least_error() -> None:
    readings = read(Prediction(1000, 2, 1))
    for panel in (AS_ITS_CODE.panel, CLIPPED.panel):
        here = [r for r in readings if r.panel == panel]
        errors = {r.method: r.value for r in here if r.metric == "mse"}
        assert set(errors) >= {TOP_R, MISTAKES, MCMC, VOTES, EXACT}
        least = errors.pop(NON_PRIVATE)
        assert least is not None
        assert all(error is not None and error > 0.9 * least for error in errors.values())
        losses = {r.method: r.value for r in here if r.metric == "utility loss"}
        assert all(loss is not None and loss >= -1e-12 for loss in losses.values())
        assert (ADASSP in errors) == (panel == CLIPPED.panel)
    clipped = {r.method for r in readings if r.metric == "clipped mse"}
    assert clipped == {TOP_R, MISTAKES, MCMC, VOTES, EXACT, ADASSP, NON_PRIVATE}


DATA_ONLY: dict[Recipe, tuple[str, str]] = {
    SupportRecovery(1.0, 300, 8, 2, (TOP_R,), 20, ridge=5.0): (TOP_R, mip_setting.CHANCE.key),
    Prediction(500, 1, 1): (NON_PRIVATE, "mse"),
    OnSynth((1.0,), 5): ("SIS, not private", "accuracy, k = 5"),
    Instability("W1", 3): ("SIS, not private", PICKED.key),
    RandomScores("4, positive", (1.0,), 20): ("uniform", "mse"),
}
"""What the draws have no part in."""


@pytest.mark.parametrize("recipe", DATA_ONLY, ids=lambda recipe: type(recipe).__name__)
def test_the_seed_changes_no_data_and_the_seed_of_the_data_does(recipe: Recipe) -> None:
    def found(seed: int, data: int) -> list[Reading]:
        method, metric = DATA_ONLY[recipe]
        readings = read(recipe, seed, data)
        return [r for r in readings if (r.method, r.metric) == (method, metric)]

    assert found(1, 0) == found(2, 0)
    assert found(1, 1) == found(2, 1)
    assert any(found(1, 0) != found(1, data) for data in (1, 2, 3))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_events_of_one_shot_selection_against_enumeration(noise: str, epsilon: float) -> None:
    scores = np.random.default_rng(3).normal(size=8) * 3.0
    k = 4
    mechanism = OneShotTopK(scores, k, epsilon, noise=noise)
    order = np.argsort(-scores)
    law = {
        subset: math.exp(mechanism.log_probability(subset)) for subset in combinations(range(8), k)
    }
    for event in EVENTS:
        head, last = ends(event, k)
        inside, allowed = set(order[:head]), set(order[:last])
        share = sum(p for subset, p in law.items() if inside <= set(subset) <= allowed)
        found = one_shot_event(scores, k, epsilon, 1.0, noise, event)
        assert found == pytest.approx(share, abs=1e-7)


def test_thresholds_are_where_the_law_crosses() -> None:
    scores = np.floor(2000.0 / np.arange(1, 60))
    for name in ("canonical", "peeling, Gumbel", "joint exponential"):
        law = LAWS[name]
        found = threshold(law, scores, 5, "TOP", 0.999)
        assert found is not None
        assert law(scores, 5, found * 1.001, "TOP") > 0.999 > law(scores, 5, found * 0.999, "TOP")
    tied = np.array([5.0, 4.0, 4.0, 1.0])
    assert threshold(LAWS[CANONICAL], tied, 2, "TOP", 0.999) is None


def test_constant_scenarios_against_all_items() -> None:
    scores, widths = ConstantScores("3, none", ()).scores_and_widths()
    assert sorted(widths[scores > 0.0].tolist()).count(1.8) == 25
    readings = read(ConstantScores("1, positive", (2.0,)))
    scores, widths = ConstantScores("1, positive", ()).scores_and_widths()
    noisy = NoisyMax(scores, 2.0, sensitivity=1.8)
    law = np.exp([noisy.log_probability(index) for index in range(100)])
    assert value(readings, "RNM", "mse") == pytest.approx(float(law @ (1.0 - scores) ** 2))
    assert value(readings, "uniform", "mse") == 2.0


def test_copies_return_under_the_mean_and_not_under_the_maximum() -> None:
    readings = read(Copies(1000, 3, epsilon=50.0))
    assert value(readings, "mean, as published", "both", 2.0) == 0.0
    assert value(readings, "mean, as published", "both", 4.0) == 1.0
    assert value(readings, "maximum", "both", 4.0) == 0.0


FOLDER = Path(__file__).parents[2]

FOR_COMMANDS = (
    *(f"mipselect.cli.{part}" for part in ("declared", "output", "progress", "start")),
    *("mipselect.disk", "mipselect.documents.pictures", "mipselect.validation"),
)

STILL_PRIVATE = {
    ("mipselect.mechanisms.noise.noise", "Noise"),
    ("mipselect.mechanisms.noise.noise", "noise_named"),
    ("mipselect.mechanisms.scores.joint", "Crossings"),
    ("mipselect.mechanisms.supports.propose_test_release", "exceeds_condition"),
    ("mipselect.selectors.sample_aggregate", "lasso_ballot"),
}
"""A name that has become public, or is used no longer, leaves this list."""


def test_what_is_used_is_public() -> None:
    public = {(module, name) for module in (*MODULES, *FOR_COMMANDS) for name in _listed(module)}
    assert _used() - public == STILL_PRIVATE


def _listed(module: str) -> list[str]:
    found = import_module(module)
    return list(getattr(found, "__all__", None) or dir(found))


def _used() -> set[tuple[str, str]]:
    """Module and name of everything that papers/ takes from mipselect."""
    return {
        (node.module or "", alias.name)
        for path in (FOLDER / "papers").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.level == 0
        and (node.module or "").split(".")[0] == "mipselect"
        for alias in node.names
    }


SCORES_OF_SEVEN = {
    "all different": np.array([4.1, -2.0, 0.3, 3.9, 1.2, 6.5, 2.2]),
    "ties": np.array([4.0, -2.0, 0.0, 4.0, 1.0, 4.0, 1.0]),
}


def by_enumeration(scores: np.ndarray, k: int, epsilon: float, head: int, last: int) -> float:
    mechanism = JointExponential(scores, k, epsilon, sensitivity=0.5)
    order = np.argsort(-scores, kind="stable")
    inside, allowed = set(order[:head]), set(order[:last])
    return sum(
        math.exp(mechanism.log_probability(ranking))
        for ranking in permutations(range(scores.size), k)
        if inside <= set(ranking) <= allowed
    )


@pytest.mark.parametrize("scores", SCORES_OF_SEVEN.values(), ids=SCORES_OF_SEVEN)
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_events_of_the_joint_exponential_mechanism(scores: np.ndarray, epsilon: float) -> None:
    for k in (1, 4, 6):
        for event in EVENTS:
            share = by_enumeration(scores, k, epsilon, *ends(event, k))
            found = joint_event(scores, k, epsilon, 0.5, event)
            assert found == pytest.approx(share, abs=1e-10)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_draws_of_peeling_against_its_law(epsilon: float) -> None:
    scores = SCORES_OF_SEVEN["all different"]
    mechanism = Peeling(scores, 4, epsilon, sensitivity=0.5, noise="exponential")
    order = np.argsort(-scores)
    shares = peeled_shares(scores, 4, epsilon, 0.5, 20_000, 3)
    assert list(shares) == list(EVENTS)
    for event, share in shares.items():
        head, last = ends(event, 4)
        inside, allowed = set(order[:head]), set(order[:last])
        chance = math.fsum(
            math.exp(mechanism.log_probability(chosen))
            for chosen in combinations(range(7), 4)
            if inside <= set(chosen) <= allowed
        )
        assert 0.01 < chance < 0.999
        assert abs(share - chance) < 4.0 * math.sqrt(chance * (1.0 - chance) / 20_000)


@pytest.fixture
def one_table(tmp_path: Path) -> DataSource:
    np.save(tmp_path / "mine.npy", np.floor(900.0 / np.arange(1, 41)))
    return DataSource.found(SCORES, tmp_path)


def test_every_mechanism_has_every_event(one_table: DataSource) -> None:
    wanted = {(method, metric.key) for method in METHODS for metric in EVENT_METRICS}
    zipf = list(Zipf(0.5, 3, items=40).measure(1, 1, None))
    assert {(reading.method, reading.metric) for reading in zipf} >= wanted
    counts = list(Counts(3, (1.0,), METHODS, "mine").measure(1, 1, one_table))
    assert {(reading.method, reading.metric) for reading in counts} == wanted
    for readings in (zipf, counts):
        by_event = {(r.method, r.metric): r.value for r in readings}
        for method in METHODS:
            top, great, good = (by_event[method, metric.key] or 0.0 for metric in EVENT_METRICS)
            assert 0.0 < top <= great + 1e-9 <= good + 2e-9 <= 1.0 + 3e-9
