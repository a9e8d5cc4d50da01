"""Ranges that are drawn: scores against their formulas, privacy, what is found, what it costs."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

from mipselect import Ledger
from mipselect.errors import BudgetExceeded, InvalidInput
from mipselect.mechanisms import NoisyMax
from mipselect.mechanisms.scores.noisy_max import permute_and_flip_log_probability
from mipselect.privacy.decimals import exact
from mipselect.privacy.guarantee import Guarantee
from mipselect.regression import (
    AdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    ranges,
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
    range_of_field,
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
        plan = TablePlan(selector, regressor, TableQuestion(schema, "y"))
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
        plan = TablePlan(selector, HUBER, TableQuestion(SCHEMA, "y"), rows=len(base) + 1)
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
    plan = TablePlan(PermuteAndFlipSelector(1), HUBER, TableQuestion(schema, "y"))
    assert plan.epsilon_of_target == 0.0


HUBER_OF_PRIVATE = ObjectivePerturbationRegressor(loss="huber(0.25)", random_state=2)
FIELDS = ("age", "year", "dose", "group", "y")


def schema_of(**stated: tuple[float, float]) -> TableSchema:
    """Numbers without ranges but for those that are stated, and a field of categories."""
    entries: list[dict[str, Any]] = []
    for name in FIELDS:
        entry: dict[str, Any] = {"name": name, "type": "number"}
        if name == "group":
            entry = {"name": name, "type": "string", "categories": ["a", "b"]}
        elif name in stated:
            low, high = stated[name]
            entry["constraints"] = {"minimum": low, "maximum": high}
        entries.append(entry)
    return TableSchema.of({"fields": entries, "missingValues": ["", "NA"]})


def table(n: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, year = rng.normal(50.0, 15.0, n), rng.integers(1990, 2021, n)
    frame = pd.DataFrame({"age": age, "year": year, "dose": rng.lognormal(0.0, 1.0, n)})
    frame["group"] = rng.choice(["a", "b"], n)
    effect = 2000.0 * age + 3000.0 * (year - 2005.0) + 20_000.0 * (frame["group"] == "b")
    frame["y"] = 1e5 + effect + rng.normal(0.0, 5000.0, n)
    return frame


def pair(epsilon: float = 8.0, size: int = 3, **more: Any) -> SelectThenRegress:
    selector = PermuteAndFlipSelector(size, random_state=1)
    regressor = more.pop("regressor", HUBER_OF_PRIVATE)
    return SelectThenRegress(selector, regressor, epsilon=epsilon, ranges="private", **more)


def test_ranges_of_the_drawn_fields_are_drawn_and_released() -> None:
    frame, ledger = table(), Ledger(8.0)
    model = pair(ledger=ledger).fit_table(frame, schema_of(), target="y")
    release = model.release_
    assert release.feature_names == ("age", "year", "group")
    assert ledger.remaining.epsilon == 0.0
    assert release.guarantee.epsilon == 8.0
    drawn = {each["field"]: each for each in release.drawn_ranges}
    assert set(drawn) == {"age", "year", "y"}  # A category needs no range, "dose" was not drawn.
    assert sum(each["epsilon"] for each in drawn.values()) <= 0.2 * 8.0
    for name, each in drawn.items():
        assert each["private"] is False  # Seeded.
        assert each["minimum"] < np.quantile(frame[name], 0.2)
        assert each["maximum"] > np.quantile(frame[name], 0.8)
        fields = {field.name: field for field in release.table.schema.fields}
        assert (fields[name].minimum, fields[name].maximum) == (each["minimum"], each["maximum"])
    assert model.score(frame, frame["y"]) > 0.8
    again = stored_again(release)
    assert again.drawn_ranges == release.drawn_ranges


def test_stated_ranges_are_kept_and_cost_nothing() -> None:
    schema = schema_of(year=(1990.0, 2020.0), y=(0.0, 300_000.0))
    release = pair().fit_table(table(), schema, target="y").release_
    assert [each["field"] for each in release.drawn_ranges] == ["age"]
    assert release.drawn_ranges[0]["epsilon"] == pytest.approx(1.6)
    ends = {field.name: (field.minimum, field.maximum) for field in release.table.schema.fields}
    assert ends["year"] == (1990.0, 2020.0)
    more = {"year": (1980.0, 2030.0)}
    release = pair().fit_table(table(), schema_of(), target="y", ranges=more).release_
    assert {each["field"] for each in release.drawn_ranges} == {"age", "y"}


def test_the_ledger_is_charged_before_a_range_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    monkeypatch.setattr(ranges, "range_of", stop)
    ledger = Ledger(8.0)
    with pytest.raises(Stop):
        pair(ledger=ledger).fit_table(table(500), schema_of(), target="y")
    assert ledger.remaining.epsilon == 0.0
    small = Ledger(7.9)
    with pytest.raises(BudgetExceeded):
        pair(ledger=small).fit_table(table(500), schema_of(), target="y")
    assert small.remaining.epsilon == 7.9


HOSTILE = [
    ["text"] * 60,
    ["NA"] * 60,
    ["inf", "-inf"] * 30,
    ["1e308", "-1e308", "1e-320"] * 20,
    ["7"] * 60,
    ["7"] + [""] * 59,
]


@pytest.mark.parametrize("values", HOSTILE)
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_raised_or_said_because_of_the_rows(values: list[str], seed: int) -> None:
    frame = pd.DataFrame(dict.fromkeys(FIELDS, values))
    model = pair(20.0, regressor=clone(HUBER_OF_PRIVATE).set_params(random_state=seed))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = model.fit_table(frame, schema_of(), target="y").release_
        assert release.has_model
        assert all(np.isfinite([e["minimum"], e["maximum"]]).all() for e in release.drawn_ranges)
        assert np.isfinite(release.predict(frame)).all()


@pytest.mark.parametrize(
    ("size", "stated", "count"),
    [(1, {}, 2), (3, {}, 4), (4, {}, 4), (3, {"y": (0.0, 1.0)}, 3), (1, {"age": (0.0, 90.0)}, 2)],
)
def test_too_few_rows_are_refused_before_anything_is_paid(
    size: int, stated: dict[str, tuple[float, float]], count: int
) -> None:
    """With 0.8 for all ranges each has ε = 0.8/count, and n times that must be 48."""
    least = 60 * count
    ledger = Ledger(4.0)
    model = pair(4.0, size=size, ledger=ledger)
    with pytest.raises(InvalidInput, match=f"48 for each of {count}.* take {least:,} rows"):
        model.fit_table(table(least - 1), schema_of(**stated), target="y")
    assert ledger.remaining.epsilon == 4.0
    model.fit_table(table(least), schema_of(**stated), target="y")
    assert ledger.remaining.epsilon == 0.0


def test_one_row_of_each_person() -> None:
    content = schema_of().content
    content["fields"].append({"name": "who", "type": "string"})
    schema = TableSchema.of({**content, "csvw-eo:privacyUnit": "who"})
    frame = table(1000)
    frame["who"] = [f"p{k // 2}" for k in range(1000)]
    for rule in ("first", "mean"):
        model = pair(size=2).fit_table(frame, schema, target="y", unit_rule=rule)
        assert len(model.release_.drawn_ranges) == 3
        assert model.release_.table.unit == "who"


def test_ranges_see_nothing_of_the_rows_that_are_kept_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def counted(values: np.ndarray, epsilon: float, source: random.Random) -> tuple[float, float]:
        seen.append(len(values))
        return range_of(values, epsilon, source)

    monkeypatch.setattr(ranges, "range_of", counted)
    model = pair(quality_share=0.25, size=2).fit_table(table(2000), schema_of(), target="y")
    assert set(seen) == {1500}
    assert (model.quality_.rows, model.quality_.share) == (500, 0.25)


def test_targets_beyond_their_range_count_where_a_slope_is_bounded() -> None:
    bounds = {"x_bound": 1.0, "y_bound": 1.0}
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (4000, 1))
    y = np.where(rng.random(4000) < 0.2, 1.5, -0.5) + X[:, 0]
    slopes = {}
    for loss, clip in (("huber(0.25)", 1024.0), ("huber(5)", 1.0), ("squared", 1.0)):
        model = ObjectivePerturbationRegressor(
            epsilon=50.0, loss=loss, coef_bound=9.0, random_state=0, **bounds
        )
        assert model._clip_bound == clip
        slopes[loss] = model.fit(X, y).coef_[0]
        if clip > 1.0:  # A gradient is bounded by the loss, whatever the target is.
            assert model._loss().slope(clip, np.inf) == model._loss().slope(1.0, 0.0)
    assert slopes["huber(0.25)"] == pytest.approx(1.0, abs=0.1)
    assert slopes["squared"] < 0.9


@pytest.mark.parametrize(
    ("more", "asked", "words"),
    [
        ({"epsilon": None}, {}, "need epsilon"),
        ({"selector": PermuteAndFlipSelector(1, score="loss")}, {}, "drawn from blocks"),
        ({"ranges": "secret"}, {}, "ranges must be"),
        ({}, {"ranges": {"group": (0.0, 1.0)}}, "numbers without categories"),
        (
            {},
            {"never": ["age", "year", "dose"], "ranges": {"y": (0.0, 1.0)}},
            "none is to be drawn",
        ),
    ],
)
def test_bad_questions(more: dict[str, Any], asked: dict[str, Any], words: str) -> None:
    model = pair(size=1).set_params(**more)
    with pytest.raises(InvalidInput, match=words):
        model.fit_table(table(50), schema_of(), target="y", **asked)


@pytest.mark.parametrize("share", [0.03, 0.2, 0.5, 0.97])
@pytest.mark.parametrize("shift", [0.0, 7.0])
def test_a_range_of_two_numbers_holds_both_without_a_schema(share: float, shift: float) -> None:
    """Most are the same, so that an interval around these alone is the likeliest."""
    source, rng = random.Random(1), np.random.default_rng(0)
    field = schema_of().field("age", "field")
    values = shift + (rng.random(5000) < share)
    for _ in range(20):
        (low, high), whole = range_of_field(field, values, 0.1, source)
        assert whole
        assert low <= shift
        assert high >= shift + 1.0
    others = [range_of_field(field, 0.01 * rng.normal(size=5000), 0.1, source) for _ in range(20)]
    assert not any(whole for _, whole in others)
    assert np.median([high - low for (low, high), _ in others]) < 0.2  # They keep their units.


def test_a_range_that_was_drawn_has_no_part() -> None:
    """It is one already: all of the ε of the model is for the coefficients, and stated ranges."""
    question = TableQuestion(schema_of(year=(1990.0, 2020.0)), "y")
    plan = pair().plan_of_table(question, random.Random(0))
    numbers = plan.ranged_numbers((0, 1, 2, 3))
    assert [*numbers] == ["year"]
    assert plan.epsilon_of_target == 0.0
    assert plan.epsilon_of_a_range((0, 2)) == 0.0 < plan.epsilon_of_a_range((1,))


def table_of_whole(rows: int = 5000) -> pa.Table:
    """Make rows of patients of whom few have diabetes, or were there before."""
    rng = np.random.default_rng(0)
    age, diabetes = rng.integers(18, 95, rows), (rng.random(rows) < 0.05).astype(int)
    visits = rng.poisson(0.2, rows)
    days = 2 + 0.05 * age + 4 * diabetes + 2 * visits + rng.normal(0, 2, rows)
    dead = (rng.random(rows) < np.where(diabetes == 1, 0.3, 0.03)).astype(int)
    columns = {"age": age, "diabetes": diabetes, "visits": visits, "dead": dead}
    return pa.table({**columns, "days": np.clip(days, 0, 40)})


def schema(*, stated: bool = True, kind: str = "integer", **dead: Any) -> TableSchema:
    """Describe them, with ranges or without."""

    def field(name: str, kind: str, low: float, high: float) -> dict[str, Any]:
        ends = {"minimum": low, "maximum": high} if stated or name == "days" else {}
        return {"name": name, "type": kind, "constraints": {"required": True, **ends}}

    fields = [
        field("age", kind, 18, 95),
        field("diabetes", kind, 0, 1),
        field("visits", kind, 0, 10),
        {**field("dead", "integer", 0, 1), **dead},
        field("days", "number", 0, 40),
    ]
    return TableSchema.of({"fields": fields})


def fitted_of_whole(
    schema: TableSchema, target: str, never: str, loss: str = "huber", **more: Any
) -> SelectThenRegress:
    """Fit three fields with a seed."""
    model = SelectThenRegress(
        PermuteAndFlipSelector(3, random_state=0),
        ObjectivePerturbationRegressor(loss=loss, random_state=0),
        epsilon=4,
        **more,
    )
    return model.fit_table(table_of_whole(), schema, target=target, never=[never])


def effects(model: SelectThenRegress) -> dict[str, float]:
    """Return the coefficients by field."""
    return {term.field: term.coefficient for term in model.release_.in_units.terms}


def test_parts_of_whole_numbers_end_at_whole_numbers() -> None:
    """So a rare 0 or 1 keeps its unit."""
    model = fitted_of_whole(schema(), "days", "dead")
    assert effects(model)["diabetes"] == pytest.approx(4.0, abs=1.0)
    assert model.release_.table.ranges["diabetes"] == (0.0, 1.0)
    low, high = model.release_.table.ranges["visits"]
    assert (low, high) == pytest.approx((round(low), round(high)))
    assert 1.0 <= high - low < 10.0
    assert effects(model)["visits"] == pytest.approx(2.0, abs=1.0)


def test_a_number_that_may_be_a_fraction_has_any_part() -> None:
    low, high = fitted_of_whole(schema(kind="number"), "days", "dead").release_.table.ranges[
        "diabetes"
    ]
    assert high - low < 1.0


def test_private_ranges_of_whole_numbers_have_a_unit() -> None:
    model = fitted_of_whole(schema(stated=False), "days", "dead", ranges="private")
    low, high = model.release_.table.ranges["diabetes"]
    assert low == round(low)
    assert high == round(high)
    assert low <= 0.0
    assert high >= 1.0
    assert effects(model)["diabetes"] == pytest.approx(4.0, abs=1.5)


def test_whether_numbers_are_whole_is_paid_out_of_their_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both are drawn from the same values: their ε add up to that of the range."""
    spent: list[Fraction] = []

    def noted(draw: Any) -> Any:
        def drawn(values: Any, epsilon: float, source: Any) -> Any:
            spent.append(exact(epsilon))
            return draw(values, epsilon, source)

        return drawn

    for name in ("counts_whole", "range_of"):
        monkeypatch.setattr(ranges, name, noted(vars(ranges)[name]))
    number, whole = schema(stated=False, kind="number"), schema(stated=False)
    values = np.arange(300.0)
    for known, count in ((number, 2), (whole, 1)):
        for epsilon in (0.1, 0.7, 3.0):
            spent.clear()
            ranges.range_of_field(known.fields[1], values, epsilon, random.Random(0))
            assert len(spent) == count
            assert exact(epsilon) * (1 - Fraction(1, 10**15)) <= sum(spent) <= exact(epsilon)


def test_features_made_of_whole_numbers_keep_their_unit_too() -> None:
    """Of visits most are 0, and most years are the first."""
    content = schema().content
    years = np.where(np.random.default_rng(1).random(5000) < 0.05, 2021, 2020)
    rows = table_of_whole().append_column("when", pa.array([f"{year}-03-01" for year in years]))
    made = [
        {"name": "root of visits", "from": "visits", "transform": "sqrt"},
        {"name": "year", "from": "when", "part": "year", "minimum": 2015, "maximum": 2025},
    ]
    known = TableSchema.of(
        {
            "fields": [*content["fields"], {"name": "when", "type": "date"}],
            "mipselect:features": made,
        }
    )
    model = SelectThenRegress(
        PermuteAndFlipSelector(2, random_state=0),
        ObjectivePerturbationRegressor(loss="huber", random_state=0),
        epsilon=4,
    ).fit_table(rows, known, target="days", never=["dead", "visits", "age", "diabetes"])
    ranges = model.release_.table.ranges
    low, high = ranges["root of visits"]
    assert low == pytest.approx(0.0, abs=1e-9)
    assert high**2 == pytest.approx(round(high**2))
    assert high >= 1.0
    low, high = ranges["year"]
    assert low <= 2020.0
    assert (low, high) == pytest.approx((round(low), round(high)))
    assert high >= 2021.0 - 1e-6


@pytest.mark.parametrize(
    ("transform", "low", "high", "expected"),
    [
        ("sqrt", 0.0, 0.1, (0.0, 1.0)),
        ("sqrt", -3.0, 0.5, (-3.0, 1.0)),
        ("log", 0.1, 0.2, (0.0, np.log(2.0))),
        ("log", -5.0, 1e9, (-5.0, 1e9)),
    ],
)
def test_curves_of_whole_numbers(
    transform: str, low: float, high: float, expected: tuple[float, float]
) -> None:
    source = {"name": "k", "type": "integer", "constraints": {"minimum": 1, "maximum": 9}}
    made = {"name": "f", "from": "k", "transform": transform}
    (of_whole,) = TableSchema.of({"fields": [source], "mipselect:features": [made]}).derived
    assert of_whole.whole_ends(low, high) == pytest.approx(expected)
    fractions = {**source, "type": "number"}
    (other,) = TableSchema.of({"fields": [fractions], "mipselect:features": [made]}).derived
    assert other.whole_ends(low, high) == (low, high)
