"""Instances and their questions: exact ranges, every mistake named, what goes with a score."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mipselect import BlockScores, Instance
from mipselect.blocks.scores import BlockOptions, require_together
from mipselect.errors import InvalidInput
from mipselect.mechanisms import ExponentialMechanism
from mipselect.problem.data import ExactSums
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema
from mipselect.tables.moments import Moments
from tests.support.designs import least_ridge

PUBLIC = {
    "support_size": 2,
    "x_bound": 1.0,
    "y_bound": 2.0,
    "coef_bound": 1.5,
    "ridge": 0.5,
}


def make(X: object = None, y: object = None, **changes: object) -> Instance:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 4)) if X is None else X
    y = rng.standard_normal(10) if y is None else y
    return Instance(X, y, **{**PUBLIC, **changes})  # type: ignore[arg-type]


def test_data_are_clipped_copied_and_read_only() -> None:
    X, y = np.full((3, 2), 5.0), np.array([-9.0, 0.0, 9.0])
    instance = make(X, y)
    assert instance.X.max() == 1.0
    assert instance.y.tolist() == [-2.0, 0.0, 2.0]
    X[:] = 0.0
    assert instance.X.max() == 1.0
    with pytest.raises(ValueError, match="read-only"):
        instance.X[0, 0] = 3.0
    with pytest.raises(AttributeError, match="immutable"):
        instance.ridge = 1.0


def test_sensitivity_is_the_formula_and_is_attained() -> None:
    n, s, b_x, b_y, r = 4, 2, 0.5, 0.7, 1.1
    U = b_x * r * math.sqrt(s)
    instance = Instance(
        np.zeros((n, s)), np.zeros(n), support_size=s, x_bound=b_x, y_bound=b_y, coef_bound=r,
        ridge=1e-9,
    )  # fmt: skip
    assert instance.sensitivity == pytest.approx((b_y + U) ** 2 / (2 * n), rel=1e-15)


EXTREMES = [
    {"x_bound": b_x, "y_bound": b_y, "coef_bound": r, "ridge": ridge}
    for b_x, b_y, r in itertools.product([1e-25, 1.0, 1e25], repeat=3)
    for ridge in (1e-50, min(b_x**2, 1e50), 1e50)
]


@pytest.mark.parametrize("seed", range(len(EXTREMES)))
def test_no_digit_of_the_loss_is_lost_at_the_ends_of_the_bounds(seed: int) -> None:
    """The exact loss over all supports, for neighbours at the ends of what is accepted."""
    rng = np.random.default_rng(seed)
    public = {"support_size": 2, **EXTREMES[seed]}
    b_x, b_y = public["x_bound"], public["y_bound"]
    supports = list(itertools.combinations(range(4), 2))
    for n in (1, 3, 200):
        X = b_x * rng.choice([-1.0, 0.0, 1e-20, 0.5, 1.0], (n, 4))
        y = b_y * X[:, 0] / b_x if seed % 2 else b_y * rng.uniform(-1, 1, n)
        laws = []
        for other in (False, True):
            if other:
                X[0] = b_x * rng.choice([-1.0, 1.0], 4)
                y[0] = -b_y if y[0] > 0 else b_y
            least = least_ridge(n, 2, b_x)
            instance = Instance(X, y, **{**public, "ridge": max(public["ridge"], least)})
            assert instance.sensitivity >= np.finfo(float).tiny
            mechanism = ExponentialMechanism(instance, 1.0)
            laws.append([mechanism.log_probability(support) for support in supports])
        assert np.max(np.abs(np.subtract(*laws))) <= 1.0 + 1e-9


@pytest.mark.parametrize("loss", ["squared", "hinge", "huber(0.5)", "quantile(0.5)"])
def test_a_ridge_that_rounding_loses_is_refused_with_what_would_do(loss: str) -> None:
    X, y = np.tile(np.eye(3), (100, 1)), np.tile([1.0, -1.0, 1.0], 100)
    bounds = {"support_size": 2, "y_bound": 1.0, "coef_bound": 1.0, "loss": loss}
    for ridge, message in ((0.0, "above 0, got 0"), (1e-10, "at least 1e-09 for so many rows")):
        with pytest.raises(InvalidInput, match=message):
            Instance(X, y, x_bound=2.0, intercept=True, ridge=ridge, **bounds)
    assert Instance(X, y, x_bound=2.0, intercept=True, ridge=1e-9, **bounds).n == 300
    one = Instance(X, y, x_bound=2.0, ridge=7e-11, **{**bounds, "support_size": 1})
    with pytest.raises(InvalidInput, match="got 7e-11"):
        one.with_support_size(2)


def test_a_ridge_is_refused_for_sums_and_blocks_too() -> None:
    X, y = np.random.default_rng(0).uniform(-1, 1, (300, 3)), np.linspace(-1, 1, 300)
    moments = Moments.of((X, y), x_bound=1.0, y_bound=1.0)
    for ridge, message in ((0.0, "above 0, got 0"), (1e-12, "at least 1e-1. for so many rows")):
        with pytest.raises(InvalidInput, match=message):
            Instance.from_moments(moments, support_size=2, coef_bound=1.0, ridge=ridge)
        with pytest.raises(InvalidInput, match=message):
            Instance.from_blocks(X, y, support_size=2, ridge=ridge)


def test_the_sensitivity_of_the_hinge_is_not_cancelled() -> None:
    for bound in (1e-25, 1e-9, 0.4, 1.0, 7.0):
        instance = make(y=[0, 1] * 5, loss="hinge", support_size=1, x_bound=bound, coef_bound=1.0)
        exact = 2 * Fraction(bound) if bound < 1 else 1 + Fraction(bound)
        assert instance.sensitivity == pytest.approx(float(exact / 10), rel=1e-14, abs=0.0)


def test_objectives_agree_with_objective_in_any_order() -> None:
    instance = make()
    supports = np.array([[0, 1], [3, 2], [1, 3]])
    one_by_one = [instance.objective(row) for row in supports]
    assert instance.objectives(supports) == pytest.approx(one_by_one, rel=1e-14)
    assert instance.objective([2, 3]) == pytest.approx(instance.objective((3, 2)), rel=1e-14)
    assert instance.fit([2, 3]).coef == pytest.approx(instance.fit([3, 2]).coef[::-1], rel=1e-12)


def test_data_frame_keeps_its_names() -> None:
    table = pd.DataFrame({"age": [1.0, 2.0], "dose": [0, 1], "smoker": [True, False]})
    assert make(table, [1, 2]).feature_names == ("age", "dose", "smoker")


@pytest.mark.parametrize("bound", [0.1, 0.3, 0.7, 1.0])
def test_float32_is_not_clipped_above_the_bound(bound: float) -> None:
    instance = make(np.full((3, 2), 9.0, dtype=np.float32), np.zeros(3), x_bound=bound)
    assert bound * (1 - 1e-6) < float(instance.X.max()) <= bound
    assert float(instance.X.max()) == -float(
        make(-instance.X * 9, np.zeros(3), x_bound=bound).X.min()
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bound", [0.1, 1.0, 3.3])
def test_no_row_of_a_feature_is_longer_than_its_bound(bound: float, dtype: type) -> None:
    """Lengths in exact arithmetic, of features of one column and of several."""
    X = 9.0 * np.random.default_rng(0).standard_normal((200, 8)).astype(dtype)
    instance = Instance(
        X, np.ones(200), support_size=1, x_bound=bound, y_bound=1.0, coef_bound=1.0, ridge=1.0,
        groups=[[0], [1, 2], [3, 4, 5]], always=[6, 7],
    )  # fmt: skip
    for group in ([0], [1, 2], [3, 4, 5], [6], [7]):
        for row in instance.X[:, group].tolist():
            assert sum(Fraction(entry) ** 2 for entry in row) <= Fraction(bound) ** 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"support_size": 0}, r"support_size must be an integer in 1\.\.4, got 0"),
        ({"support_size": 5}, r"support_size must be an integer in 1\.\.4, got 5"),
        ({"support_size": 2.0}, "support_size must be an integer"),
        ({"x_bound": 0.0}, "x_bound must be a finite number > 0, got 0"),
        ({"y_bound": -1.0}, "y_bound must be a finite number > 0"),
        ({"y_bound": math.inf, "loss": "huber"}, r"got inf; with huber\(1.35\) y_bound = U \+ κ"),
        ({"coef_bound": float("inf")}, "coef_bound must be a finite number > 0"),
        ({"ridge": -1e-9}, "ridge must be a finite number ≥ 0"),
        ({"ridge": "1"}, "ridge must be a finite number"),
        ({"loss": "cubic"}, "loss 'cubic' is unknown; known: squared"),
        ({"y": np.zeros(9)}, r"y must have one value per row of X, \(10,\); got \(9,\)"),
        ({"X": np.zeros(4)}, r"shape \(n, p\)"),
        ({"X": np.zeros((0, 4)), "y": []}, "non-empty"),
        ({"feature_names": ["a"]}, "4 entries"),
        ({"feature_names": ["a", "b", "a", "c"]}, "must differ; columns 0 and 2: a"),
        ({"feature_names": ["a", "b", "c", "d\x1b[31m"]}, "column 3 must be one printable line"),
        ({"feature_names": ["a", "b", "c", 1.5]}, "column 3 must be a text"),
        ({"X": pd.DataFrame(np.zeros((10, 4)), columns=list("abca"))}, "columns 0 and 3: a"),
        ({"support_size": 10**5000}, "support_size must be an integer in"),
        ({"x_bound": 10**5000}, "x_bound must be a finite number > 0"),
        ({"x_bound": 1e308}, "x_bound must lie between 1e-25 and 1e.25, got 1e.308"),
        ({"x_bound": 1.96e-161}, "x_bound must lie between"),
        ({"y_bound": 1.96e-161}, "y_bound must lie between"),
        ({"coef_bound": 5e-324}, "coef_bound must lie between"),
        ({"coef_bound": 1e150, "x_bound": 1.7e-162}, "x_bound must lie between"),
        ({"ridge": 5e-324}, "ridge must lie between 1e-50 and 1e.50, got 5e-324"),
        ({"loss": "huber(1e-300)"}, "threshold κ of the Huber loss must lie between"),
    ],
)
def test_bad_input_is_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make(**changes)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_named_by_row_and_column(value: float) -> None:
    X = np.zeros((10, 4))
    X[7, 2] = value
    with pytest.raises(InvalidInput, match=r"row 7, column 2 \(c\) holds"):
        make(X, feature_names=["a", "b", "c", "d"])
    y = np.zeros(10)
    y[3] = value
    with pytest.raises(InvalidInput, match="y must be finite: row 3"):
        make(y=y)


def test_a_column_that_is_not_numeric_is_named() -> None:
    table = pd.DataFrame({"age": [1.0, 2.0], "town": ["Ulm", "Bonn"]})
    with pytest.raises(InvalidInput, match=r"row 0, column 1 \(town\) holds text"):
        make(table, [1, 2])


@pytest.mark.parametrize("support", [[0], [0, 0], [0, 4], [-1, 0], [0.0, 1.0], [0, 1, 2]])
def test_a_wrong_support_is_refused(support: list[float]) -> None:
    with pytest.raises(InvalidInput, match="a support is 2"):
        make().objective(support)
    if len(support) == 2:
        with pytest.raises(InvalidInput, match="a support is 2"):
            make().objectives([[1, 2], support])


def test_legal_oddities() -> None:
    one_row = make(np.array([[0.1, 0.2, 0.3, 0.4]]), [1.0])
    assert one_row.objective([0, 1]) > 0.0
    constant = make(np.ones((10, 4)))
    assert np.isfinite(constant.objective([0, 1]))
    assert make(np.zeros((10, 4))).fit([0, 1]).coef.tolist() == [0.0, 0.0]


def test_units_of_a_feature_are_no_longer_than_its_bound() -> None:
    """Sensitivities of scores rest on squares that are 1 together at most."""
    ends = np.cumsum([1, 3, 6, 24])
    groups = [list(some) for some in np.split(np.arange(34), ends[:-1])]
    for seed in range(100):
        rng = np.random.default_rng(seed)
        bounds = np.append(10.0 ** rng.uniform(-3, 3, 4), np.full(30, rng.uniform(1, 2)))
        rows = rng.uniform(-1, 1, (3, 34)), np.ones(3)
        moments = Moments.of(rows, x_bound=bounds, y_bound=1.0)
        settings = {"support_size": 1, "coef_bound": 1.0, "ridge": 1.0, "groups": groups}
        sums = Instance.from_moments(moments, **settings).data
        assert isinstance(sums, ExactSums)
        for share in np.split(sums.shares, ends[:-1]):
            square = sum(Fraction(part) ** 2 for part in share.tolist())
            assert 1 - Fraction(1e-14) <= square <= 1


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("loss", {"block_rows": 4}, "block_rows goes with scores from blocks"),
    ("loss", {"partitions": 4}, "partitions goes with scores from blocks"),
    *(
        (score, {name: 1.0}, f"{name} does not apply to score '{score}', which uses no range")
        for score in ("blocks", "block-r2")
        for name in ("x_bound", "y_bound")
    ),
    ("blocks", {"intercept": True}, "centred blocks: leave out intercept"),
    ("block-r2", {"loss": "hinge"}, "centred blocks: leave out loss"),
    ("block-r2", {"ridge": 1.0}, "ridge goes with score 'blocks' or 'loss'"),
    ("block-r2", {"coef_bound": 1.0}, "coef_bound goes with score 'blocks' or 'loss'"),
]
ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("loss", {"x_bound": 1.0, "ridge": 1.0, "intercept": True, "loss": "hinge"}),
    ("blocks", {"ridge": 1.0, "coef_bound": 1.0, "block_rows": 4, "loss": "squared"}),
    ("block-r2", {"partitions": 2, "intercept": False, "loss": None}),
]


def refusal(call: Any) -> str:
    with pytest.raises(InvalidInput) as error:
        call()
    return str(error.value)


@pytest.mark.parametrize(("score", "given", "words"), REFUSED)
def test_selectors_and_options_refuse_in_the_same_words(
    score: str, given: dict[str, Any], words: str
) -> None:
    said = refusal(lambda: require_together(score, given))
    assert words in said
    selector = PermuteAndFlipSelector(2, score=score, **given)
    assert refusal(selector.check) == said
    if score != "loss" and set(given) <= {"ridge", "coef_bound"}:
        assert refusal(lambda: BlockOptions(score=score, **given)) == said
    (name,) = given
    assert f"--{name}" in refusal(lambda: require_together(score, given, named="--{}".format))


@pytest.mark.parametrize(("score", "given"), ACCEPTED)
def test_what_goes_together(score: str, given: dict[str, Any]) -> None:
    require_together(score, given)
    PermuteAndFlipSelector(2, score=score, **(given | {"loss": given["loss"] or "squared"})).check()


def test_lists_are_of_one_size() -> None:
    said = refusal(lambda: require_together("block-r2", {}, lists=False))
    assert "exact draws of one size" in said
    assert refusal(lambda: BlockOptions(score="block-r2", lists=False)) == said
    of_sizes = PermuteAndFlipSelector(sizes=[1, 2], score="block-r2")
    assert refusal(of_sizes.check) == said
    require_together("blocks", {}, lists=False)


def test_a_table_is_asked_for_one_score() -> None:
    known = TableSchema.of_numbers({"a": (0.0, 9.0), "b": (0.0, 9.0), "y": (0.0, 9.0)})
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.uniform(0.0, 9.0, 60) for name in "aby"})

    def made(**options: Any) -> Any:
        return Instance.from_table(table, known, target="y", support_size=1, **options)

    assert made().problem.score == "loss"
    assert made(score="blocks", block_rows=3).problem.blocks.rows == 3
    for score in ("block-r2", None):
        assert isinstance(made(score=score, partition_seed=1), BlockScores)
    for given, words in (
        ({"block_rows": 3}, "goes with scores from blocks"),
        ({"score": "blocks", "ranges": {"a": (0.0, 5.0)}}, "ranges does not apply to score"),
        ({"score": None, "loss": "hinge"}, "leave out loss"),
        ({"score": "block-r2", "ridge": 1.0}, "ridge goes with score"),
        ({"score": "r2"}, "score must be one of"),
    ):
        assert words in refusal(lambda given=given: made(**given))
