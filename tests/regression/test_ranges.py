"""Ranges that are drawn: scores against their formulas, privacy, and what is found."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mipselect.mechanisms import NoisyMax
from mipselect.mechanisms.scores.noisy_max import permute_and_flip_log_probability
from mipselect.privacy.guarantee import Guarantee
from mipselect.regression import (
    AdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
)
from mipselect.regression import (
    plan as planning,
)
from mipselect.regression.plan import TablePlan, target_share
from mipselect.regression.ranges import (
    FARTHER,
    FEW,
    OF_NUMBER,
    OF_TARGET,
    RARER,
    SIZES,
    Parts,
    law_of_size,
    log_odds_of_whole,
    range_of,
)
from mipselect.regression.rows import TargetPart
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.selectors.all_features import AllFeaturesSelector
from mipselect.tables import TableSchema
from mipselect.tables.public_map import TableQuestion
from tests.support.all_regressors import stored_again
from tests.support.perturbed_laws import PerturbedMinimiser

NAN, INF = math.nan, math.inf
LISTS = {"features": OF_NUMBER, "target": OF_TARGET, "short": Parts((16, 11))}

BASES = {
    "nobody": [],
    "all alike": [0.3] * 40,
    "at both ends": [-1.0] * 20 + [1.0] * 21,
    "spread": np.linspace(-0.9, 0.2, 30).tolist(),
    "missing": [NAN] * 30 + [0.25] * 5,
}
TABLES = [
    [0.0, 1.0, 2.0, 3.0, 50.0],
    [-1e6, 0.25, 0.25, 0.25, 7.0, 7.5, 1e12],
    [2005.0] * 9,
    [1e-300, -1e-300, 0.0, INF, -INF, NAN, 1e300],
    [float(v) for v in range(0, 40, 3)],
    [NAN, NAN, 4.0],
    [],
    [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 2.0**63, -(2.0**-64)],
]
INSIDE = [-1.0, 1.0, 0.0, 0.5, 2.0**-7, 0.3, -0.999, NAN]
ANYWHERE = [0.0, 1.0, -5.0, 1e9, 1e-20, INF, NAN, 2.0**40, 2.0**40 + 1.0, 2.0**-70]


def changed(base: list[float], kinds: list[float]) -> Iterator[tuple[list[float], list[float]]]:
    """Pairs of which one value is another, and of which one is there or not."""
    for one, other in itertools.combinations(kinds, 2):
        yield [*base, one], [*base, other]
    yield from ((base, [*base, one]) for one in kinds)


def scores_of(law: NoisyMax) -> np.ndarray:
    return np.asarray(law.scores)


def logs_of(law: NoisyMax) -> np.ndarray:
    return np.array([law.log_probability(k) for k in range(len(scores_of(law)))])


def test_parts_cover_the_range_at_every_length() -> None:
    for level in range(8):
        ends = OF_NUMBER.ends[OF_NUMBER.levels == level]
        assert (ends[0, 0], ends[-1, 1]) == (-1.0, 1.0)
        assert (np.diff(ends)[:, 0] == 2.0 ** (1 - level)).all()
        assert (ends[2:, 0] == ends[:-2, 1]).all()
    assert OF_NUMBER.narrowest == 2.0**-6
    assert OF_NUMBER.wider(0) == (-1.0, 1.0)


@pytest.mark.parametrize("parts", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 9.0])
def test_scores_of_parts_are_their_formula(parts: Parts, base: str, epsilon: float) -> None:
    there = [min(v, math.nextafter(1.0, 0.0)) for v in BASES[base] if not math.isnan(v)]
    gained = math.floor(min(len(there), math.sqrt(len(there) * FEW / epsilon)))
    expected = []
    for level, (low, high) in zip(parts.levels.tolist(), parts.ends.tolist(), strict=True):
        gain = sum(parts.percent[:level]) / 100.0 * gained
        rarer = 2.0 * level * math.log(RARER) / epsilon
        expected.append(gain - sum(not low <= v < high for v in there) - rarer)
    law = parts.law(np.array(BASES[base]), epsilon)
    assert (law.epsilon, law.sensitivity, law.noise) == (epsilon, 100.0, "exponential")
    np.testing.assert_allclose(scores_of(law) / 100.0, expected, atol=0.006)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("epsilon", "twentieths"), [(5000.0, 2), (1e-3, 8)])
def test_scores_of_sizes_are_their_formula(
    table: list[float], epsilon: float, twentieths: int
) -> None:
    there = [abs(v) for v in table if not math.isnan(v) and v != 0.0]
    q = Fraction(twentieths, 20) * len(there)
    out = [sum(v > size for v in there) for size in SIZES.tolist()]
    smaller = [len(there), *out]
    law = law_of_size(np.array(table), epsilon)
    near = [min(q - o, s - q) for o, s in zip(out, smaller, strict=False)]
    far = 2.0 * abs(np.log2(SIZES)) * math.log(FARTHER) / epsilon
    expected = np.array([*map(float, near)]) - far
    np.testing.assert_allclose(scores_of(law) / 20.0, expected, rtol=1e-15, atol=0.026)
    assert (law.sensitivity, law.epsilon) == (20.0, epsilon)


@pytest.mark.parametrize("epsilon", [0.003, 0.2, 1.0, 700.0])
def test_no_score_moves_by_more_than_the_sensitivity(epsilon: float) -> None:
    """The mechanism is private by that, whose own tests have its exact laws."""
    most = 0.0
    bases = [BASES["all alike"], BASES["missing"], *([0.1] * n for n in (1, 2, 50, 333, 1999))]
    for parts, base in itertools.product((OF_NUMBER, LISTS["short"]), bases):
        tables = [base, *([*base, value] for value in INSIDE)]
        laws = [parts.law(np.array(values), epsilon) for values in tables]
        for first, second in itertools.combinations(map(scores_of, laws), 2):
            moved = np.abs(first - second).max() / laws[0].sensitivity
            assert moved <= 1.0
            most = max(most, moved)
    assert most == 1.0


@pytest.mark.parametrize("table", TABLES)
def test_no_score_of_sizes_moves_by_more_than_the_sensitivity(table: list[float]) -> None:
    """Under replace-one: their number is public, and of no value for 0 and what is missing."""
    for one, other in itertools.combinations(ANYWHERE, 2):
        laws = [law_of_size(np.array([*table, value]), 0.7) for value in (one, other)]
        first, second = map(scores_of, laws)
        assert np.abs(first - second).max() <= laws[0].sensitivity


def test_the_exact_law_of_a_short_list_uses_epsilon() -> None:
    """One that took u for half as sensitive would lose twice as much."""
    worst = 0.0
    for epsilon, base in ((1.0, "all alike"), (0.2, "spread"), (3.0, "nobody"), (1.0, "missing")):
        for pair in changed(BASES[base], INSIDE):
            one, other = (logs_of(LISTS["short"].law(np.array(v), epsilon)) for v in pair)
            worst = max(worst, float(np.abs(one - other).max()) / epsilon)
    assert 0.6 < worst <= 1.0 + 1e-9


def law_of_whole(values: list[float], epsilon: float) -> list[float]:
    utilities = np.array([float(log_odds_of_whole(np.array(values), epsilon)), 0.0])
    return [permute_and_flip_log_probability(utilities - utilities.max(), k) for k in (0, 1)]


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 5.0])
def test_both_outcomes_of_the_draw_of_whole_numbers_are_private(epsilon: float) -> None:
    """Any row of nine against any other, one that is missing, and one row fewer."""
    largest = 0.0
    for whole in range(9):
        rest = [1.0] * whole + [0.25] * (8 - whole)
        laws = [law_of_whole([*rest, value], epsilon) for value in (0.0, 1.0, 0.5, NAN, INF)]
        laws.append(law_of_whole(rest, epsilon))
        largest = max(largest, float(np.ptp(laws, axis=0).max()))
    assert 0.5 * epsilon < largest <= epsilon + 1e-12


def drawn_part(values: np.ndarray, epsilon: float = 0.3, parts: Parts = OF_NUMBER) -> np.ndarray:
    return np.array(parts.drawn(values, epsilon, random.Random(0)))


def share_inside(values: np.ndarray, part: tuple[float, float]) -> float:
    return float(np.mean((part[0] <= values) & (values <= part[1])))


@pytest.mark.parametrize(
    ("values", "inside"),
    [
        (np.full(4000, 0.25), (0.2, 0.3)),
        (np.full(4000, -1.0), (-1.0, -0.97)),
        (np.full(4000, 1.0), (0.97, 1.0)),
        (np.random.default_rng(0).normal(-0.4, 0.02, 4000), (-0.6, -0.2)),
        (np.append(np.full(3000, 0.5), np.full(5000, NAN)), (0.45, 0.55)),
    ],
)
def test_most_values_lie_inside(values: np.ndarray, inside: tuple[float, float]) -> None:
    low, high = drawn_part(values)
    there = values[~np.isnan(values)]
    assert inside[0] <= low < high <= inside[1]
    assert share_inside(there, (low, high)) > 0.9
    # What many rows share lies inside, not on an end, but where the range itself ends.
    assert low < np.median(there) < high or abs(np.median(there)) == 1.0


def test_what_a_part_may_cut_off() -> None:
    rng = np.random.default_rng(0)
    # Many values are cut off less than few.
    tail = np.where(rng.random(200_000) < 0.07, 0.9, -0.5)
    assert drawn_part(tail[:500])[1] < 0.9
    low, high = drawn_part(tail)
    assert low < -0.5 < 0.9 < high
    # Of a number a quarter in a tail may be, and not of a target.
    values = np.where(np.arange(600) % 4 == 0, 0.95, -0.5)
    low, high = drawn_part(values, parts=OF_TARGET)
    assert low < -0.5 < 0.95 <= high
    assert drawn_part(values)[1] < 0.95
    wide = rng.uniform(-1.0, 1.0, 4000)
    assert drawn_part(wide, 1.0).tolist() == [-1.0, 1.0]


@pytest.mark.parametrize(
    ("product", "parts", "missed"),
    [
        (planning.LEAST_OF_A_RANGE, OF_NUMBER, 0.12),
        (planning.LEAST_OF_A_TARGET, OF_TARGET, 0.01),
        (planning.ENOUGH_FOR_A_TARGET, OF_TARGET, 0.0),
    ],
)
def test_few_rows_seldom_have_most_values_outside(
    product: float, parts: Parts, missed: float
) -> None:
    """By n times ε, whatever part of the range they fill."""
    for width in (0.02, 0.1, 0.5, 9.0):
        rng = np.random.default_rng(0)
        values = rng.uniform(-1, 1, 300) if width > 1.0 else rng.normal(0.37, width, 300)
        law = parts.law(np.clip(values, -1.0, 1.0), product / 300)
        drawn = [share_inside(values, parts.wider(law.sample(seed))) for seed in range(100)]
        assert np.mean(np.array(drawn) < 0.5) <= missed


COLUMNS = {
    "normal": lambda rng, n: rng.normal(0.0, 1.0, n),
    "years": lambda rng, n: rng.integers(1990, 2021, n) + 0.0,
    "ages": lambda rng, n: rng.normal(50.0, 15.0, n),
    "tail": lambda rng, n: rng.lognormal(0.0, 1.0, n),
    "small": lambda rng, n: 1e-9 * rng.exponential(1.0, n),
    "mostly 0": lambda rng, n: rng.normal(30.0, 5.0, n) * (rng.random(n) < 0.3),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_range_that_nobody_states_holds_most_values(name: str) -> None:
    values = COLUMNS[name](np.random.default_rng(0), 2000)
    spread = np.diff(np.quantile(values, [0.02, 0.98]))[0]
    for seed in range(20):
        low, high = range_of(values, 0.1, random.Random(seed))
        assert share_inside(values, (low, high)) > 0.75
        assert high - low < 12.0 * spread


# The part of its range where nearly all targets lie, and the model in its units.


@pytest.mark.parametrize(
    ("product", "share"),
    [(95.0, 0.0), (97.0, 0.25), (128.0, 0.25), (320.0, 0.1), (400.0, 0.08), (1e6, 0.08)],
)
def test_the_share_of_the_part_of_a_target(product: float, share: float) -> None:
    assert target_share(product) == pytest.approx(share)


@pytest.mark.parametrize("rows", [3, 5, 8, 12, 400])
def test_rho_is_no_less_than_that_of_the_parts(rows: int) -> None:
    """Where an (ε, δ) model has little ρ beside pure draws of the same ε."""
    _, schema = weights(1)
    selector = AllFeaturesSelector(2, epsilon=1.0)
    for regressor in (AdaSSPRegressor(epsilon=40.0, delta=1e-6), clone(HUBER)):
        plan = TablePlan(TableQuestion(schema, "y"), selector, regressor, 2)
        known = replace(plan, rows=rows)
        each, of_target = known.epsilon_of_a_range((0, 1)), known.epsilon_of_target
        spent = 2 * 0.5 * each**2 + 0.5 * of_target**2
        whole = spent + rho_of(known.model_on((0, 1)).promise(4))
        assert whole <= rho_of(plan.model_promise) * (1.0 + 1e-9)


def rho_of(guarantee: Guarantee) -> float:
    return 0.5 * guarantee.epsilon**2 if guarantee.rho is None else guarantee.rho


def test_a_model_in_units_of_a_part_predicts_the_same() -> None:
    part = TargetPart(0.2, 0.6, 0.1)
    rows = np.column_stack([np.random.default_rng(0).uniform(-1, 1, (50, 2)), np.ones(50)])
    theta = np.array([0.3, -0.2, 0.1])
    y = rows @ part.coefficients(theta)
    np.testing.assert_allclose(part.units(y), rows @ theta, atol=1e-12)


NUMBER = {"type": "number"}
SCHEMA = TableSchema.of(
    {
        "fields": [
            {"name": "a", "type": "boolean", "constraints": {"required": True}},
            {"name": "y", **NUMBER, "constraints": {"minimum": -1, "maximum": 1}},
        ]
    }
)
HUBER = ObjectivePerturbationRegressor(loss="huber", epsilon=1.0)


def law_of_pairs(plan: TablePlan, rows: list[tuple[bool, float]]) -> np.ndarray:
    """Log densities of all parts, and of coefficients of a grid in units of each, together."""
    x = np.array([[1.0 if a else -1.0, 1.0] for a, _ in rows])
    y = np.array([t for _, t in rows])
    epsilon, parts = plan.epsilon_of_target, Parts((4, 4))
    model = plan.model_on((0,))._for_rows(len(rows))
    chosen, loss = model._perturbation(1, len(rows)), model._loss()
    balls, _ = model._change(1)
    thetas = np.array([*itertools.product(np.linspace(-3.0, 3.0, 7), repeat=2)])
    found = []
    for index, log_part in enumerate(logs_of(parts.law(y, epsilon))):
        target = TargetPart(*parts.wider(index), epsilon).units(y)
        minimiser = PerturbedMinimiser(loss, x, target, chosen, model._radius(1), balls)
        found.append(log_part + minimiser.log_density(thetas))
    return np.concatenate(found)


def test_part_and_coefficients_keep_epsilon_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Densities of the pair, up to constants that are public, on rows that differ in one."""
    monkeypatch.setattr(planning, "LEAST_OF_A_TARGET", 0.0)
    hostile = [(a, t) for a in (False, True) for t in (-1.0, 1.0, 0.26)]
    worst = 0.0
    for base in ([(True, 0.9), (False, -1.0)], [(True, 0.3)] * 6):
        selector = AllFeaturesSelector(1, epsilon=1.0)
        plan = TablePlan(TableQuestion(SCHEMA, "y"), selector, HUBER, 1, rows=len(base) + 1)
        assert plan.epsilon_of_target > 0.0
        assert plan.epsilon_of_target + plan.model_on((0,)).epsilon <= 1.0
        for one, other in itertools.combinations(hostile, 2):
            first, second = (law_of_pairs(plan, [*base, row]) for row in (one, other))
            worst = max(worst, float(np.abs(first - second).max()))
    assert 0.5 < worst <= 1.0


def weights(n: int, seed: int = 0) -> tuple[pd.DataFrame, TableSchema]:
    """A target that keeps to a small part of the range that is stated, which some do not tell."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(0.0, 10.0, n)
    y = 640.0 + 2.0 * a + rng.normal(0.0, 2.0, n)
    frame = pd.DataFrame({"a": a, "b": rng.uniform(0.0, 10.0, n), "y": y})
    frame.loc[rng.random(n) < 0.1, "y"] = np.nan
    tens = {**NUMBER, "constraints": {"minimum": 0, "maximum": 10}}
    fields = [{"name": "a", **tens}, {"name": "b", **tens}]
    target = {"name": "y", **NUMBER, "constraints": {"minimum": 0, "maximum": 10_000}}
    return frame, TableSchema.of({"fields": [*fields, target]})


def fitted(n: int, loss: str) -> ModelRelease:
    frame, schema = weights(n)
    regressor = ObjectivePerturbationRegressor(loss=loss, random_state=2)
    model = SelectThenRegress(PermuteAndFlipSelector(1, random_state=1), regressor, epsilon=2.0)
    return model.fit_table(frame, schema, target="y").release_


def test_a_wide_range_of_the_target_costs_little() -> None:
    frame, _ = weights(800)
    there = frame[frame["y"].notna()]
    errors = {}
    for name, release in {
        "huber": fitted(800, "huber"),
        "a κ of the user": fitted(800, "huber(0.25)"),
    }.items():
        errors[name] = float(np.abs(release.predict(there) - there["y"]).mean())
        assert ("most values of the target lie" in str(release)) is (name == "huber")
        assert release.guarantee.epsilon <= 2.0
        stored_again(release)
    assert errors["huber"] < 2.0 < 8.0 < errors["a κ of the user"]
    # Few rows and private numbers of rows leave it.
    assert "most values of the target" not in str(fitted(60, "huber"))
    _, schema = weights(1)
    plan = TablePlan(TableQuestion(schema, "y"), PermuteAndFlipSelector(1), HUBER, 1)
    assert plan.epsilon_of_target == 0.0
