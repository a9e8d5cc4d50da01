"""`plan_study`: simulated tables, and chances of draws from them."""

from __future__ import annotations

import math
import random
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from mipselect import BlockScores, ExponentialMechanism, Instance, PermuteAndFlip
from mipselect.blocks.scores import BlockOptions
from mipselect.errors import InvalidInput, NotCertified
from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.planning import Found, Question, StudyPlan, plan_study, plans
from mipselect.planning.plans import best_support, chance
from mipselect.planning.simulation import Simulation, numbers_in_time
from mipselect.search.progress import Deadline
from mipselect.tables import TableSchema
from mipselect.tables.instances import ScoredTable
from tests.support.derived_by_hand import CLINIC
from tests.support.fields import listed, schema_of
from tests.support.soft_draws import by_cells


def number(name: str, low: float = 0.0, high: float = 100.0, **more: Any) -> dict[str, Any]:
    constraints = {"minimum": low, "maximum": high, **more}
    return {"name": name, "type": "number", "constraints": constraints}


FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "string"},
    {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100}},
    listed("sex", "f", "m"),
    number("bp", 80, 200, required=True),
    {"name": "smoker", "type": "boolean"},
    {"name": "nyha", "type": "integer", "categories": [1, 2, 3, 4], "categoriesOrdered": True},
    listed("icd", "E", "I", "J", "N", "other"),
    listed("one", "only"),
    number("los", 0, 60),
]
MIXED = TableSchema.of({"csvw-eo:privacyUnit": "id", "fields": FIELDS})
NUMBERS = schema_of(*(number(f"x{j}") for j in range(6)), number("y"))
WEIGHT = {**number("w", 0, 3), "mipselect:role": "weight"}
WEIGHTED = schema_of(*NUMBERS.content["fields"], WEIGHT)
WITHOUT_RANGES = schema_of(
    {"name": "age", "type": "integer"},
    {"name": "bp", "type": "number"},
    listed("sex", "f", "m"),
    listed("icd", "E", "I", "J"),
    number("bmi", 10, 60),
    {"name": "los", "type": "number"},
)


def question(schema: TableSchema, target: str, s: int = 2, **more: Any) -> Question:
    return Question(schema=schema, target=target, support_size=s, **{"rows": 400, **more})


def simulation(
    schema: TableSchema, target: str, s: int = 2, seed: int = 7, ratio: float = 1.0, **guesses: Any
) -> Simulation:
    return Simulation(question(schema, target, s, seed=seed, **guesses), ratio)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is missing, and fields are not correlated."""
    monkeypatch.setattr("mipselect.planning.simulation.MISSING", 0.0)
    monkeypatch.setattr("mipselect.planning.simulation.CORRELATION", 0.0)


@pytest.mark.parametrize("target", ["smoker", "sex"])
@pytest.mark.parametrize("rate", [None, 0.09, 0.8])
def test_two_classes_are_as_frequent_as_was_guessed(target: str, rate: float | None) -> None:
    made = simulation(MIXED, target, target_rate=rate)
    values = made.table(1, 20_000).column(target).to_pandas()
    second = values == (True if target == "smoker" else "m")
    assert abs(second.mean() - (0.5 if rate is None else rate)) < 0.012


def test_a_rate_is_for_two_classes() -> None:
    with pytest.raises(InvalidInput, match="target_rate is for a target of two classes"):
        simulation(MIXED, "los", target_rate=0.1)
    with pytest.raises(InvalidInput, match="target_rate must be"):
        simulation(MIXED, "smoker", target_rate=1.0)


def test_a_simulated_table_has_the_ranges_categories_and_missing_shares() -> None:
    table = simulation(MIXED, "los").table(3, 4000)
    frame = table.to_pandas()
    assert {*frame} == {"age", "sex", "bp", "smoker", "nyha", "icd", "one", "los"}
    assert frame["age"].dropna().between(18, 100).all()
    assert (frame["age"].dropna() % 1 == 0).all()
    assert set(frame["sex"].dropna()) == {"f", "m"}
    assert set(frame["nyha"].dropna()) == {1.0, 2.0, 3.0, 4.0}
    assert set(frame["icd"].dropna()) == {"E", "I", "J", "N", "other"}
    assert set(frame["smoker"].dropna()) == {True, False}
    assert frame["bp"].notna().all()
    assert frame["los"].notna().all()
    for name in ("age", "sex", "smoker", "icd"):
        assert abs(frame[name].isna().mean() - 0.05) < 0.012
    assert abs(frame["los"].mean() - 30.0) < 0.5
    assert abs(frame["los"].std() - 7.5) < 0.3


@pytest.mark.parametrize("effect", [0.0, 0.3, 1.0])
def test_the_effect_is_r_squared_of_the_right_columns(
    monkeypatch: pytest.MonkeyPatch, plain: None, effect: float
) -> None:
    monkeypatch.setattr("mipselect.planning.simulation.CORRELATION", 0.4)
    made = simulation(NUMBERS, "y", effect=effect)
    frame = made.table(5, 20_000).to_pandas()
    right = [f"x{j}" for j in made.right(5)]
    X = np.column_stack([np.ones(len(frame)), frame[right]])
    residuals = frame["y"] - X @ np.linalg.lstsq(X, frame["y"], rcond=None)[0]
    assert abs(1.0 - residuals.var() / frame["y"].var() - effect) < 0.02
    assert abs(np.corrcoef(frame["x0"], frame["x1"])[0, 1] - 0.4) < 0.03


def test_effects_are_of_one_strength_or_each_weaker_than_the_one_before(plain: None) -> None:
    for ratio in (1.0, 3.0):
        made = simulation(NUMBERS, "y", 3, ratio=ratio, effect=1.0)
        frame = made.table(5, 20_000).to_pandas()
        right = [f"x{j}" for j in made.right(5)]
        explained = sorted(_r_squared(frame, [name]) for name in right)
        weights = np.array([ratio**-4, ratio**-2, 1.0])
        assert explained == pytest.approx(weights / weights.sum(), abs=0.03)
    places = {
        sorted(strengths).index(max(strengths, key=strengths.__getitem__))
        for strengths in map(made._strengths, range(60))
    }
    assert places == {0, 1, 2}


def test_right_columns_can_matter_and_differ_between_tables() -> None:
    made = simulation(MIXED, "los")
    found = {tuple(made.right(k)) for k in range(60)}
    assert len(found) > 10
    constant = [e.field.name for e in made.question.public.features].index("one")
    assert all(constant not in right for right in found)


def _r_squared(frame: Any, names: list[str]) -> float:
    X = np.column_stack([np.ones(len(frame)), frame[names].fillna(frame[names].mean())])
    residuals = frame["y"] - X @ np.linalg.lstsq(X, frame["y"], rcond=None)[0]
    return float(1.0 - residuals.var() / frame["y"].var())


@pytest.mark.parametrize("target", ["stay", "log income", "admission year"])
@pytest.mark.parametrize("ranges", [True, False])
def test_what_is_made_of_other_fields_counts_as_a_field_of_its_own(
    target: str, ranges: bool
) -> None:
    content = {**CLINIC, "fields": [{**each} for each in CLINIC["fields"]]}
    if not ranges:
        for each in content["fields"]:
            each["constraints"] = {"required": each.get("constraints", {}).get("required", False)}
    schema = TableSchema.of(content)
    asked = question(schema, target, never=["age"])
    frame = Simulation(asked).table(0, 3000).to_pandas()
    features = [encoder.field.name for encoder in asked.public.features]
    assert {*frame} == {*features, target}
    assert all(frame[name].nunique() > 1 for name in frame)
    plan = plan_study(question(schema, target, 1, never=["age"], epsilons=[4.0]), tables=1)
    assert plan.drawn[0].found > plan.chance_level


LAWS: dict[str, type[ExactDraws]] = {
    "permute-and-flip": PermuteAndFlip,
    "exponential": ExponentialMechanism,
}


def small_plan(
    schema: TableSchema = NUMBERS, target: str = "y", tables: int = 3, time_limit: float = 600.0,
    **more: Any,
) -> StudyPlan:  # fmt: skip
    asked = {"rows": 400, "support_size": 2, "epsilons": [1.0, 8.0], **more}
    made = Question(schema=schema, target=target, **asked)
    return plan_study(made, tables=tables, time_limit=time_limit)


def assert_law(found: Found, law: ExactDraws, right: Any, rel: float = 1e-6) -> None:
    """What is found is that of the law, by its probabilities of all supports."""
    share = every = 0.0
    for support in combinations(range(6), 2):
        probability = math.exp(law.log_probability(support))
        count = len({*support} & {*right.tolist()})
        share += 0.5 * count * probability
        every += (count == 2) * probability
    assert found.found == pytest.approx(share, rel=rel)
    assert found.all_found == pytest.approx(every, rel=rel)


def test_what_is_found_is_that_of_draws_by_block_scores_of_the_simulated_table() -> None:
    plan = small_plan(tables=1)
    assert [options.block_rows for options in plan.blocks] == [12, 28]
    made = simulation(NUMBERS, "y", seed=0)
    given: dict[str, Any] = {
        "target": "y", "support_size": 2, "partition_seed": made.partition_seed(0),
    }  # fmt: skip
    for k, epsilon in enumerate((1.0, 8.0)):
        scores = Instance.from_table(
            made.table(0, 400), NUMBERS, epsilon=epsilon, **given, score="block-r2"
        )
        assert scores.problem.public()["partitions"] == plan.blocks[k].partitions
        assert_law(plan.drawn[k], PermuteAndFlip(scores, epsilon), made.right(0))
        # Blocks that are chosen for another ε are another score.
        other = plan.blocks[1 - k].block_rows
        wrong = Instance.from_table(
            made.table(0, 400), NUMBERS, block_rows=other, **given, score="block-r2"
        )
        with pytest.raises(AssertionError):
            assert_law(plan.drawn[k], PermuteAndFlip(wrong, epsilon), made.right(0))


def test_least_squares_on_blocks_are_one_instance_for_all_epsilons() -> None:
    plan = small_plan(WEIGHTED, tables=1)
    assert {(o.score, o.block_rows, o.partitions) for o in plan.blocks} == {("blocks", 2, 16)}
    made = simulation(NUMBERS, "y", seed=0)
    instance = Instance.from_table(
        made.table(0, 400),
        NUMBERS,
        target="y",
        support_size=2,
        partition_seed=made.partition_seed(0),
        score="blocks",
    )
    for k, epsilon in enumerate((1.0, 8.0)):
        assert_law(plan.drawn[k], PermuteAndFlip(instance, epsilon), made.right(0))


def test_a_plan_is_the_mean_over_its_tables() -> None:
    one, three = small_plan(tables=1), small_plan(tables=3)
    assert (one.selections, three.selections) == (1, 3)
    assert one.drawn[0].standard_error is None
    made = simulation(NUMBERS, "y", seed=0)
    shares = []
    for number in range(3):
        scores = Instance.from_table(
            made.table(number, 400), NUMBERS, target="y", support_size=2, epsilon=1.0,
            partition_seed=made.partition_seed(number), score="block-r2")  # fmt: skip
        law = PermuteAndFlip(scores, 1.0)
        shares.append(law.inclusion_probabilities()[made.right(number)].mean())
    found = three.drawn[0]
    assert found.found == pytest.approx(np.mean(shares))
    assert found.standard_error == pytest.approx(np.std(shares, ddof=1) / 3**0.5)


@pytest.mark.parametrize("law", LAWS.values())
def test_draws_agree_with_exact_chances(
    monkeypatch: pytest.MonkeyPatch, law: type[ExactDraws]
) -> None:
    made = simulation(NUMBERS, "y")
    table, right = made.table(0, 600), made.right(0)
    instance = Instance.from_table(table, NUMBERS, target="y", support_size=2)
    exact = chance(law(instance, 2.0), right, random.Random(0), Deadline(60.0))
    monkeypatch.setattr(plans, "DRAWS", 1500)
    drawn = chance(by_cells(law(instance, 2.0)), right, random.Random(1), Deadline(60.0))
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=0.05)
    assert best_support(instance, 60.0).tolist() == right.tolist()


@pytest.mark.parametrize(
    ("schema", "target", "rows", "epsilon", "chosen"),
    [
        (NUMBERS, "y", 4000, 0.5, ("block-r2", 22)),
        (NUMBERS, "y", 4000, 2.0, ("block-r2", 45)),
        (WEIGHTED, "y", 4000, 2.0, ("blocks", 2)),
        (NUMBERS, "y", 11, 1.0, ("blocks", 2)),
        (MIXED, "los", 400, 1.0, ("block-r2", 12)),
    ],
)
def test_the_score_is_chosen_by_the_public_rule_of_select(
    schema: TableSchema, target: str, rows: int, epsilon: float, chosen: tuple[str, int]
) -> None:
    asked = question(schema, target, rows=rows)
    options = asked.blocks(epsilon)
    assert (options.score, options.block_rows) == chosen
    if rows < 1000:
        return
    table = Simulation(asked).table(0, rows)
    made = ScoredTable(
        table, asked.table, 2, {}, BlockOptions(epsilon=epsilon, score=options.score)
    ).made()
    public = made.problem.public()
    assert (public["block_rows"], public["partitions"]) == (chosen[1], options.partitions)
    assert isinstance(made, BlockScores) is (chosen[0] == "block-r2")


def test_people_have_one_row_each_and_their_column_is_no_field() -> None:
    nobody = TableSchema.of({"fields": FIELDS[1:]})
    plans = [small_plan(schema, "los", tables=1) for schema in (MIXED, nobody)]
    assert plans[0].drawn == plans[1].drawn
    assert "id" not in [field.name for field in question(MIXED, "los").table.schema.fields]


def test_a_schema_without_ranges_is_enough(plain: None) -> None:
    plan = small_plan(WITHOUT_RANGES, "los", support_size=1, effect=0.5)
    assert plan.question.without_range == ("age", "bp", "los")
    assert plan.drawn[1].found > 0.8 > plan.chance_level
    frame = simulation(WITHOUT_RANGES, "los").table(0, 3000).to_pandas()
    assert (frame["age"] % 1 == 0).all()
    assert frame["age"].nunique() > 1500
    assert abs(frame["bp"].std() - 1.0) < 0.05


def test_a_plan_is_reproducible_and_more_epsilon_or_rows_find_more() -> None:
    plan = small_plan()
    assert plan.drawn == small_plan().drawn
    assert plan.drawn != small_plan(seed=1).drawn
    (low, high), (more, _) = plan.drawn, small_plan(rows=2000).drawn
    assert plan.chance_level < low.found < min(high.found, more.found)
    assert low.all_found < low.found


def test_without_time_nothing_is_found_and_one_table_was_begun() -> None:
    plan = small_plan(time_limit=1e-9)
    assert (plan.selections, plan.drawn, plan.best) == (0, (), ())


def test_tables_that_are_done_in_time_count(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, limits = plans.chances, list[float]()

    def slow(made: Simulation, number: int, blocks: Any, clock: Deadline) -> Any:
        limits.append(clock.limit)
        if number == 2:
            raise NotCertified("time limit", bound=0.0, incumbent=0.0)
        return honest(made, number, blocks, clock)

    monkeypatch.setattr(plans, "chances", slow)
    plan = small_plan(tables=4, time_limit=800.0)
    assert (plan.selections, len(plan.drawn), len(plan.best)) == (2, 2, 2)
    assert limits[0] == 400.0 > limits[1] > limits[2] > 300.0


class Clock:
    """A clock that only what takes time moves on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("seconds", "tables"), [(1.0, 10), (3.0, 3), (9.0, 1), (90.0, 1)])
def test_tables_are_begun_while_the_slowest_would_be_done_in_time(
    seconds: float, tables: int
) -> None:
    clock, begun = Clock(), 0
    for number in numbers_in_time(20, Deadline(10.0, clock)):
        assert number == begun
        begun += 1
        clock.now += seconds
    assert begun == tables
    assert len(list(numbers_in_time(4, Deadline(10.0, Clock())))) == 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": 1}, "rows must be"),
        ({"rows": 10**9}, "plan with fewer"),
        ({"support_size": 7}, "support_size must be"),
        ({"epsilons": []}, "at least one"),
        ({"epsilons": [-1.0]}, "epsilons must be"),
        ({"tables": 0}, "tables must be"),
        ({"effect": 1.1}, "effect must be"),
        ({"target_rate": 0.5}, "a target of two classes, and 'y' is none"),
        ({"always": ["z"]}, "no field 'z'"),
    ],
)
def test_what_is_wrong_is_said(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        small_plan(**wrong)


def test_what_is_of_ranges_needs_all_of_them() -> None:
    with pytest.raises(InvalidInput, match="ranges: a model needs those of bp, los too"):
        small_plan(WITHOUT_RANGES, "los", ranges={"age": (0.0, 99.0)})
