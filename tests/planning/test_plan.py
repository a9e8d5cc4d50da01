"""`plan_selection`: simulated tables, and chances of draws from them."""

from __future__ import annotations

import math
import random
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from mipselect import BlockScores, ExponentialMechanism, Instance, PermuteAndFlip
from mipselect.errors import InvalidInput, NotCertified
from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.planning import Guesses, Question, SelectionPlan, plan_selection
from mipselect.planning import selection as selections
from mipselect.planning.selection import (
    WITHOUT_PRIVACY,
    Found,
    best_support,
    chance,
    checked_methods,
)
from mipselect.planning.simulation import Simulation, numbers_in_time
from mipselect.problem.block_scores import BlockOptions
from mipselect.search.progress import Deadline
from mipselect.tables import TableSchema
from mipselect.tables.instances import DEFAULT_RIDGE, ScoredTable, default_coef_bound
from tests.support.derived_by_hand import CLINIC
from tests.support.mapped_tables import public_map


def number(name: str, low: float = 0.0, high: float = 100.0, **more: Any) -> dict[str, Any]:
    constraints = {"minimum": low, "maximum": high, **more}
    return {"name": name, "type": "number", "constraints": constraints}


FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "string"},
    {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100}},
    {"name": "sex", "type": "string", "categories": ["f", "m"]},
    number("bp", 80, 200, required=True),
    {"name": "smoker", "type": "boolean"},
    {"name": "nyha", "type": "integer", "categories": [1, 2, 3, 4], "categoriesOrdered": True},
    {"name": "icd", "type": "string", "categories": ["E", "I", "J", "N", "other"]},
    {"name": "one", "type": "string", "categories": ["only"]},
    number("los", 0, 60),
]
MIXED = TableSchema.of({"csvw-eo:privacyUnit": "id", "fields": FIELDS})
NUMBERS = TableSchema.of({"fields": [*(number(f"x{j}") for j in range(6)), number("y")]})
WITHOUT_RANGES = TableSchema.of(
    {
        "fields": [
            {"name": "age", "type": "integer"},
            {"name": "bp", "type": "number"},
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
            {"name": "icd", "type": "string", "categories": ["E", "I", "J"]},
            number("bmi", 10, 60),
            {"name": "los", "type": "number"},
        ]
    }
)


def question(schema: TableSchema, target: str, s: int = 2, **more: Any) -> Question:
    return Question(schema=schema, target=target, support_size=s, **{"rows": 400, **more})


def simulation(
    schema: TableSchema, target: str, s: int = 2, seed: int = 7, ratio: float = 1.0, **guesses: Any
) -> Simulation:
    return Simulation(question(schema, target, s, seed=seed, guesses=Guesses(**guesses)), ratio)


@pytest.mark.parametrize("target", ["smoker", "sex"])
@pytest.mark.parametrize("rate", [None, 0.09, 0.8])
def test_two_classes_are_as_frequent_as_was_guessed(target: str, rate: float | None) -> None:
    made = simulation(MIXED, target, target_rate=rate)
    values = made.table(1, 20_000).column(target).to_pandas()
    second = values == (True if target == "smoker" else "m")
    assert abs(second.mean() - (0.5 if rate is None else rate)) < 0.012


def test_a_rate_is_for_two_classes() -> None:
    with pytest.raises(InvalidInput, match="target_rate is for a target of two classes"):
        simulation(MIXED, "los", target_rate=0.1).table(0, 10)
    with pytest.raises(InvalidInput, match="target_rate must be"):
        Guesses(target_rate=1.0)
    with pytest.raises(InvalidInput, match="equally frequent; see target_rate"):
        simulation(MIXED, "smoker", target_mean=0.1).table(0, 10)


def test_a_simulated_table_has_the_ranges_categories_and_missing_shares() -> None:
    table = simulation(MIXED, "los", missing=0.2, target_mean=6.0, target_sd=2.0).table(3, 4000)
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
        assert abs(frame[name].isna().mean() - 0.2) < 0.03
    assert abs(frame["los"].mean() - 6.0) < 0.15
    assert abs(frame["los"].std() - 2.0) < 0.1


@pytest.mark.parametrize("effect", [0.0, 0.3, 1.0])
def test_the_effect_is_r_squared_of_the_right_columns(effect: float) -> None:
    made = simulation(NUMBERS, "y", effect=effect, missing=0.0, correlation=0.4)
    frame = made.table(5, 20_000).to_pandas()
    right = [f"x{j}" for j in made.right(5)]
    X = np.column_stack([np.ones(len(frame)), frame[right]])
    residuals = frame["y"] - X @ np.linalg.lstsq(X, frame["y"], rcond=None)[0]
    assert abs(1.0 - residuals.var() / frame["y"].var() - effect) < 0.02
    assert abs(np.corrcoef(frame["x0"], frame["x1"])[0, 1] - 0.4) < 0.03


def test_effects_are_of_one_strength_or_each_weaker_than_the_one_before() -> None:
    guesses = {"effect": 1.0, "missing": 0.0, "correlation": 0.0}
    for ratio in (1.0, 3.0):
        made = simulation(NUMBERS, "y", 3, ratio=ratio, **guesses)
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
    plan = plan_selection(
        schema, target=target, rows=400, support_size=1, never=["age"], tables=1, epsilons=[4.0]
    )
    assert plan.lines[0].cells[0].found > plan.chance_level


LAWS: dict[str, type[ExactDraws]] = {
    "permute-and-flip": PermuteAndFlip,
    "exponential": ExponentialMechanism,
}


def small_plan(schema: TableSchema = NUMBERS, target: str = "y", **more: Any) -> SelectionPlan:
    options: dict[str, Any] = {"rows": 400, "support_size": 2, "tables": 3, "epsilons": [1.0, 8.0]}
    return plan_selection(schema, target=target, **{**options, **more})


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


@pytest.mark.parametrize("method", list(LAWS))
def test_what_is_found_is_that_of_draws_by_block_scores_of_the_simulated_table(
    method: str,
) -> None:
    plan = small_plan(tables=1, methods=list(LAWS))
    assert [options.block_rows for options in plan.blocks] == [12, 28]
    made = simulation(NUMBERS, "y", seed=0)
    (line,) = (line for line in plan.lines if line.name == f"{method}, blocks")
    given: dict[str, Any] = {
        "target": "y", "support_size": 2, "partition_seed": made.partition_seed(0),
    }  # fmt: skip
    for k, epsilon in enumerate((1.0, 8.0)):
        scores = Instance.from_table(
            made.table(0, 400), NUMBERS, epsilon=epsilon, **given, score="block-r2"
        )
        assert scores.problem.public()["partitions"] == plan.blocks[k].partitions
        assert_law(line.cells[k], LAWS[method](scores, epsilon), made.right(0))
        # Blocks that are chosen for another ε are another score.
        other = plan.blocks[1 - k].block_rows
        wrong = Instance.from_table(
            made.table(0, 400), NUMBERS, block_rows=other, **given, score="block-r2"
        )
        with pytest.raises(AssertionError):
            assert_law(line.cells[k], LAWS[method](wrong, epsilon), made.right(0))


@pytest.mark.parametrize("method", list(LAWS))
def test_what_is_found_by_the_loss_is_that_of_draws_from_an_instance(method: str) -> None:
    plan = small_plan(tables=1, methods=[method], score="loss", coef_bound=0.4, ridge=3.0)
    made = simulation(NUMBERS, "y", seed=0)
    table, asked = made.table(0, 400), {"coef_bound": 0.4, "ridge": 3.0}
    instance = Instance.from_table(table, NUMBERS, target="y", support_size=2, **asked)
    assert (plan.blocks, plan.lines[0].score) == ((), "loss")
    for k, epsilon in enumerate((1.0, 8.0)):
        assert_law(plan.lines[0].cells[k], LAWS[method](instance, epsilon), made.right(0))


def test_least_squares_on_blocks_are_one_instance_for_all_epsilons() -> None:
    plan = small_plan(tables=1, score="blocks")
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
        assert_law(plan.lines[0].cells[k], PermuteAndFlip(instance, epsilon), made.right(0))


def test_a_plan_is_the_mean_over_its_tables() -> None:
    one, three = small_plan(tables=1), small_plan(tables=3)
    assert (one.tables, three.tables) == (1, 3)
    assert one.lines[0].cells[0].standard_error is None
    made = simulation(NUMBERS, "y", seed=0)
    shares = []
    for number in range(3):
        scores = Instance.from_table(
            made.table(number, 400), NUMBERS, target="y", support_size=2, epsilon=1.0,
            partition_seed=made.partition_seed(number), score="block-r2")  # fmt: skip
        law = PermuteAndFlip(scores, 1.0)
        shares.append(law.inclusion_probabilities()[made.right(number)].mean())
    found = three.lines[0].cells[0]
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
    monkeypatch.setattr(selections, "DRAWS", 1500)
    by_cells = law(instance, 2.0, most_listed=0)
    drawn = chance(by_cells, right, random.Random(1), Deadline(60.0))
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=0.05)
    assert best_support(instance, 60.0).tolist() == right.tolist()


@pytest.mark.parametrize("method", ["top-r", "mistakes", "sis", "kendall"])
def test_other_methods_are_drawn_from(method: str) -> None:
    plan = small_plan(rows=4000, methods=[method], epsilons=[0.01, 500.0], tables=2)
    low, high = plan.lines[0].cells
    assert low.found < 0.7
    assert high.found > 0.9
    assert plan.lines[0].name == f"{method}, loss" if method in ("top-r", "mistakes") else method


@pytest.mark.parametrize(
    ("schema", "target", "rows", "epsilon", "more", "chosen"),
    [
        (NUMBERS, "y", 4000, 0.5, {}, ("block-r2", 22)),
        (NUMBERS, "y", 4000, 2.0, {}, ("block-r2", 45)),
        (NUMBERS, "y", 4000, 2.0, {"score": "blocks"}, ("blocks", 2)),
        (NUMBERS, "y", 11, 1.0, {}, ("blocks", 2)),
        (MIXED, "los", 400, 1.0, {}, ("block-r2", 12)),
    ],
)
def test_the_score_is_chosen_by_the_public_rule_of_select(
    schema: TableSchema, target: str, rows: int, epsilon: float, more: Any, chosen: tuple[str, int]
) -> None:
    asked = question(schema, target, rows=rows, **more)
    options = asked.blocks(epsilon)
    assert (options.score, options.block_rows) == chosen
    if rows < 1000:
        return
    table = Simulation(asked).table(0, rows)
    made = ScoredTable(table, asked.table, 2, {}, BlockOptions(epsilon=epsilon, **more)).made()
    public = made.problem.public()
    assert (public["block_rows"], public["partitions"]) == (chosen[1], options.partitions)
    assert isinstance(made, BlockScores) is (chosen[0] == "block-r2")


def test_people_have_one_row_each_and_their_column_is_no_field() -> None:
    nobody = TableSchema.of({"fields": FIELDS[1:]})
    plans = [small_plan(schema, "los", tables=1) for schema in (MIXED, nobody)]
    assert plans[0].lines == plans[1].lines
    assert "id" not in [field.name for field in question(MIXED, "los").table.schema.fields]


def test_methods_that_take_no_weights_are_not_compared_for_a_table_with_weights() -> None:
    weight = {**number("w", 0, 3), "mipselect:role": "weight"}
    fields = [*(number(f"x{j}") for j in range(4)), number("y"), weight]
    asked = question(TableSchema.of({"fields": fields}), "y", 1)
    assert asked.score == "blocks"
    taken = ["permute-and-flip", "exponential", "top-r", "mistakes"]
    assert checked_methods(taken, asked) == taken
    for name in ("kendall", "sis", "mcmc", "sample-aggregate"):
        with pytest.raises(InvalidInput, match=f"'{name}' counts all rows the same.*survey weight"):
            checked_methods([name], asked)


def test_a_schema_without_ranges_is_enough() -> None:
    plan = small_plan(WITHOUT_RANGES, "los", support_size=1, guesses=Guesses(effect=0.5))
    assert plan.question.without_range == ("age", "bp", "los")
    assert [line.name for line in plan.lines] == ["permute-and-flip, blocks", WITHOUT_PRIVACY]
    assert plan.lines[0].cells[1].found > 0.8 > plan.chance_level
    frame = simulation(WITHOUT_RANGES, "los", missing=0.0).table(0, 3000).to_pandas()
    assert (frame["age"] % 1 == 0).all()
    assert frame["age"].nunique() > 1500
    assert abs(frame["bp"].std() - 1.0) < 0.05


def test_a_plan_is_reproducible_and_more_epsilon_or_rows_find_more() -> None:
    plan = small_plan()
    assert plan.lines == small_plan().lines
    assert plan.lines != small_plan(seed=1).lines
    assert (plan.question.bound, plan.question.penalty) == (
        default_coef_bound(2, 0, True), DEFAULT_RIDGE,
    )  # fmt: skip
    (low, high), (more, _) = plan.lines[0].cells, small_plan(rows=2000).lines[0].cells
    assert plan.chance_level < low.found < min(high.found, more.found)
    assert low.all_found < low.found


def test_without_time_nothing_is_found_and_one_table_was_begun() -> None:
    plan = small_plan(time_limit=1e-9, methods=["permute-and-flip", "sis"])
    assert (plan.tables, {line.cells for line in plan.lines}) == (0, {()})


def test_a_slow_method_is_left_out_and_takes_no_other_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []
    honest = selections.SimulatedTable.chances

    def slow(made: Any, line: Any, sources: Any, clock: Deadline) -> Any:
        tried.append((line.method, clock.limit))
        if line.method == "sis":
            raise NotCertified("time limit", bound=0.0, incumbent=0.0)
        return honest(made, line, sources, clock)

    monkeypatch.setattr(selections.SimulatedTable, "chances", slow)
    plan = small_plan(methods=["sis", "kendall", "exponential"], time_limit=400.0)
    assert [len(line.cells) for line in plan.lines] == [0, 2, 2, 2]
    assert plan.tables == 3
    assert [method for method, _ in tried].count("sis") == 1
    # Of the first table each has its share of the time, and then all that is left.
    assert [limit for _, limit in tried[:4]] == [100.0] * 4
    assert tried[4][1] > 300.0


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
        ({"methods": ["lasso"]}, "methods: 'lasso' is unknown"),
        ({"epsilons": []}, "at least one"),
        ({"epsilons": [-1.0]}, "epsilons must be"),
        ({"tables": 0}, "tables must be"),
        ({"coef_bound": 0.0}, "coef_bound must be"),
        ({"ridge": -1.0}, "ridge must be"),
        ({"guesses": Guesses(target_mean=300.0)}, "target_mean must be inside the range of 'y'"),
        ({"always": ["z"]}, "no field 'z'"),
        ({"score": "lasso"}, "score must be"),
        ({"score": "block-r2", "rows": 11}, "11 rows are no block of 12"),
    ],
)
def test_what_is_wrong_is_said(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        small_plan(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ranges": {"age": (0.0, 99.0)}}, "ranges is for the loss, .* a range of bp, los too"),
        ({"intercept": False}, "intercept is for the loss, .* a range of age, bp, los too"),
        ({"coef_bound": 1.0}, "coef_bound is for the loss"),
        ({"ridge": 1.0}, "ridge is for the loss"),
        ({"methods": ["top-r"]}, "'top-r' is planned for tables with ranges, and there is none of"),
        ({"score": "loss"}, "'los' needs constraints.minimum"),
        ({"guesses": Guesses(target_mean=1.0)}, "'los' has none, and scores from blocks do not"),
    ],
)
def test_what_is_of_the_loss_needs_ranges(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        small_plan(WITHOUT_RANGES, "los", **wrong)


@pytest.mark.parametrize(
    "wrong", [{"effect": 1.1}, {"correlation": 1.0}, {"missing": -0.1}, {"spread": 0.0}]
)
def test_guesses_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Guesses(**wrong)
    with pytest.raises(InvalidInput, match="for a target with a range"):
        Guesses(target_sd=1.0).target_law(public_map(MIXED, target="smoker"))
