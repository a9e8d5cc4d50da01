"""`plan_selection`: simulated tables, exact chances, and answers that follow from them."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mipselect import BlockScores, ExponentialMechanism, Instance, PermuteAndFlip
from mipselect.blocks.r_squared import r_squared_counts
from mipselect.errors import InvalidInput
from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.planning.answers import BOUNDS, answers
from mipselect.planning.chances import EXACT, Case, Chance, Scored, without_privacy
from mipselect.planning.guesses import Guesses
from mipselect.planning.lines import (
    COEF_BOUND,
    METHOD,
    REFERENCE,
    REPEATED,
    RIDGE,
    TOO_SLOW,
    Line,
    SelectionPlan,
    Setting,
    Step,
)
from mipselect.planning.plan import checked_methods, plan_selection
from mipselect.planning.question import Question
from mipselect.planning.simulation import Simulation
from mipselect.problem import block_scores
from mipselect.problem.block_scores import BlockOptions
from mipselect.search.progress import Deadline
from mipselect.tables import PublicMap, TableSchema
from mipselect.tables.defaults import DEFAULT_RIDGE, default_coef_bound
from mipselect.tables.instances import ScoredTable


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

LAWS: dict[str, type[ExactDraws]] = {
    "permute-and-flip": PermuteAndFlip,
    "exponential": ExponentialMechanism,
}


def simulation(
    schema: TableSchema, target: str, s: int = 2, seed: int = 7, **guesses: Any
) -> Simulation:
    return Simulation(Question(schema, target, s).public, Guesses(**guesses), s, seed)


def case_of(schema: TableSchema, target: str, rows: int, *epsilons: float) -> Case:
    made = simulation(schema, target)
    instance = Instance.from_table(made.table(0, rows), schema, target=target, support_size=2)
    return case_by(instance, made.right(0), *epsilons)


def case_by(scored: Instance | BlockScores, right: Any, *epsilons: float) -> Case:
    by_epsilon = (Scored(scored, Deadline(60.0)),) * len(epsilons)
    return Case(by_epsilon, right, epsilons, random.Random(1), Deadline(60.0))


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
    assert frame["id"].is_unique
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
    right = [f"x{j}" for (j,) in made.right(5)]
    X = np.column_stack([np.ones(len(frame)), frame[right]])
    residuals = frame["y"] - X @ np.linalg.lstsq(X, frame["y"], rcond=None)[0]
    assert abs(1.0 - residuals.var() / frame["y"].var() - effect) < 0.02
    assert abs(np.corrcoef(frame["x0"], frame["x1"])[0, 1] - 0.4) < 0.03


def test_effects_are_of_one_strength_or_each_weaker_than_the_one_before() -> None:
    guesses = {"effect": 1.0, "missing": 0.0, "correlation": 0.0}
    for ratio in (1.0, 3.0):
        made = replace(simulation(NUMBERS, "y", 3, **guesses), ratio=ratio)
        frame = made.table(5, 20_000).to_pandas()
        right = [f"x{j}" for (j,) in made.right(5)]
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
    found = {tuple(np.concatenate(made.right(k))) for k in range(60)}
    assert len(found) > 10
    constant = [e.field.name for e in made.public.features].index("one")
    assert all(constant not in right for right in found)


@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_fields_that_repeat_each_other_say_the_same_and_matter_most(effect: float) -> None:
    made = replace(simulation(NUMBERS, "y", 3, effect=effect, missing=0.1), repeats=True)
    assert made.repeated == 4
    alike, *others = made.right(5)
    assert (len(alike), len(others), len({*alike, *np.concatenate(others)})) == (4, 2, 6)
    frame = made.table(5, 20_000).to_pandas()
    names = [f"x{j}" for j in alike]
    assert frame[names].isna().all(axis=1).sum() == frame[names].isna().any(axis=1).sum() > 1000
    together = frame[names].corr().to_numpy()
    assert together.min() > 0.975
    assert together[np.triu_indices(4, 1)].max() < 0.99
    assert abs(frame[f"x{others[0][0]}"].corr(frame[names[0]]) - 0.2) < 0.03
    explained = [_r_squared(frame, [name]) for name in names]
    assert np.ptp(explained) < 0.02
    assert abs(_r_squared(frame, names) - 0.8) < 0.05
    right = _r_squared(frame, [*names, *(f"x{j}" for (j,) in others)])
    assert abs(right - (0.8 + 0.2 * effect)) < 0.02


def _r_squared(frame: Any, names: list[str]) -> float:
    X = np.column_stack([np.ones(len(frame)), frame[names].fillna(frame[names].mean())])
    residuals = frame["y"] - X @ np.linalg.lstsq(X, frame["y"], rcond=None)[0]
    return float(1.0 - residuals.var() / frame["y"].var())


@pytest.mark.parametrize(
    ("schema", "target", "size", "repeated"),
    [
        (NUMBERS, "y", 2, 4),
        (NUMBERS, "y", 5, 2),
        (NUMBERS, "y", 6, 0),
        (NUMBERS, "y", 1, 0),
        (MIXED, "los", 2, 2),
        (MIXED, "bp", 5, 2),
        (MIXED, "bp", 7, 0),
    ],
)
def test_only_fields_with_ranges_repeat_each_other_and_others_are_left(
    schema: TableSchema, target: str, size: int, repeated: int
) -> None:
    made = replace(simulation(schema, target, size), repeats=True)
    assert made.repeated == repeated
    assert len(made.right(0)) == size
    assert simulation(schema, target, size).repeated == 0
    assert replace(made, guesses=Guesses(repeated=0.0)).repeated == 0


def test_any_field_of_those_that_repeat_each_other_is_the_right_one_once() -> None:
    made = replace(simulation(NUMBERS, "y", 2), repeats=True)
    instance = Instance.from_table(made.table(0, 50), NUMBERS, target="y", support_size=2)
    right = (np.array([0, 2, 3]), np.array([5]))
    case = case_by(instance, right, 1.0)
    supports = np.array([[0, 2], [0, 5], [3, 5], [1, 4], [1, 2], [4, 5]])
    assert case.shares(supports).tolist() == [0.5, 1.0, 1.0, 0.0, 0.5, 0.5]


def assert_law(chance: Chance | None, mechanism: ExactDraws, right: tuple[Any, ...]) -> None:
    """A chance is that of the mechanism, by its own probabilities."""
    assert chance is not None
    columns = np.concatenate(right)
    found = mechanism.inclusion_probabilities().low[columns].mean()
    assert chance.found == pytest.approx(found, rel=1e-6)
    all_found = np.exp(mechanism.log_probability(columns))
    assert chance.all_found == pytest.approx(all_found, rel=1e-6)


@pytest.mark.parametrize("method", list(LAWS))
def test_exact_chances_are_those_of_the_mechanism(method: str) -> None:
    case = case_of(MIXED, "los", 800, 0.5, 4.0)
    for epsilon, chance in zip(case.epsilons, EXACT[method](case), strict=True):
        assert_law(chance, LAWS[method](case.instance, epsilon), case.right)


@pytest.mark.parametrize("method", list(LAWS))
def test_draws_agree_with_exact_chances(method: str) -> None:
    case = case_of(NUMBERS, "y", 600, 2.0)
    (exact,) = EXACT[method](case)
    sampled = replace(case, most_listed=0, draws=1500)
    (drawn,) = EXACT[method](sampled)
    assert drawn != exact
    assert abs(drawn.found - exact.found) < 0.05
    assert without_privacy(sampled)[0].found == 1.0


@pytest.mark.parametrize("method", list(LAWS))
def test_first_lines_are_draws_by_block_scores_of_the_simulated_table(method: str) -> None:
    plan = small_plan(tables=1, methods=list(LAWS))
    assert [options.block_rows for options in plan.blocks] == [12, 28]
    made = simulation(NUMBERS, "y", seed=0)
    line = next(line for line in plan.about(METHOD) if line.setting.name == f"{method}, blocks")
    given: dict[str, Any] = {
        "target": "y",
        "support_size": 2,
        "partition_seed": made.partition_seed(0, plan.rows),
    }
    for k, epsilon in enumerate(plan.epsilons):
        scores = BlockScores.from_table(made.table(0, plan.rows), NUMBERS, epsilon=epsilon, **given)
        assert scores.problem.public()["partitions"] == plan.blocks[k].partitions
        assert_law(line.chance(k), LAWS[method](scores, epsilon), made.right(0))
        # Blocks that are chosen for another ε are another score.
        other = plan.blocks[1 - k].block_rows
        wrong = BlockScores.from_table(made.table(0, plan.rows), NUMBERS, block_rows=other, **given)
        with pytest.raises(AssertionError):
            assert_law(line.chance(k), LAWS[method](wrong, epsilon), made.right(0))


def test_block_scores_are_computed_once_for_all_that_draws_from_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed = []

    def counted(rows: Any, features: Any, settings: Any, *others: Any) -> Any:
        computed.append((len(rows), settings.blocks.rows, settings.blocks.seed))
        return r_squared_counts(rows, features, settings, *others)

    monkeypatch.setattr(block_scores, "r_squared_counts", counted)
    plan = small_plan(tables=2, epsilons=[0.5, 1.0, 8.0], methods=["exponential", "sis"])
    assert [options.block_rows for options in plan.blocks] == [12, 12, 28]
    assert sorted(rows for n, rows, _ in computed if n == plan.rows) == [12, 12, 28, 28]
    assert len(set(computed)) == len(computed)


def test_least_squares_on_blocks_are_one_instance_for_all_epsilons() -> None:
    plan = small_plan(tables=1, score="blocks", methods=[])
    assert {(o.score, o.block_rows, o.partitions) for o in plan.blocks} == {("blocks", 2, 16)}
    made = simulation(NUMBERS, "y", seed=0)
    instance = Instance.from_blocks(
        made.table(0, plan.rows),
        schema=NUMBERS,
        target="y",
        support_size=2,
        partition_seed=made.partition_seed(0, plan.rows),
    )
    for k, epsilon in enumerate(plan.epsilons):
        assert_law(plan.of_select.chance(k), PermuteAndFlip(instance, epsilon), made.right(0))


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
    question = Question(schema, target, 2, **more)
    options = question.blocks(rows, epsilon)
    assert (options.score, options.block_rows) == chosen
    if rows < 1000:
        return
    table = simulation(schema, target).table(0, rows)
    made = ScoredTable(
        table, question.of_the_table, 2, {}, BlockOptions(epsilon=epsilon, **more)
    ).made()
    public = made.problem.public()
    assert (public["block_rows"], public["partitions"]) == (chosen[1], options.partitions)
    assert isinstance(made, BlockScores) is (chosen[0] == "block-r2")


def test_long_scores_are_simulated_with_fewer_partitions() -> None:
    partitions = [
        Question(NUMBERS, "y", 2).blocks(rows, 1.0).partitions
        for rows in (4000, 20_000, 40_000, 400_000)
    ]
    assert partitions[:2] == [8, 5]
    assert 5 > (partitions[2] or 0) > (partitions[3] or 0) == 1
    made = simulation(NUMBERS, "y").table(0, 20_000)
    of_select = ScoredTable(
        made, Question(NUMBERS, "y", 2).of_the_table, 2, {}, BlockOptions()
    ).made()
    assert of_select.problem.public()["partitions"] == 8


def test_people_of_simulated_tables_have_one_row_in_the_order_of_the_table() -> None:
    question = Question(MIXED, "los", 2)
    table = simulation(MIXED, "los").table(0, 300)
    options = question.blocks(300, 1.0)
    first, again = (question.in_blocks(table, options, 5) for _ in range(2))
    nobody = TableSchema.of({"fields": FIELDS[1:]})
    alike = BlockScores.from_table(table, nobody, target="los", support_size=2, partition_seed=5)
    assert isinstance(first, BlockScores)
    assert isinstance(again, BlockScores)
    assert np.array_equal(first.counts, again.counts)
    assert np.array_equal(first.counts, alike.counts)


def small_plan(schema: TableSchema = NUMBERS, target: str = "y", **more: Any) -> SelectionPlan:
    options: dict[str, Any] = {"rows": 400, "support_size": 2, "tables": 3, "epsilons": [1.0, 8.0]}
    return plan_selection(schema, target=target, **{**options, **more})


def names(plan: SelectionPlan, *what: str) -> list[str]:
    return [line.setting.name for line in plan.about(*what)]


def test_methods_that_take_no_weights_are_not_compared_for_a_table_with_weights() -> None:
    weight = {**number("w", 0, 3), "mipselect:role": "weight"}
    weighted = TableSchema.of(
        {"fields": [*(number(f"x{j}") for j in range(4)), number("y"), weight]}
    )
    question = Question(weighted, "y", 1)
    assert checked_methods(None, question) == (
        "permute-and-flip",
        "exponential",
        "top-r",
        "mistakes",
    )
    assert "kendall" in checked_methods(None, Question(NUMBERS, "y", 1))
    for name in ("kendall", "sis", "mcmc", "sample-aggregate"):
        with pytest.raises(InvalidInput, match=f"'{name}' counts all rows the same.*survey weight"):
            checked_methods([name], question)


def test_a_schema_without_ranges_has_the_lines_of_blocks() -> None:
    plan = small_plan(WITHOUT_RANGES, "los", support_size=1, guesses=Guesses(effect=0.5))
    assert plan.without_range == ("age", "bp", "los")
    assert names(plan, METHOD) == ["permute-and-flip, blocks", "exponential, blocks"]
    assert {line.setting.about for line in plan.lines} <= {METHOD, "rows", REFERENCE}
    assert plan.of_loss is None
    last = plan.of_select.chance(1)
    assert last is not None
    assert last.found > 0.8 > plan.blind
    assert [asked for asked, _ in answers(plan)] == [
        "Will it find what matters?",
        "Which method?",
        "How many rows?",
    ]
    frame = simulation(WITHOUT_RANGES, "los", missing=0.0).table(0, 3000).to_pandas()
    assert (frame["age"] % 1 == 0).all()
    assert frame["age"].nunique() > 1500
    assert abs(frame["bp"].std() - 1.0) < 0.05


def test_ranges_move_no_line_of_blocks() -> None:
    """A number is scaled by its range, and blocks see none of it."""
    wide = TableSchema.of(
        {"fields": [*(number(f"x{j}", -1e4, 1e4) for j in range(6)), number("y", -1e4, 1e4)]}
    )
    one, other = (small_plan(schema, methods=[], tables=2) for schema in (NUMBERS, wide))
    for k in range(2):
        mine, theirs = one.of_select.chance(k), other.of_select.chance(k)
        assert mine is not None
        assert theirs is not None
        assert mine.found == pytest.approx(theirs.found, abs=1e-3)


def test_with_the_loss_in_question_all_lines_are_of_it() -> None:
    plan = small_plan(score="loss", tables=1)
    assert plan.blocks == ()
    assert names(plan, METHOD)[:3] == ["permute-and-flip, loss", "exponential, loss", "top-r, loss"]
    assert {line.setting.score for line in plan.lines} == {"loss"}
    assert plan.of_select == plan.of_loss
    beside = small_plan(tables=1)
    assert beside.of_loss == plan.of_loss
    assert names(beside, METHOD)[:2] == ["permute-and-flip, blocks", "exponential, blocks"]
    assert names(beside, METHOD)[2:] == names(plan, METHOD)
    # Of two classes too `BlockOptions` chooses, as in select.
    assert Question(MIXED, "smoker", 1).score is None
    assert Question(MIXED, "nyha", 1).score is None


def test_a_plan_is_reproducible_and_monotone() -> None:
    steps: list[Step] = []
    plan = small_plan(progress=steps.append)
    assert plan == small_plan()
    assert plan != small_plan(seed=1)
    assert (plan.of_select.setting.coef_bound, plan.of_select.setting.ridge) == (None, None)
    assert (plan.coef_bound, plan.ridge) == (default_coef_bound(2, 0, True), DEFAULT_RIDGE)
    assert [step.done for step in steps] == list(range(len(steps)))
    assert steps[-1].done < steps[-1].total
    shares = [chance.found for line in plan.by_rows if (chance := line.chance(0))]
    assert shares[0] < shares[-1]
    for line in plan.lines:
        low, high = line.chance(0), line.chance(1)
        assert low is not None
        assert high is not None
        # Where fields repeat each other a tight bound takes them the more surely.
        assert low.found <= high.found + 0.1 or line.setting.about == REPEATED
        assert low.all_found <= low.found + 1e-12


def test_a_mean_far_from_the_middle_makes_a_tight_bound_bad() -> None:
    """What keeps the default from being tighter: the intercept lives in the same ball."""
    guesses = {"effect": 0.6, "spread": 0.3}
    for mean, better in ((50.0, True), (12.0, False)):
        plan = small_plan(
            rows=4000, epsilons=[1.0], methods=[], guesses=Guesses(target_mean=mean, **guesses)
        )
        tight, now = plan.about(COEF_BOUND)[0], plan.of_loss
        assert now is not None
        assert (tight.gain(now, 0)[0] > 0.0) is better


def test_a_tight_bound_draws_fields_that_repeat_each_other_in_place_of_others() -> None:
    """Four of them reach twice as far as one, so that they are worth more than what is right."""
    plan = small_plan(rows=40_000, support_size=3, epsilons=[1.0], methods=[], score="loss")
    tight, now, twice = plan.about(REPEATED)
    assert plan.repeated == 4
    assert tight.setting.coef_bound < now.setting.coef_bound == plan.coef_bound
    for line, low, high in ((tight, 0.3, 0.4), (now, 0.3, 0.7), (twice, 0.9, 1.0)):
        chance = line.chance(0)
        assert chance is not None
        assert low < chance.found <= high
    said = dict(answers(plan))[BOUNDS]
    assert f"where 4 fields repeat each other {2 * plan.coef_bound:.3g} finds more than" in said
    without = small_plan(guesses=Guesses(repeated=0.0), epsilons=[1.0], methods=[])
    assert (without.repeated, without.about(REPEATED)) == (0, ())
    assert "repeat" not in " ".join(answer for _, answer in answers(without))


def test_what_is_too_slow_has_no_chances() -> None:
    plan = small_plan(time_limit=1e-9)
    assert {line.remark for line in plan.lines} == {TOO_SLOW}
    assert [plan.rows_needed(k) for k in range(2)] == [None, None]
    assert all("unknown" in answer for _, answer in answers(plan))


def plan_of(lines: list[tuple[str, float, list[float]]], *, goal: float = 0.8) -> SelectionPlan:
    """A plan at one ε with these lines: what it is about, its value, `found` by table."""
    made = []
    for about, value, found in lines:
        setting = Setting(about, "permute-and-flip", 1000, "loss", 0.5, 1.0)
        if about == REPEATED:
            setting = replace(setting, coef_bound=value)
        elif about not in (METHOD, REFERENCE):
            setting = replace(setting, **{about: value})  # type: ignore[arg-type]
        made.append(Line(setting, tuple((Chance(share, 0.0),) for share in found)))
    question: dict[str, Any] = {"rows": 1000, "support_size": 2, "features": 6, "repeated": 4}
    of_loss: dict[str, Any] = {"blocks": (), "without_range": (), "coef_bound": 0.5, "ridge": 1.0}
    return SelectionPlan(
        **question,
        **of_loss,
        epsilons=(1.0,),
        goal=goal,
        guesses=Guesses(),
        seed=0,
        lines=tuple(made),
    )


def test_rows_needed_lie_between_those_that_were_tried() -> None:
    lines = [(METHOD, 0.0, [0.4, 0.6]), ("rows", 2000, [0.7, 0.7]), ("rows", 4000, [0.9, 0.9])]
    assert plan_of(lines).rows_needed(0) == pytest.approx(2000 * 2**0.5)
    assert plan_of(lines, goal=0.95).rows_needed(0) is None
    assert plan_of(lines, goal=0.5).rows_needed(0) == 1000


def test_an_answer_needs_a_clear_difference() -> None:
    start = (METHOD, 0.0, [0.4, 0.6, 0.5])
    reference = (REFERENCE, 0.0, [1.0])
    clear = (COEF_BOUND, 0.25, [0.6, 0.8, 0.7])
    unclear = (RIDGE, 10.0, [0.9, 0.3, 0.5])
    said = dict(answers(plan_of([start, clear, unclear, reference])))
    two = dict(answers(plan_of([start, (METHOD, 0.0, [0.9, 0.3, 0.5]), reference])))
    assert "50% at ε = 1, and no other is clearly better (" in two["Which method?"]
    three = dict(answers(plan_of([start, (METHOD, 0.0, [0.6, 0.8, 0.7]), reference])))
    assert "70% at ε = 1 (" in three["Which method?"]
    bounds = said[BOUNDS]
    assert "coef_bound 0.25 finds more than 0.5 (70% in place of 50%), if the mean" in bounds
    assert "keep ridge 1" in bounds
    single = [(about, value, found[:1]) for about, value, found in (start, clear, reference)]
    assert "keep coef_bound 0.5" in dict(answers(plan_of(single)))[BOUNDS]


@pytest.mark.parametrize(
    ("half", "same", "twice", "said"),
    [
        ([0.2, 0.3], [0.5, 0.6], [0.53, 0.63], "keep coef_bound 0.5; the same where 4 fields"),
        ([0.2, 0.3], [0.3, 0.4], [0.9, 1.0], "1 finds more than 0.5 (95% in place of 35%; "
         "elsewhere 40% in place of 50%)"),
        ([0.2, 0.3], [0.3, 0.4], [0.6, 0.7], "elsewhere 40% in place of 50%), and twice that"),
        ([0.5, 0.6], [0.5, 0.6], [0.53, 0.63], "keep coef_bound 0.5; the same where 4 fields"),
        ([0.9, 1.0], [0.3, 0.4], [0.92, 1.0], "0.25 finds more than 0.5 (95% in place of 35%; "
         "elsewhere 30% in place of 50%)"),
    ],
)  # fmt: skip
def test_the_bound_for_fields_that_repeat_each_other_comes_with_its_cost(
    half: list[float], same: list[float], twice: list[float], said: str
) -> None:
    lines = [
        (METHOD, 0.0, [0.4, 0.6]), (REFERENCE, 0.0, [1.0, 1.0]),
        (COEF_BOUND, 0.25, [0.2, 0.4]), (COEF_BOUND, 1.0, [0.3, 0.5]),
        (REPEATED, 0.25, half), (REPEATED, 0.5, same), (REPEATED, 1.0, twice),
    ]  # fmt: skip
    answer = dict(answers(plan_of(lines)))[BOUNDS]
    assert said in answer
    assert ("twice that" in answer) is ("twice that" in said)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": 1}, "rows must be"),
        ({"rows": 10**9}, "plan with fewer"),
        ({"support_size": 7}, "support_size must be"),
        ({"methods": ["lasso"]}, "methods: 'lasso' is unknown"),
        ({"epsilons": []}, "at least one"),
        ({"epsilons": [-1.0]}, "epsilons must be"),
        ({"goal": 1.0}, "goal must be"),
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
    "wrong",
    [{"effect": 1.1}, {"correlation": 1.0}, {"repeated": 1.0}, {"missing": -0.1}, {"spread": 0.0}],
)
def test_guesses_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Guesses(**wrong)
    with pytest.raises(InvalidInput, match="for a target with a range"):
        Guesses(target_sd=1.0).target_law(PublicMap.of(MIXED, target="smoker"))
