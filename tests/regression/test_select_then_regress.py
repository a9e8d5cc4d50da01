"""Selection, then regression, as one release; and what is said before a useless one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from mipselect import Guarantee, Ledger
from mipselect.arrays import FloatArray
from mipselect.errors import (
    BudgetExceeded,
    InvalidInput,
    RelationMismatch,
    UsefulnessWarning,
)
from mipselect.mechanisms.scores.adaptive_peeling import AdaptivePeeling
from mipselect.regression import (
    AdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    TukeyRegressor,
)
from mipselect.selectors import (
    ExponentialSelector,
    KendallSelector,
    MistakesSelector,
    PermuteAndFlipSelector,
    SISSelector,
    TopRSelector,
)
from mipselect.selectors.all_features import AllFeaturesSelector
from mipselect.tables import TableSchema
from tests.support.all_regressors import stored_again

BOUNDS: dict[str, float] = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.5}


def data(n: int = 4000, p: int = 6) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (n, p))
    y = 0.5 * X[:, 1] - 0.4 * X[:, 3] + 0.05 + 0.02 * rng.normal(size=n)
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(p)]), y


def adassp(**options: Any) -> AdaSSPRegressor:
    return AdaSSPRegressor(x_bound=1.0, y_bound=1.0, **options)


@pytest.mark.parametrize(
    ("selector", "regressor"),
    [
        (KendallSelector(2, epsilon=5.0), adassp(epsilon=5.0, relation="add-remove")),
        (KendallSelector(2, epsilon=5.0), TukeyRegressor(epsilon=5.0, relation="add-remove")),
        (
            ExponentialSelector(2, epsilon=5.0, ridge=1.0, **BOUNDS),
            ObjectivePerturbationRegressor(epsilon=5.0, **BOUNDS),
        ),
        (TopRSelector(2, epsilon=5.0, ridge=1.0, **BOUNDS), adassp(epsilon=5.0)),
    ],
)
def test_one_release_of_columns_and_coefficients(selector: Any, regressor: Any) -> None:
    X, y = data()
    relation = regressor.relation
    ledger = Ledger(20.0, 0.1, relation=relation)
    model = SelectThenRegress(selector, regressor, ledger=ledger).fit(X, y)
    release = model.release_
    assert release.private
    assert len(ledger.entries) == 1
    assert ledger.entries[0].guarantee == model.guarantee_ == release.guarantee
    assert model.guarantee_.epsilon == 10.0
    assert model.guarantee_.relation == relation
    assert release.support == (1, 3)
    assert release.feature_names == ("f1", "f3")
    assert np.flatnonzero(model.support_).tolist() == [1, 3]
    np.testing.assert_allclose(model.coef_, [0.0, 0.5, 0.0, -0.4, 0.0, 0.0], atol=0.1)
    assert model.score(X, y) > 0.9
    read = stored_again(release)
    np.testing.assert_array_equal(read.predict(X[list(read.feature_names)]), model.predict(X))
    assert not hasattr(selector, "release_")
    assert not hasattr(regressor, "release_")


def test_a_budget_is_divided_and_never_exceeded() -> None:
    X, y = data(500)
    for epsilon in (0.3, 1.0 / 3.0, 1.1, 7.7):
        regressor = adassp(relation="add-remove", delta=1e-5)
        model = SelectThenRegress(KendallSelector(2), regressor, epsilon=epsilon).fit(X, y)
        assert model.guarantee_.epsilon <= epsilon
        assert model.guarantee_.epsilon == pytest.approx(epsilon)
        assert model.guarantee_.delta == 1e-5
    with pytest.raises(InvalidInput, match="epsilon"):
        model.set_params(epsilon=-1.0).fit(X, y)


def test_a_test_is_paid_by_the_share_of_the_selection() -> None:
    X, y = data(500)
    selector = MistakesSelector(2, ridge=1.0, test_epsilon=0.5, delta=1e-6, **BOUNDS)
    with pytest.raises(InvalidInput, match=r"test_epsilon must be below .*, 0.5; got 0.5"):
        SelectThenRegress(selector, adassp(), epsilon=1.0).fit(X, y)
    model = SelectThenRegress(selector, adassp(), epsilon=2.0).fit(X, y)
    assert model.guarantee_.epsilon == 2.0
    model = SelectThenRegress(selector, adassp(delta=1e-6)).fit(X, y)
    assert model.guarantee_.epsilon == 2.5
    assert model.guarantee_.delta == 2e-6


def test_relations_are_never_mixed() -> None:
    X, y = data(500)
    with pytest.raises(RelationMismatch, match="give both the same relation"):
        SelectThenRegress(KendallSelector(2), adassp()).fit(X, y)
    exponential = ExponentialSelector(2, epsilon=1.0, ridge=1.0, **BOUNDS)
    model = SelectThenRegress(exponential, adassp(relation="add-remove")).fit(X, y)
    assert model.guarantee_.relation == "add-remove"
    assert model.guarantee_.epsilon == pytest.approx(1.5)


def test_the_ledger_is_asked_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(500)
    monkeypatch.setattr(AdaptivePeeling, "sample", lambda *_: pytest.fail("columns were drawn"))
    ledger = Ledger(1.9, 0.1, relation="add-remove")
    model = SelectThenRegress(KendallSelector(2), adassp(relation="add-remove"), ledger=ledger)
    with pytest.raises(BudgetExceeded):
        model.fit(X, y)
    with pytest.raises(RelationMismatch):
        model.set_params(ledger=Ledger(9.0, 0.1)).fit(X, y)
    bad = SelectThenRegress(
        KendallSelector(2), TukeyRegressor(block_size=2, relation="add-remove"), ledger=ledger
    )
    with pytest.raises(InvalidInput, match="block_size"):
        bad.fit(X, y)
    assert ledger.entries == ()
    for part in ("selector", "regressor"):
        with pytest.raises(InvalidInput, match="ledger"):
            SelectThenRegress(
                KendallSelector(2, ledger=ledger if part == "selector" else None),
                adassp(relation="add-remove", ledger=ledger if part == "regressor" else None),
            ).fit(X, y)


def test_bounds_of_all_columns_are_cut_to_those_that_are_drawn() -> None:
    X, y = data()
    X = X * [1.0, 10.0, 1.0, 0.1, 1.0, 1.0]
    bounds = [1.0, 10.0, 1.0, 0.1, 1.0, 1.0]
    model = SelectThenRegress(
        KendallSelector(2, epsilon=20.0),
        AdaSSPRegressor(epsilon=20.0, x_bound=bounds, y_bound=1.0, relation="add-remove"),
    ).fit(X, y)
    assert model.release_.rows.x_bound == (10.0, 0.1)
    np.testing.assert_allclose(model.coef_[[1, 3]], [0.05, -4.0], rtol=0.05)


def test_bad_bounds_of_any_column_are_found_before_anything_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = data(200)
    monkeypatch.setattr(AdaptivePeeling, "sample", lambda *_: pytest.fail("columns were drawn"))
    ledger = Ledger(9.0, 0.1, relation="add-remove")
    for wrong in (0, 3, 5):
        bounds = np.ones(6)
        bounds[wrong] = -1.0
        regressor = AdaSSPRegressor(x_bound=bounds, y_bound=1.0, relation="add-remove")
        with pytest.raises(InvalidInput, match="x_bound"):
            SelectThenRegress(KendallSelector(4), regressor, ledger=ledger).fit(X, y)
    regressor = AdaSSPRegressor(x_bound=[1.0] * 3, y_bound=1.0, relation="add-remove")
    with pytest.raises(InvalidInput, match="x_bound"):
        SelectThenRegress(KendallSelector(4), regressor, ledger=ledger).fit(X, y)
    assert ledger.entries == ()


def test_either_seed_takes_the_privacy_away_and_both_repeat_the_draw() -> None:
    X, y = data(300)

    def fitted(first: Any, second: Any) -> ModelRelease:
        return SelectThenRegress(
            KendallSelector(2, random_state=first),
            adassp(relation="add-remove", random_state=second),
        ).fit(X, y).release_  # fmt: skip

    assert fitted(1, 2) == fitted(1, 2)
    assert not fitted(1, 2).private
    assert not fitted(None, 2).private
    assert not fitted(1, None).private
    assert fitted(None, None).private


def test_what_is_no_selector_and_no_regressor() -> None:
    X, y = data(100)
    with pytest.raises(InvalidInput, match="selector must be"):
        SelectThenRegress(adassp(), adassp()).fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="regressor must be"):
        SelectThenRegress(KendallSelector(1), KendallSelector(1)).fit(X, y)  # type: ignore[arg-type]
    inner = SelectThenRegress(KendallSelector(1), adassp(relation="add-remove"))
    with pytest.raises(InvalidInput, match="regressor must be"):
        SelectThenRegress(KendallSelector(1), inner).fit(X, y)


def three(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = data(n)
    return X[["f1", "f2", "f3"]], y


@pytest.mark.parametrize("epsilon", [None, 2.0])
def test_features_that_are_all_in_cost_nothing(epsilon: float | None) -> None:
    X, y = three(400)
    ledger = Ledger(2.0)
    regressor = ObjectivePerturbationRegressor(epsilon=2.0, **BOUNDS)
    model = SelectThenRegress(
        ExponentialSelector(3, epsilon=0.5), regressor, epsilon=epsilon, ledger=ledger
    ).fit(X, y)
    assert model.release_.support == (0, 1, 2)
    assert model.support_.all()
    assert model.release_.mechanism.startswith("all features, then ")
    assert model.guarantee_ == Guarantee(2.0)
    assert ledger.remaining.epsilon == 0.0
    groups = SelectThenRegress(
        ExponentialSelector(2, epsilon=0.5, groups=[[0, 2], [1]]), regressor, epsilon=epsilon
    )
    assert groups.fit(X, y).guarantee_ == Guarantee(2.0)
    fewer = SelectThenRegress(ExponentialSelector(2, epsilon=0.5), regressor, epsilon=epsilon)
    assert fewer.fit(X, y).release_.mechanism.startswith("exponential, then ")
    assert fewer.guarantee_.epsilon == (2.5 if epsilon is None else epsilon)


def test_a_choice_of_sizes_is_paid_for_up_to_all_features() -> None:
    X, y = three(400)
    selector = ExponentialSelector(3, sizes=[1, 2, 3], epsilon=0.5)
    regressor = ObjectivePerturbationRegressor(epsilon=2.0, **BOUNDS)
    model = SelectThenRegress(selector, regressor).fit(X, y)
    assert model.guarantee_ == Guarantee(2.5)


def test_the_law_of_all_features_is_the_same_for_all_data() -> None:
    X, y = three(50)
    for table, target in ((X, y), (-X, 0.0 * y)):
        law = AllFeaturesSelector(3).mechanism(table, target)
        assert law.sample() == (0, 1, 2)
        assert law.log_probability((2, 0, 1)) == 0.0
        assert {one.epsilon for one in law.guarantees.values()} == {0.0}
        assert set(law.guarantees) == {"replace-one", "add-remove"}
    with pytest.raises(InvalidInput, match="all 3 features"):
        law.log_probability((0, 1))


def searched(**more: Any) -> SelectThenRegress:
    return SelectThenRegress(
        ExponentialSelector(1), AdaSSPRegressor(x_bound=1.0, y_bound=1.0), epsilon=20.0, **more
    )


def sample(n: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (n, 3))
    return X, 0.9 * X[:, 1]


def test_cross_validation_charges_each_fit_and_clones_keep_the_ledger() -> None:
    X, y = sample()
    ledger = Ledger(61.0, 1e-3)
    model = searched(ledger=ledger)
    assert cross_val_score(model, X, y, cv=3).min() > 0.7
    assert ledger.spent.epsilon == 60.0
    with pytest.raises(BudgetExceeded):
        clone(model).fit(X, y)
    assert len(ledger.entries) == 3


def rows(n: int) -> tuple[FloatArray, FloatArray]:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (n, 4))
    return X, 0.5 * X[:, 0]


def told(fitting: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitting()
    assert all(one.category is UsefulnessWarning for one in caught)
    assert all(one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


def test_what_the_test_needs_is_enough() -> None:
    model = TukeyRegressor(epsilon=2.0)
    assert model.fit(*rows(model.enough_rows(4))).release_.has_model


@pytest.mark.parametrize(("share", "relation"), [(0.6, "replace-one"), (0.7, "replace-one"),
                                                 (0.6, "add-remove")])  # fmt: skip
def test_a_test_that_is_likely_to_fail_is_told_before_the_draw(share: float, relation: str) -> None:
    model = TukeyRegressor(epsilon=2.0, relation=relation)
    ledger = Ledger(1e-9, delta=0.5, relation=relation)
    alone = clone(model).set_params(ledger=ledger)
    pair = SelectThenRegress(SISSelector(4, x_bound=1.0, y_bound=1.0, relation=relation), model)
    pair.set_params(ledger=ledger)
    X, y = rows(int(share * model.enough_rows(4)))

    def refused(fitting: Any) -> None:
        with pytest.raises(BudgetExceeded):
            fitting()

    for fitted in (alone, pair):
        found = told(lambda fitted=fitted: refused(lambda: fitted.fit(X, y)))
        mostly = [sentence for sentence in found if "the private test needs" in sentence]
        assert len(mostly) == (share < 0.65 and relation == "replace-one")


def table(n: int) -> tuple[pd.DataFrame, TableSchema]:
    X, y = rows(n)
    schema = TableSchema.of_numbers(dict.fromkeys("abcdy", (-1, 1)))
    return pd.DataFrame(np.column_stack([X, y]), columns=list("abcdy")), schema


def few_rows(*, selector: Any = None, **parameters: Any) -> list[str]:
    frame, schema = table(400)
    pair = SelectThenRegress(selector or PermuteAndFlipSelector(2), **parameters)
    found = told(lambda: pair.fit_table(frame, schema, target="y"))
    return [sentence for sentence in found if "few for a model" in sentence]


def test_rows_that_are_too_few_for_any_model_are_told() -> None:
    """A model from blocks has 0.7 of ε, so that 400 rows make 84."""
    (found,) = few_rows(regressor=ObjectivePerturbationRegressor(), epsilon=0.3)
    assert found.startswith("400 rows are few for a model at ε = 0.21. ")
    assert "are below 96, models of tables mostly predict worse than the mean of the" in found
    assert found.endswith("458 rows, or ε = 0.35 in all, are the least")
    assert few_rows(regressor=ObjectivePerturbationRegressor(), epsilon=0.35) == []


def test_a_private_number_of_rows_is_not_compared() -> None:
    hidden, scored = (
        ObjectivePerturbationRegressor(relation="add-remove"),
        PermuteAndFlipSelector(2, score="loss"),
    )
    assert few_rows(selector=scored, regressor=hidden, epsilon=0.3) == []
    assert few_rows(selector=scored, regressor=ObjectivePerturbationRegressor(), epsilon=0.3) != []
