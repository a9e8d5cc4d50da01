"""What every selector owes its users: names, bounds, the ledger, randomness, odd data."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from mipselect import Ledger, MipselectError
from mipselect.errors import BudgetExceeded, InvalidInput
from mipselect.selectors import ExponentialSelector, TopRSelector
from tests.support.all_selectors import BOUNDS, NAMES, all_selectors


def data(n: int = 40, p: int = 5) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (n, p))
    y = np.clip(X[:, 1] - 0.8 * X[:, min(3, p - 1)] + rng.normal(0.0, 0.1, n), -1.0, 1.0)
    return pd.DataFrame(X, columns=[f"feature {j}" for j in range(p)]), y


def ledger_for(name: str, epsilon: float = 100.0) -> Ledger:
    relation = all_selectors(1)[name].fit(*data()).guarantee_.relation
    return Ledger(epsilon, 0.1, relation=relation)


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_is_one_private_release_with_names(name: str) -> None:
    X, y = data()
    ledger = ledger_for(name)
    selector = all_selectors(2, ledger=ledger)[name].fit(X, y)
    release = selector.release_
    assert release.private
    assert release.guarantee == selector.guarantee_ == selector.mechanism(X, y).guarantee
    assert [entry.guarantee for entry in ledger.entries] == [selector.guarantee_]
    assert sorted(release.support) == selector.get_support(indices=True).tolist()
    assert [X.columns[j] for j in release.support] == list(release.feature_names)
    assert list(selector.get_feature_names_out()) == list(X.columns[selector.get_support()])
    np.testing.assert_array_equal(selector.transform(X), X.to_numpy()[:, selector.get_support()])


@pytest.mark.parametrize("name", NAMES)
def test_the_ledger_refuses_before_anything_is_drawn(name: str) -> None:
    X, y = data()
    ledger = ledger_for(name, epsilon=0.5)
    selector = all_selectors(2, epsilon=1.0, ledger=ledger)[name]
    with pytest.raises(BudgetExceeded):
        selector.fit(X, y)
    assert ledger.entries == ()
    assert not hasattr(selector, "release_")


@pytest.mark.parametrize("name", NAMES)
def test_copies_of_an_estimator_share_one_ledger(name: str) -> None:
    X, y = data()
    ledger = ledger_for(name)
    pipeline = make_pipeline(
        FunctionTransformer(), all_selectors(2, ledger=ledger)[name], LinearRegression()
    )
    pipeline.set_output(transform="pandas")
    for _ in range(3):
        clone(pipeline).fit(X, y).predict(X)
    assert len(ledger.entries) == 3
    selected = pipeline.fit(X, y)[:-1].transform(X)
    assert set(selected.columns) < set(X.columns)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_repeats_the_draw_and_takes_the_privacy_away(name: str) -> None:
    X, y = data()
    chosen = []
    for seed in (5, 5, np.random.RandomState(5), np.random.RandomState(5)):
        selector = all_selectors(2, epsilon=0.01, random_state=seed)[name].fit(X, y)
        assert not selector.release_.private
        chosen.append(selector.release_.support)
    assert chosen[0] == chosen[1]
    assert chosen[2] == chosen[3]
    others = {
        all_selectors(2, epsilon=0.01, random_state=seed)[name].fit(X, y).release_.support
        for seed in range(12)
    }
    assert len(others) > 1


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_bound_is_an_error_that_says_why(name: str) -> None:
    X, y = data()
    selector = all_selectors(2)[name]
    for bound in {"x_bound", "y_bound", "coef_bound", "ridge"} & set(selector.get_params()):
        with pytest.raises(InvalidInput, match=f"{bound} .*without looking at the data"):
            clone(selector).set_params(**{bound: None}).fit(X, y)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [0, 6, 2.5, True, "2"])
def test_a_wrong_number_of_features_is_an_error(name: str, k: object) -> None:
    with pytest.raises(InvalidInput, match=re.escape("in 1..5")):
        all_selectors(k)[name].fit(*data())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_other_bad_parameters(name: str) -> None:
    for bad in (0.0, -1.0, float("nan"), float("inf"), "1", 10**400):
        with pytest.raises(InvalidInput, match="epsilon"):
            all_selectors(2, epsilon=bad)[name].fit(*data())
    for bad in ("replace", ["replace-one"], None):
        if "relation" in all_selectors(2)[name].get_params():
            with pytest.raises(InvalidInput, match="relation must be"):
                all_selectors(2)[name].set_params(relation=bad).fit(*data())
    with pytest.raises(InvalidInput, match="ledger must be"):
        all_selectors(2, ledger=1.0)[name].fit(*data())
    with pytest.raises(InvalidInput, match="random_state must be"):
        all_selectors(2, random_state="0")[name].fit(*data())


@pytest.mark.parametrize("name", NAMES)
def test_missing_values_need_a_schema_and_no_imputer(name: str) -> None:
    X, y = data()
    X.iloc[3, 2] = np.nan
    words = r"row 3, column 2 .*NaN.* need a schema.* No guarantee covers an imputer"
    for given in X, X.to_numpy(), X.to_numpy(dtype=np.float32):
        with pytest.raises(InvalidInput, match=words) as caught:
            all_selectors(2)[name].fit(given, y)
        assert "scikit-learn" not in str(caught.value)
        assert "SelectThenRegress.fit_table" in str(caught.value)


@pytest.mark.parametrize("missing", [np.nan, None])
@pytest.mark.parametrize("name", NAMES)
def test_a_missing_target_is_told_what_would_be_right(name: str, missing: object) -> None:
    X, y = data()
    for given in (np.array([missing, *y[1:]], dtype=object), pd.Series([missing, *y[1:]])):
        with pytest.raises(InvalidInput, match="y must be finite") as caught:
            all_selectors(2)[name].fit(X, given)
        told = str(caught.value)
        for words in ("need a schema", "covers an imputer", "the row may also be left out before"):
            assert words in told
        assert "Input" not in told


@pytest.mark.parametrize("name", NAMES)
def test_sparse_tables_are_refused_clearly(name: str) -> None:
    X, y = data()
    with pytest.raises(TypeError, match="dense"):
        all_selectors(2, random_state=0)[name].fit(sparse.csr_array(X.to_numpy()), y)


def test_classes_may_have_names_with_the_hinge_loss() -> None:
    X, y = data()
    selector = TopRSelector(2, loss="hinge", x_bound=1.0, coef_bound=1.0, ridge=1.0)
    assert selector.fit(X, np.where(y > 0.0, "sick", "well")).get_support().sum() == 2


def test_a_solver_of_choice_and_its_time_limit() -> None:
    X, y = data()
    selector = all_selectors(2)["top-r"].set_params(solver="highs", pool_size=3, tolerance=0.1)
    assert selector.mechanism(X, y).pool.values.shape == (3,)
    with pytest.raises(MipselectError, match="no-such-solver"):
        selector.set_params(solver="no-such-solver").fit(X, y)


MISSING = [
    pytest.param(np.nan, id="NaN"),
    pytest.param(np.inf, id="inf"),
    pytest.param(-np.inf, id="-inf"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wrong", MISSING)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_no_setting_of_scikit_learn_lets_missing_values_in(
    name: str, wrong: float, kind: type
) -> None:
    X, y = data()
    table, target = np.array(X, dtype=kind), y.astype(kind)
    table[3, 2], target[5] = wrong, wrong
    sound = all_selectors(2, random_state=0)[name]
    with config_context(assume_finite=True):
        for bad in ((table, y), (X, target), (X, target.astype(object))):
            with pytest.raises(InvalidInput, match="must be finite"):
                sound.fit(*bad)
            with pytest.raises(InvalidInput, match="must be finite"):
                sound.mechanism(*bad)
        sound.fit(X, y)


def dates(n: int) -> np.ndarray:
    return np.arange(n).astype("datetime64[D]")


@pytest.mark.parametrize("name", NAMES)
def test_what_only_looks_like_numbers_is_refused(name: str) -> None:
    X, y = data()
    table, masked = X.to_numpy(), np.ma.masked_greater(X.to_numpy(), 0.9)
    dated = X.assign(**{"feature 2": dates(len(X))})
    stored = X.rename(columns={"feature 0": "Unnamed: 0"})
    hidden = np.ma.array(y, mask=y > 0.9)
    assert masked.mask.any()
    for bad, says in (
        (masked, "is masked"),
        (dated, "feature 2"),
        (stored, "Unnamed: 0"),
        (np.tile(dates(len(X))[:, None], 2), "dates"),
        (table.astype(str), "real numbers"),
    ):
        with pytest.raises((InvalidInput, TypeError), match=says):
            all_selectors(2)[name].fit(bad, y)
    hidden[0] = np.ma.masked
    for bad, says in ((hidden, "is masked"), (dates(len(X)), "dates"), (y.astype(str), "numbers")):
        with pytest.raises(InvalidInput, match=says):
            all_selectors(2)[name].fit(X, bad)
    chosen = [
        all_selectors(2, random_state=0)[name].fit(whole, y).release_.support
        for whole in (np.ma.array(table), X)
    ]
    assert chosen[0] == chosen[1]


X, Y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
NEVER = [-1.0, np.nan, np.inf, -np.inf, 10**400, True, "1"]
UNITS_OF_ITS_OWN = ["sis"]
"""Entries are divided by their bounds before anything else, so that any bound > 0 will do."""


@pytest.mark.parametrize("name", NAMES)
def test_bounds_outside_the_range_are_refused_by_name(name: str) -> None:
    parameters = all_selectors(2)[name].get_params()
    for bound in {"x_bound", "y_bound", "coef_bound", "ridge"} & parameters.keys():
        wrong = [*NEVER, 1e-51, 1e51, 5e-324, 1e308]
        if bound != "ridge":
            wrong += [0.0, 1e-26, 1e26]
        if name in UNITS_OF_ITS_OWN:
            wrong = [*NEVER, 0.0]
        for value in wrong:
            selector = all_selectors(2)[name].set_params(**{bound: value})
            with pytest.raises(InvalidInput, match=bound):
                selector.fit(X, Y)


@pytest.mark.parametrize("name", UNITS_OF_ITS_OWN)
@pytest.mark.parametrize("bound", [5e-324, 1e-308, 1e308])
def test_units_of_its_own_take_any_bound(name: str, bound: float) -> None:
    """The probabilities are those of the same data and bounds times any power of two."""
    usual = all_selectors(2)[name].mechanism(X, Y)
    scaled = all_selectors(2)[name].set_params(x_bound=bound).mechanism(X * bound, Y)
    for outcome in ((0, 1), (1, 3)):
        assert usual.log_probability(outcome) == scaled.log_probability(outcome)


GROUPS = [[3, 0, 5], [1], [6, 2], [8]]


def table(n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, 9))
    return X, 0.5 * X[:, 3] - 0.4 * X[:, 5] + 0.2 * X[:, 2] + 0.3 * X[:, 4]


@pytest.mark.parametrize("name", NAMES)
def test_the_mask_is_of_columns_and_the_release_of_features(name: str) -> None:
    X, y = table()
    columns = {"groups": GROUPS, "always": [4, 7]}
    selector = all_selectors(2, random_state=1, **columns)[name].fit(X, y)
    names = ("x3+x0+x5", "x1", "x6+x2", "x8")
    chosen = selector.release_.support
    assert selector.release_.feature_names == tuple(names[j] for j in chosen)
    kept = {c for j in chosen for c in GROUPS[j]} | {4, 7}
    assert set(selector.get_support(indices=True)) == kept
    assert selector.get_support().shape == (9,)
    np.testing.assert_array_equal(selector.transform(X), X[:, sorted(kept)])
    assert selector.get_feature_names_out().tolist() == [f"x{c}" for c in sorted(kept)]
    again = clone(selector).fit(X, y)
    assert again.release_ == selector.release_
    assert make_pipeline(clone(selector), Ridge()).fit(X, y).predict(X).shape == (80,)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_wrong_with_groups(name: str) -> None:
    X, y = table()
    for count, columns, message in (
        (5, {"groups": GROUPS, "always": [4, 7]}, "n_features_to_select must be .* in 1..4"),
        (1, {"groups": GROUPS}, r"column 4 \(x4\) is in no group"),
        (1, {"groups": [*GROUPS, [4, 7, 1]]}, r"column 1 \(x1\) is in groups\[1\] and in"),
        (1, {"always": ["age"]}, r"always\[0\]: there is no column 'age'"),
        (1, {"always": list(range(9))}, "nothing to choose from"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match=message):
            all_selectors(count, **columns)[name].fit(X, y)


def test_one_column_a_feature_is_what_it_was() -> None:
    X, y = table()
    for name in NAMES:
        options: dict[str, Any] = {"random_state": 3}
        plain = all_selectors(3, **options)[name].fit(X, y)
        grouped = all_selectors(3, groups=[[j] for j in range(9)], **options)[name].fit(X, y)
        assert plain.release_ == grouped.release_
        turned = all_selectors(3, groups=[[8 - j] for j in range(9)], **options)[name].fit(X, y)
        assert set(turned.release_.feature_names) == {
            f"x{j}" for j in turned.get_support(indices=True)
        }


def checked(estimator: Any) -> list[dict[str, Any]]:
    """What became of each check, but for those that cannot run here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        found: list[dict[str, Any]] = check_estimator(estimator, on_fail=None)
    # Array API input needs an environment variable that is read at the import of SciPy.
    assert {one["check_name"] for one in found if one["status"] == "skipped"} <= {
        "check_array_api_input"
    }
    return [one for one in found if one["status"] != "skipped"]


@pytest.mark.parametrize("name", NAMES)
def test_every_check_is_passed(name: str) -> None:
    found = checked(all_selectors(1, random_state=0)[name])
    assert len(found) > 40
    assert [
        (one["check_name"], one["exception"]) for one in found if one["status"] != "passed"
    ] == []


def test_a_choice_of_sizes_fails_only_by_wanting_two_columns() -> None:
    found = checked(ExponentialSelector(sizes=(1, 2), random_state=0, **BOUNDS))
    failed = {one["check_name"]: one["exception"] for one in found if one["status"] == "failed"}
    assert set(failed) <= {"check_fit2d_1feature"}
    for reason in failed.values():
        assert "sizes must be in 1..1" in f"{reason} {reason.__cause__}"
