"""From a table to an instance: brute force, sensitivity over hostile rows, units of the table."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect import ExponentialMechanism, Instance, mistake_levels, top_supports
from mipselect.errors import InvalidInput
from mipselect.tables import TableSchema
from tests.support.fields import numeric, schema_of
from tests.support.mapped_tables import map_table
from tests.support.one_row_at_a_time import HOSPITAL, HOSTILE, ROWS

SCHEMA = TableSchema.of(HOSPITAL)
NAMES = [field.name for field in SCHEMA.fields]


def hospital(n: int, seed: int = 0) -> list[list[str]]:
    """Rows of texts, some hostile."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        age, sex = rng.integers(18, 100), rng.choice(["f", "m"])
        row = [str(age), sex, f"{rng.normal(140, 20):.1f}", rng.choice(["yes", "no"])]
        row += [str(rng.integers(1, 5)), str(rng.choice(["E", "I", "Jé", "N"]))]
        row += [f"{rng.random() * 1e4:.2f}".replace(".", ",")]
        stay = 5 + 0.3 * (age - 18) + 10 * (sex == "m") + rng.normal(0, 3)
        rows.append([*row, f"{stay:.2f}"])
        for k in np.flatnonzero(rng.random(len(row) + 1) < 0.05):
            rows[-1][k] = HOSTILE[int(rng.integers(len(HOSTILE) - 3))]
    return rows


def source(rows: list[list[str]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    cells = [[v.encode("utf-8", "surrogateescape") for v in column] for column in columns]
    return pa.table(dict(zip(NAMES, cells, strict=True)))


def made(rows: list[list[str]], **question: Any) -> Instance:
    asked = {"target": "los_days", "support_size": 2, **question}
    return Instance.from_table(source(rows), SCHEMA, **asked)


def test_it_is_the_instance_of_the_mapped_table() -> None:
    rows = hospital(60)
    table = map_table(source(rows), SCHEMA, target="los_days", always=["icd", "age"])
    one = made(rows, always=["icd", "age"], coef_bound=0.7, ridge=2.5)
    other = Instance(
        table.X,
        table.y,
        support_size=2,
        x_bound=1.0,
        y_bound=1.0,
        coef_bound=0.7,
        ridge=2.5,
        feature_names=table.column_names,
        groups=dict(zip(table.feature_names, table.groups, strict=True)),
        always=table.always_groups,
        intercept=True,
    )
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.y, other.y)
    assert one.X.dtype == np.float32
    assert one.feature_names == table.feature_names
    assert one.sensitivity == other.sensitivity
    assert one.sensitivity == pytest.approx((1 + 0.7 * math.sqrt(2 + 2 + 1)) ** 2 / 120)
    for support in itertools.combinations(range(5), 2):
        assert one.objective(support) == other.objective(support)
    assert not one.X.flags.writeable
    with pytest.raises(AttributeError, match="immutable"):
        one.ridge = 1.0


def least(instance: Instance, support: tuple[int, ...]) -> float:
    """R(S) by a generic solver, from the columns."""
    cvxpy = pytest.importorskip("cvxpy")
    columns = [j for k in support for j in instance.layout.groups[k]]
    columns += [j for group in instance.layout.always for j in group]
    X = np.hstack([instance.X[:, columns].astype(float), np.ones((instance.n, 1))])
    beta = cvxpy.Variable(X.shape[1])
    if instance.loss == "hinge":
        # Rows without a class have no features and no intercept.
        X[~instance.X.any(axis=1)] = 0.0
        loss = cvxpy.sum(cvxpy.pos(1 - cvxpy.multiply(instance.y, X @ beta)))
    else:
        loss = 0.5 * cvxpy.sum_squares(instance.y - X @ beta)
    total = (loss + 0.5 * instance.ridge * cvxpy.sum_squares(beta)) / instance.n
    problem = cvxpy.Problem(cvxpy.Minimize(total), [cvxpy.norm(beta) <= instance.coef_bound])
    return float(problem.solve(solver=cvxpy.CLARABEL))


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"always": ["sex"], "coef_bound": 2.0},
        {"target": "sex", "loss": "hinge", "always": ["age"]},
        {"target": "smoker", "loss": "hinge", "coef_bound": 0.3},
    ],
    ids=str,
)
def test_brute_force_agrees(question: dict[str, Any]) -> None:
    instance = made(hospital(80), **question)
    supports = list(itertools.combinations(range(instance.n_features), 2))
    values = np.array([least(instance, support) for support in supports])
    np.testing.assert_allclose(instance.objectives(supports), values, atol=1e-6)
    pool = top_supports(instance, pool_size=5)
    assert pool.values[0] == pytest.approx(values.min(), abs=1e-6)
    assert mistake_levels(instance).values[0] == pytest.approx(values.min(), abs=1e-6)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_no_row_moves_a_value_by_more_than_the_sensitivity(loss: str) -> None:
    target = "los_days" if loss == "squared" else "sex"
    rows = ROWS[:5]
    before = made(rows, target=target, loss=loss, coef_bound=1.0, ridge=0.01)
    supports = list(itertools.combinations(range(before.n_features), 2))
    values = before.objectives(supports)
    moved = 0.0
    draw = np.random.default_rng(1)
    changed = [[value] * len(NAMES) for value in HOSTILE]
    extreme = [["18", "100"], ["f", "m"], ["80", "200"], ["yes", "no"], ["1", "4"]]
    extreme += [["E", "N"], ["0", "1e4"], ["0", "60"]]
    changed += [[str(draw.choice(ends)) for ends in extreme] for _ in range(20)]
    for row in changed:
        for i in (0, 2):
            after = made([*rows[:i], row, *rows[i + 1 :]], target=target, loss=loss, ridge=0.01,
                         coef_bound=1.0)  # fmt: skip
            assert after.sensitivity == before.sensitivity
            moved = max(moved, float(np.abs(after.objectives(supports) - values).max()))
    assert moved <= before.sensitivity * (1 + 1e-9)
    # The bound is not idle: a quarter of it would be wrong.
    assert moved > 0.25 * before.sensitivity


def test_a_missing_class_counts_alike_whatever_is_chosen() -> None:
    """One class alone, or one that is in no list, raises nothing either."""
    for value in ("f", "?", "NA"):
        rows = [[row[0], value, *row[2:]] for row in hospital(40)]
        instance = made(rows, target="sex", loss="hinge")
        values = instance.objectives(list(itertools.combinations(range(7), 2)))
        assert value == "f" or values == pytest.approx(1.0, rel=1e-12)
        assert instance.problem.classes == ("f", "m")


def test_half_of_the_sensitivity_would_not_be_private() -> None:
    """Exact laws on neighbouring tables: within ε, and beyond it at twice the rate."""
    schema = schema_of(
        {"name": "a", "type": "string", "categories": [f"c{k}" for k in range(200)]},
        numeric("b", 0, 1),
        numeric("y", 0, 1),
    )

    def law(rows: list[tuple[Any, ...]], epsilon: float) -> np.ndarray[Any, Any]:
        columns = dict(zip("aby", map(list, zip(*rows, strict=True)), strict=True))
        instance = Instance.from_table(
            pa.table(columns), schema, target="y", support_size=1, coef_bound=1.0, ridge=1e-3,
            intercept=False,
        )  # fmt: skip
        assert instance.sensitivity == pytest.approx((1 + 1) ** 2 / (2 * len(rows)))
        draw = ExponentialMechanism(instance, epsilon=epsilon)
        return np.array([draw.log_probability((j,)) for j in range(2)])

    worst = {1.0: 0.0, 2.0: 0.0}
    hostile = [("c0", -5.0, 9.0), ("c0", 9.0, 9.0), (None, None, None), ("?", math.inf, -1.0)]
    hostile += [("c0", 0.0, 1.0), ("c0", 0.0, 0.0), ("c1", 1.0, 0.0)]
    for epsilon in worst:
        # The rest pins both coefficients at 1, and the category is the less likely choice.
        for others in (0, 20):
            rest = [("c0", 1.0, 1.0)] * 20 + [("?", 1.0, 1.0)] * others
            laws = [law([*rest, row], epsilon) for row in hostile]
            for one, other in itertools.permutations(laws, 2):
                worst[epsilon] = max(worst[epsilon], float(np.abs(one - other).max()))
    assert worst[1.0] <= 1.0
    assert worst[2.0] > 1.0


def test_coefficients_in_the_units_of_the_table() -> None:
    rows = hospital(400)
    instance = made(rows, support_size=3, always=["icd"], coef_bound=5.0, ridge=1e-6)
    support = [instance.feature_names.index(name) for name in ("age", "sex", "systolic")]
    rule = instance.fit_in_units(support)
    read = [each for each in rule.terms if each.kind in ("number", "category")]
    term = {(each.field, each.category): each.coefficient for each in read}
    assert term["age", None] == pytest.approx(0.3, abs=0.08)
    assert term["sex", "m"] == pytest.approx(10, abs=2)
    # By hand: the prediction of one whole row in days.
    row = dict(zip(NAMES, ["50", "m", "120", "no", "1", "I", "0", "30"], strict=True))
    by_hand = rule.intercept + term["age", None] * 50 + term["sex", "m"]
    by_hand += term["systolic", None] * 120 + term["icd", "I"]
    table = map_table(source([list(row.values())]), SCHEMA, target="los_days", always=["icd"])
    fit = instance.fit(support)
    columns = [j for k in support for j in instance.layout.groups[k]]
    columns += [j for group in instance.layout.always for j in group]
    scaled = table.X[0, columns] @ np.concatenate([fit.coef, fit.always[:-1]]) + fit.always[-1]
    assert by_hand == pytest.approx(30 + 30 * scaled, abs=1e-4)
    plain = Instance(
        np.eye(3), [1.0, 0, 0], support_size=1, x_bound=1, y_bound=1, coef_bound=1, ridge=1
    )
    with pytest.raises(InvalidInput, match="only a table with a schema"):
        plain.fit_in_units([0])


def test_defaults_depend_on_public_numbers_only() -> None:
    one, other = made(hospital(50, 1)), made([["?"] * len(NAMES)] * 50)
    assert (
        (one.coef_bound, one.ridge) == (other.coef_bound, other.ridge) == (1.25 / math.sqrt(3), 1)
    )
    assert one.sensitivity == other.sensitivity == pytest.approx(0.5 * 2.25**2 / 50)
    wide = made(hospital(50), support_size=3, always=["icd"], intercept=False)
    assert wide.coef_bound == 0.5
    # An objective without n: what is said of added and removed rows needs it.
    assert made(hospital(50) * 40).ridge == 1.0
    assert made(hospital(50), coef_bound=0.2, ridge=7).ridge == 7.0


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"support_size": 8}, r"support_size must be an integer in 1..7"),
        ({"loss": "hinge"}, "the hinge loss needs a target of two classes; 'los_days'"),
        ({"loss": "cubic"}, "loss"),
        ({"coef_bound": -1}, "coef_bound must be"),
        ({"ridge": -1}, "ridge must be"),
        ({"intercept": 1}, "intercept must be True or False"),
    ],
)
def test_a_wrong_question_is_refused_before_a_row_is_read(
    question: dict[str, Any], message: str
) -> None:
    def rows() -> Any:
        raise AssertionError("a row was read")
        yield

    reader = pa.RecordBatchReader.from_batches(source(ROWS).schema, rows())
    asked = {"target": "los_days", "support_size": 2, **question}
    with pytest.raises(InvalidInput, match=message):
        Instance.from_table(reader, SCHEMA, **asked)
