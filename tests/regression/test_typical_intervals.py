"""The law of typical intervals: against lists written out, its privacy exactly, and its draws."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mipselect.errors import InvalidInput
from mipselect.mechanisms.scores.utilities import spendable
from mipselect.privacy.guarantee import Guarantee
from mipselect.regression import (
    AdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    shares,
)
from mipselect.regression.plan import TablePlan
from mipselect.regression.rows import TargetPart
from mipselect.regression.shares import target_share
from mipselect.regression.typical_intervals import (
    BEYOND,
    EVERYWHERE,
    FEW,
    OF_PLACES,
    OF_TARGET,
    WITHIN,
    IntervalLaw,
    IntervalList,
    ListedInterval,
    ends_of_part,
    halves,
    law_of_part,
    part_of,
    weights_of_places,
)
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.selectors.all_features import AllFeaturesSelector
from mipselect.tables import TableSchema
from mipselect.tables.public_map import TableQuestion
from tests.support.all_regressors import stored_again
from tests.support.listed_intervals import every_interval, held_by, logs_of
from tests.support.perturbed_laws import PerturbedMinimiser

NAN, INF = math.nan, math.inf
SLACK = 1e-9
LOG_TOTAL = math.log(EVERYWHERE.total)

TABLES = [
    [0.0, 1.0, 2.0, 3.0, 50.0],
    [-1e6, 0.25, 0.25, 0.25, 7.0, 7.5, 1e12],
    [2005.0] * 9,
    [1e-300, -1e-300, 0.0, INF, -INF, NAN, 1e300],
    [float(v) for v in range(0, 40, 3)],
    [NAN, NAN, 4.0],
    [NAN],
    [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 2.0**62, -(2.0**-64)],
]


def intervals_of(*tables: list[float]) -> list[ListedInterval]:
    """All intervals that hold a value of one of some tables, and two that hold none."""
    laws = (IntervalLaw(np.array(table), 1.0, 2) for table in tables)
    found = {interval for law in laws for interval in held_by(law)}
    empty = ListedInterval(-64, 3)
    return [*found, empty, ListedInterval(10, -12345)]


def test_the_weights_add_up() -> None:
    octave = [
        sum(EVERYWHERE.weight(ListedInterval(61, j)) for j in range(1 << m, 2 << m))
        for m in range(10)
    ]
    assert [2 * mass for mass in octave] == OF_PLACES[1:11]
    assert EVERYWHERE.weight(ListedInterval(61, 0)) == OF_PLACES[0]
    assert EVERYWHERE.total < 2**63
    assert sum(OF_PLACES) < 2**53
    for listed in (*WITHIN.values(), OF_TARGET):
        assert listed.total == sum(map(listed.weight, every_interval(listed))) < 2**63


@pytest.mark.parametrize("table", TABLES)
def test_occupied_intervals_are_those_with_values(table: list[float]) -> None:
    there = [Fraction(v) for v in table if math.isfinite(v) and abs(v) < BEYOND]
    sizes = 0
    for size in IntervalLaw(np.array(table), 1.0, 2).occupied():
        sizes += 1
        exponent = EVERYWHERE.first + size.step
        h = Fraction(2) ** exponent
        assert len(set(size.places.tolist())) == len(size.places)
        counted = Counter()
        for v in there:
            cell = math.floor(v / h)
            counted.update(p for p in (cell, cell + 1) if abs(p) < 2**21)
        assert dict(zip(size.places.tolist(), size.inside.tolist(), strict=True)) == counted
        chosen = [ListedInterval(exponent, p) for p in size.places.tolist()]
        weight = EVERYWHERE.weights[size.step]
        assert [*map(EVERYWHERE.weight, chosen)] == (
            weight * weights_of_places(size.places)
        ).tolist()
    assert sizes == 126


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("epsilon", "outside"), [(0.3, 2), (4.0, 6), (50.0, 1)])
def test_the_law_is_the_exponential_mechanism(
    table: list[float], epsilon: float, outside: int
) -> None:
    law = IntervalLaw(np.array(table), epsilon, outside)
    m = sum(not math.isnan(v) for v in table)
    held = held_by(law)

    def log_weight(interval: ListedInterval) -> float:
        inside = held.get(interval, 0)
        far = abs(20 * (m - inside) - outside * m)
        return math.log(EVERYWHERE.weight(interval)) - spendable(epsilon, LOG_TOTAL) * far / 40

    chosen = intervals_of(table)
    *some, empty, _ = chosen
    rest = EVERYWHERE.total - sum(map(EVERYWHERE.weight, some))
    terms = [*map(log_weight, some)]
    terms.append(log_weight(empty) - math.log(EVERYWHERE.weight(empty)) + math.log(rest))
    largest = max(terms)
    whole = largest + math.log(math.fsum(math.exp(t - largest) for t in terms))
    expected = np.array([*map(log_weight, chosen)]) - whole
    assert logs_of(law, chosen) == pytest.approx(expected, abs=1e-9)
    for interval in (chosen[0], chosen[len(chosen) // 2], empty):
        assert law.log_probability(interval) == pytest.approx(log_weight(interval) - whole)


HOSTILE = [0.0, 1.0, -5.0, 1e9, 1e-20, INF, NAN, 2.0**40, 2.0**40 + 1.0]


def neighbours(table: list[float]) -> list[list[float]]:
    """A table with one row more, with one removed, and with one replaced."""
    found = [[*table, value] for value in HOSTILE]
    for j in {0, len(table) - 1}:
        rest = table[:j] + table[j + 1 :]
        found += [rest, *([*rest, value] for value in HOSTILE)]
    return found


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("epsilon", "outside"),
    [(0.5, 2), pytest.param(2.0, 6, marks=pytest.mark.deep), (20.0, 19)],
)
def test_private_under_both_relations(table: list[float], epsilon: float, outside: int) -> None:
    one = IntervalLaw(np.array(table), epsilon, outside)
    for other in neighbours(table):
        two = IntervalLaw(np.array(other), epsilon, outside)
        chosen = intervals_of(table, other)
        losses = logs_of(one, chosen) - logs_of(two, chosen)
        assert np.abs(losses).max() <= epsilon + SLACK


def test_the_whole_of_epsilon_is_used() -> None:
    """An audit that could not fail would find less."""
    epsilon, at, beside = 1.0, ListedInterval(0, 0), ListedInterval(0, 40)
    values = [0.5] * 18 + [40.5] * 2
    one = IntervalLaw(np.array(values), epsilon, 2)
    two = IntervalLaw(np.array([*values[1:], 40.5]), epsilon, 2)
    found = one.log_probability(at) - two.log_probability(at)
    found -= one.log_probability(beside) - two.log_probability(beside)
    assert found == pytest.approx(epsilon, abs=1e-6)


def test_rounding_is_paid_for() -> None:
    """At a small ε that is a visible part of it."""
    epsilon, at, nowhere = 1e-6, ListedInterval(0, 0), ListedInterval(0, 40)
    law = IntervalLaw(np.full(1000, 0.5), epsilon, 2)
    found = law.log_probability(at) - law.log_probability(nowhere)
    found -= math.log(EVERYWHERE.weight(at) / EVERYWHERE.weight(nowhere))
    expected = spendable(epsilon, LOG_TOTAL) * (18_000 - 2_000) / 40.0
    assert found == pytest.approx(expected, rel=1e-8)
    assert expected < (1.0 - 1e-7) * epsilon * 16_000 / 40.0


def test_no_log_weight_is_so_large_that_its_rounding_is_not_paid_for() -> None:
    """The loss to many digits, of weights as integers, where a log beyond the reach is 10⁵."""
    epsilon, m = 20.7, 16_100
    values = np.repeat([0.5, 40.5], [m * 9 // 10, m // 10])
    laws = [IntervalLaw(some, epsilon, 2) for some in (values, np.append(values[1:], 40.5))]
    with mpmath.workdps(40):
        for place in (0, 40):
            interval, logs = ListedInterval(0, place), []
            for law in laws:
                scores, weights = law._levels
                level = int(np.searchsorted(scores, law._scores(0, law.inside(interval))))
                part = mpmath.mpf(EVERYWHERE.weight(interval) * law._law.weight(level))
                logs.append(mpmath.log(part / (int(weights[level]) * law._law.total)))
            assert abs(logs[0] - logs[1]) <= epsilon


def test_public_places_follow_their_weights() -> None:
    source, draws = random.Random(1), 20_000
    for step, octaves in ((0, 21), (125, 21)):
        found = Counter(EVERYWHERE.place(step, source) for _ in range(draws))
        whole = sum(OF_PLACES[: octaves + 1])
        fours = sum(found[p] for p in (*range(4, 8), *range(-7, -3)))
        for count, weight in ((found[0], OF_PLACES[0]), (fours, OF_PLACES[3])):
            p = weight / whole
            assert abs(count - draws * p) < 5.0 * math.sqrt(draws * p * (1.0 - p))
    listed = halves(1, 1)
    assert {listed.place(0, source) for _ in range(500)} == {*range(-3, 4)}
    assert {listed.place(2, source) for _ in range(50)} == {0}


@pytest.mark.parametrize(("epsilon", "outside"), [(0.0, 2), (1.0, -1), (1.0, 20), (-1.0, 3)])
def test_arguments_are_checked(epsilon: float, outside: int) -> None:
    with pytest.raises(InvalidInput):
        IntervalLaw(np.zeros(3), epsilon, outside)
    with pytest.raises(InvalidInput, match="outside must be 0"):
        IntervalLaw(np.zeros(3), 1.0, 2, OF_TARGET)


# Parts of [-1, 1]: short lists, whose laws are written out.

RELATIONS = ["add-remove", "replace-one"]
ODD = [-1.0, 1.0, 0.0, 0.5, 2.0**-7, 0.3, -0.999, NAN]
BASES = {
    "nobody": [],
    "all alike": [0.3] * 40,
    "at both ends": [-1.0] * 20 + [1.0] * 21,
    "spread": np.linspace(-0.9, 0.2, 30).tolist(),
    "missing": [NAN] * 30 + [0.25] * 5,
}
LISTS = {
    "features": WITHIN["replace-one"],
    "features, rows unknown": WITHIN["add-remove"],
    "target": OF_TARGET,
}


def gained(values: list[float], epsilon: float) -> int:
    return math.floor(min(len(values), math.sqrt(len(values) * FEW / epsilon)))


@pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 9.0])
def test_the_law_of_parts_is_the_exponential_mechanism(
    listed: IntervalList, base: str, epsilon: float
) -> None:
    there = [min(v, math.nextafter(1.0, 0.0)) for v in BASES[base] if not math.isnan(v)]
    logs = []
    for each in every_interval(listed):
        low, high = each.wider(1.0)
        gain = listed.gains[each.exponent - listed.first] / 100.0 * gained(there, epsilon)
        score = gain - sum(not low <= v < high for v in there)
        logs.append(math.log(listed.weight(each)) + 0.5 * epsilon * score)
    law = law_of_part(np.array(BASES[base]), epsilon, listed)
    expected = np.array(logs) - np.logaddexp.reduce(logs)
    np.testing.assert_allclose(logs_of(law), expected, atol=1e-9)
    some = [law.log_probability(each) for each in every_interval(listed)[::50]]
    assert some == pytest.approx(expected[::50], abs=1e-9)


def changed(base: list[float]) -> Iterator[tuple[list[float], list[float]]]:
    for one, other in itertools.product(ODD, ODD):
        yield [*base, one], [*base, other]
    yield from ((base, [*base, one]) for one in ODD)


@pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS)
def test_parts_are_private_under_both_relations(listed: IntervalList) -> None:
    worst = 0.0
    for epsilon, base in ((1.0, "all alike"), (0.2, "spread"), (3.0, "nobody"), (1.0, "missing")):
        for pair in changed(BASES[base]):
            one, other = (logs_of(law_of_part(np.array(v), epsilon, listed)) for v in pair)
            loss = float(np.abs(one - other).max())
            assert loss <= epsilon + SLACK
            worst = max(worst, loss / epsilon)
    # A law that took u for half as sensitive would lose twice as much.
    assert worst > 0.6


def test_draws_of_parts_have_their_probabilities() -> None:
    law = law_of_part(np.array([0.3] * 30 + [-0.6] * 10), 0.4, WITHIN["replace-one"])
    source, count = random.Random(1), 3000
    drawn = Counter(law.sample(source) for _ in range(count))
    for interval, found in drawn.most_common(12):
        share = math.exp(law.log_probability(interval))
        assert abs(found / count - share) < 5.0 * math.sqrt(share / count)
    held = sum(found for interval, found in drawn.items() if law.inside(interval))
    logs = zip(every_interval(law.listed), logs_of(law), strict=True)
    share = math.fsum(math.exp(log) for interval, log in logs if law.inside(interval))
    assert abs(held / count - share) < 5.0 * math.sqrt(share / count)


def test_the_number_that_gains_count_of_moves_by_one() -> None:
    for epsilon in (0.003, 0.04, 1.0, 700.0):
        numbers = [IntervalLaw(np.zeros(n), epsilon, 0, OF_TARGET).gaining for n in range(2000)]
        assert numbers[0] == 0
        assert set(np.diff(numbers)) <= {0, 1}
        most = IntervalLaw(np.zeros(10**6), epsilon, 0, OF_TARGET).gaining
        assert most == math.isqrt(min(10**12, int(FEW * 10**6 / epsilon)))


def test_parts_cover_the_range_at_every_length() -> None:
    listed = WITHIN["replace-one"]
    for step in range(8):
        ends = [i.wider(1.0) for i in every_interval(listed) if i.exponent == step - 7]
        assert (ends[0][0], ends[-1][1]) == (-1.0, 1.0)
        assert all(high - low == 2.0 ** (step - 6) for low, high in ends)
        assert [low for low, _ in ends[2:]] == [high for _, high in ends[:-2]]
    assert listed.gains == (50, 48, 45, 41, 35, 27, 16, 0)


def drawn_part(values: np.ndarray, epsilon: float = 0.3) -> tuple[float, float]:
    return part_of(values, epsilon, WITHIN["replace-one"], random.Random(0))


def test_many_values_are_cut_off_less_than_few() -> None:
    rng = np.random.default_rng(0)
    tail = np.where(rng.random(200_000) < 0.07, 0.9, -0.5)
    assert drawn_part(tail[:500])[1] < 0.9
    low, high = drawn_part(tail)
    assert low < -0.5 < 0.9 < high


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
    assert ((low <= there) & (there <= high)).mean() > 0.9
    # What many rows share lies inside, not on an end, but where the range itself ends.
    assert low < np.median(there) < high or abs(np.median(there)) == 1.0


def test_without_data_no_length_is_rare() -> None:
    law = law_of_part(np.array([]), 1.0, WITHIN["replace-one"])
    shares = Counter()
    for interval, log in zip(every_interval(law.listed), logs_of(law), strict=True):
        shares[interval.exponent] += math.exp(log)
    assert sorted(shares.values()) == [shares[k] for k in range(0, -8, -1)]
    assert 0.02 < shares[0] < 8.0 / 9.0 * shares[-7] < 0.2


def test_where_rows_are_not_public_few_of_them_keep_the_range() -> None:
    """n ε = 8: a draw that cuts off half of the values is rare, as it is not under replace-one."""
    values, cut = np.linspace(-0.99, 0.99, 400), {}
    for relation in RELATIONS:
        law = law_of_part(values, 8.0 / 400, WITHIN[relation])
        cut[relation] = 0.0
        for interval, log in zip(every_interval(law.listed), logs_of(law), strict=True):
            low, high = ends_of_part(interval)
            if np.mean((values >= low) & (values <= high)) < 0.5:
                cut[relation] += math.exp(log)
    assert cut["add-remove"] < 0.1
    assert cut["replace-one"] > 0.3


def test_wide_values_keep_their_range() -> None:
    values = np.random.default_rng(0).uniform(-1.0, 1.0, 4000)
    assert drawn_part(values, 1.0) == (-1.0, 1.0)


# The part of its range where nearly all targets lie, and the model in its units.


@pytest.mark.parametrize(
    ("product", "missed"), [(shares.LEAST_OF_A_TARGET, 0.01), (shares.ENOUGH_FOR_A_TARGET, 0.001)]
)
def test_nearly_all_values_are_inside(product: float, missed: float) -> None:
    """Half of them or more, in all but few of the draws, whatever part of the range they fill."""
    for width in (0.02, 0.1, 0.5):
        values = np.clip(np.random.default_rng(0).normal(0.37, width, 300), -1.0, 1.0)
        law = law_of_part(values, product / 300, OF_TARGET)
        chances = np.exp(logs_of(law))
        ends = map(ends_of_part, every_interval(law.listed))
        inside = np.array([np.mean((values >= low) & (values <= high)) for low, high in ends])
        assert chances[inside < 0.5].sum() <= missed
        assert chances @ inside > 0.97


def test_few_values_are_left_outside() -> None:
    """A quarter in a tail is more than a halving is worth."""
    values = np.where(np.arange(600) % 4 == 0, 0.95, -0.5)
    low, high = part_of(values, 0.3, OF_TARGET, random.Random(0))
    assert low < -0.5 < 0.95 <= high
    # Of a number among the features a quarter may be cut off.
    assert part_of(values, 0.3, WITHIN["replace-one"], random.Random(0))[1] < 0.95


@pytest.mark.parametrize(
    ("product", "share"),
    [(95.0, 0.0), (97.0, 0.25), (128.0, 0.25), (320.0, 0.1), (400.0, 0.08), (1e6, 0.08)],
)
def test_its_share_of_epsilon(product: float, share: float) -> None:
    assert target_share(product) == pytest.approx(share)


@pytest.mark.parametrize("rows", [3, 5, 8, 12, 400])
def test_rho_is_no_less_than_that_of_the_parts(rows: int) -> None:
    """Where an (ε, δ) model has little ρ beside pure draws of the same ε."""
    frame, schema = weights(1)
    del frame
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


def planned(rows: int) -> TablePlan:
    selector = AllFeaturesSelector(1, epsilon=1.0)
    return TablePlan(TableQuestion(SCHEMA, "y"), selector, HUBER, 1, rows=rows)


def law_of_pairs(plan: TablePlan, rows: list[tuple[bool, float]]) -> np.ndarray:
    """Log densities of all parts, and of coefficients of a grid in units of each, together."""
    x = np.array([[1.0 if a else -1.0, 1.0] for a, _ in rows])
    y = np.array([t for _, t in rows])
    epsilon = plan.epsilon_of_target
    model = plan.model_on((0,))._for_rows(len(rows))
    chosen, loss = model._perturbation(1, len(rows)), model._loss()
    balls, _ = model._change(1)
    law = law_of_part(y, epsilon, halves(4, 4))
    thetas = np.array([*itertools.product(np.linspace(-3.0, 3.0, 7), repeat=2)])
    found = []
    for interval, log_part in zip(every_interval(law.listed), logs_of(law), strict=True):
        target = TargetPart(*ends_of_part(interval), epsilon).units(y)
        minimiser = PerturbedMinimiser(loss, x, target, chosen, model._radius(1), balls)
        found.append(log_part + minimiser.log_density(thetas))
    return np.concatenate(found)


def test_part_and_coefficients_keep_epsilon_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Densities of the pair, up to constants that are public, on rows that differ in one."""
    monkeypatch.setattr(shares, "LEAST_OF_A_TARGET", 0.0)
    hostile = [(a, t) for a in (False, True) for t in (-1.0, 1.0, 0.26)]
    worst = 0.0
    for base in ([(True, 0.9), (False, -1.0)], [(True, 0.3)] * 6):
        plan = planned(len(base) + 1)
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


def fitted(n: int, loss: str, **options: float) -> ModelRelease:
    frame, schema = weights(n)
    regressor = ObjectivePerturbationRegressor(loss=loss, random_state=2)
    model = SelectThenRegress(
        PermuteAndFlipSelector(1, random_state=1), regressor, epsilon=2.0, **options
    )
    return model.fit_table(frame, schema, target="y").release_


def test_a_wide_range_of_the_target_costs_little() -> None:
    frame, _ = weights(800)
    there = frame[frame["y"].notna()]
    errors = {}
    for name, release in {
        "huber": fitted(800, "huber"),
        "as stated": fitted(800, "huber", range_share=0.0),
        "a κ of the user": fitted(800, "huber(0.25)"),
    }.items():
        errors[name] = float(np.abs(release.predict(there) - there["y"]).mean())
        assert ("most values of the target lie" in str(release)) is (name == "huber")
        assert release.guarantee.epsilon <= 2.0
        stored_again(release)
    assert errors["huber"] < 2.0 < 8.0 < min(errors["as stated"], errors["a κ of the user"])


def test_few_rows_and_private_numbers_of_rows_leave_it() -> None:
    frame, schema = weights(120)
    selector = PermuteAndFlipSelector(1)
    model = SelectThenRegress(selector, ObjectivePerturbationRegressor(loss="huber"), epsilon=1.0)
    text = str(model.fit_table(frame, schema, target="y").release_)
    assert "most values of the target" not in text
    question = TableQuestion(schema, "y")
    plan = TablePlan(question, selector, HUBER, 1)
    assert plan.epsilon_of_target == 0.0
