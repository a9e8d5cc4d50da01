"""Public classes: a row with another label, whatever it is, does not count and raises nothing."""

from __future__ import annotations

import datetime
import json
import warnings
from collections.abc import Callable
from decimal import Decimal
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mipselect import Instance
from mipselect.errors import InvalidInput
from mipselect.losses import HingeLoss
from mipselect.losses.classes import checked_classes, class_signs
from mipselect.regression import ObjectivePerturbationClassifier, SelectThenRegress
from mipselect.regression.release import model_in
from mipselect.selectors import ExponentialSelector, KendallSelector, SISSelector, TopRSelector
from tests.support.all_regressors import all_classifiers
from tests.support.perturbed_laws import PerturbedMinimiser

STRANGE = [
    *(0.5, 2.0, -1.0, float("nan"), float("inf"), None, "x", "", b"1", 1j, 10**400, (0, 1)),
    *(pd.NA, pd.NaT, Decimal("NaN"), datetime.date(2020, 1, 1), np.datetime64("2020"), object()),
]
EPSILON = 1.0
HINGE = {"x_bound": 1.0, "coef_bound": 0.7, "ridge": 0.1, "epsilon": EPSILON}


def rows(n: int = 40) -> tuple[np.ndarray, list[Any]]:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (n, 3))
    return X, (X[:, 0] > 0.0).astype(int).tolist()


def with_label(y: list[Any], label: Any) -> np.ndarray:
    """Labels as an array of objects; the second row's is another."""
    labels = np.empty(len(y), dtype=object)
    for k, value in enumerate(y):
        labels[k] = value
    labels[1] = label
    return labels


def fitted(name: str, X: Any, y: Any) -> Any:
    model = all_classifiers(epsilon=5.0, classes=[0, 1], ridge=0.0, random_state=0)[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(X, y)


@pytest.mark.parametrize("name", all_classifiers())
def test_a_row_without_a_class_does_not_count(name: str) -> None:
    X, y = rows()
    without = fitted(name, np.delete(X, 1, axis=0), y[:1] + y[2:])
    for label in STRANGE:
        model = fitted(name, X, with_label(y, label))
        np.testing.assert_allclose(model.coef_, without.coef_, atol=1e-5)
        assert model.release_.classes == (0, 1)
        assert model.predict(X).dtype.kind == "i"
    assert np.abs(fitted(name, X, with_label(y, 1 - y[1])).coef_ - without.coef_).max() > 1e-4


def test_what_one_label_makes_of_an_array_changes_no_other_row() -> None:
    _, y = rows()
    known = np.where(np.array(y) == 1, 1.0, -1.0)
    known[1] = 0.0
    arrays: list[Any] = [
        [*y[:1], "x", *y[2:]],
        np.array([*y[:1], "x", *y[2:]]),  # NumPy makes texts of all of them.
        np.array([*y[:1], 0.5, *y[2:]]),
        pd.Series([*y[:1], None, *y[2:]], dtype="Int64"),
        pd.Series([*y[:1], "x", *y[2:]]).astype("category"),
        np.ma.array(y, mask=np.arange(len(y)) == 1),
    ]
    for labels in arrays:
        np.testing.assert_array_equal(class_signs(labels, (0, 1)), known)
        np.testing.assert_array_equal(class_signs(labels, (False, True)), known)
    as_text = [["well", "ill"][label] for label in y]
    for label in (*STRANGE, 1, "Ill"):
        found = class_signs(with_label(as_text, label), ("well", "ill"))
        np.testing.assert_array_equal(found, known)
    assert class_signs([0, 1.0, "1", True], ("0", "1")).tolist() == [-1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "classes", ["ab", 3, [0], [0, 1, 2], [1, 1.0], [0, "1"], [0, None], [True, 1], [0, np.nan]]
)
def test_what_are_no_two_classes(classes: Any) -> None:
    with pytest.raises(InvalidInput, match="classes must be"):
        checked_classes(classes)
    X, y = rows()
    with pytest.raises(InvalidInput, match="classes must be"):
        fitted("logistic", X, y).set_params(classes=classes).fit(X, y)


@pytest.mark.parametrize("name", all_classifiers())
def test_neighbours_by_any_label_keep_epsilon(name: str) -> None:
    """Log densities of the coefficient, before it is rounded, for one column and no intercept."""
    model = all_classifiers(epsilon=EPSILON, classes=[0, 1])[name].set_params(fit_intercept=False)
    chosen, loss = model._perturbation(1), model._loss()
    betas = np.linspace(-1.99, 1.99, 101)[:, None]

    def law(x: float, label: Any) -> np.ndarray:
        labels = model._labelled(with_label([0, 0, 1, 1], label))
        table = np.array([[1.0], [x], [-1.0], [0.3]])
        minimiser = PerturbedMinimiser(loss, table, model._encoded(labels), chosen, 1.0)
        return minimiser.log_density(betas)

    laws = [law(x, label) for x in (-1.0, 1.0) for label in (0, 1, 0.5, "x")]
    largest = max(np.abs(p - q).max() for p, q in combinations(laws, 2))
    assert 0.3 * EPSILON < largest <= EPSILON * (1.0 + 1e-9)


@pytest.mark.parametrize("kind", [ExponentialSelector, TopRSelector])
@pytest.mark.parametrize("intercept", [False, True])
def test_hinge_selectors_on_neighbours_by_any_label(
    kind: Callable[..., Any], intercept: bool
) -> None:
    X, y = rows(6)

    def law(row: Any, label: Any) -> np.ndarray:
        table = X.copy()
        table[1] = row
        selector = kind(1, loss=HingeLoss(classes=(0, 1)), intercept=intercept, **HINGE)
        mechanism = selector.mechanism(table, with_label(y, label))
        return np.array([mechanism.log_probability((j,)) for j in range(3)])

    corners = [(1.0, -1.0, 1.0), (-1.0, 1.0, 1.0), (0.0, 0.0, 0.0)]
    laws = [law(corner, label) for corner in corners for label in (0, 1, "x")]
    largest = max(np.abs(p - q).max() for p, q in combinations(laws, 2))
    assert 0.1 * EPSILON < largest <= EPSILON * (1.0 + 1e-9)
    for label in STRANGE:
        np.testing.assert_array_equal(law(corners[0], label), laws[2])
    np.testing.assert_array_equal(laws[2], laws[5])  # whatever else stands in the row


def test_the_loss_of_a_row_without_a_class_is_one() -> None:
    X, y = rows(8)
    posed = {"support_size": 1, "x_bound": 1.0, "y_bound": 1.0, "coef_bound": 0.7, "ridge": 0.1}
    loss = HingeLoss(classes=(0, 1))
    for intercept in (False, True):
        with_it = Instance(X, with_label(y, None), loss=loss, intercept=intercept, **posed)
        kept = Instance(
            np.delete(X, 1, axis=0), y[:1] + y[2:], loss="hinge", intercept=intercept, **posed
        )
        for j in range(3):
            assert 8 * with_it.objective([j]) == pytest.approx(7 * kept.objective([j]) + 1.0)


@pytest.mark.parametrize(
    "selector",
    [
        ExponentialSelector(1, loss="hinge", **HINGE),
        ExponentialSelector(1, y_bound=1.0, **HINGE),
        SISSelector(1, x_bound=1.0, y_bound=1.0, relation="replace-one"),
        KendallSelector(1, relation="replace-one"),
    ],
    ids=["hinge", "squared", "sis", "kendall"],
)
def test_a_selection_before_a_classifier(selector: Any) -> None:
    X, y = rows(400)
    classifier = ObjectivePerturbationClassifier(x_bound=1.0, coef_bound=2.0, classes=["0", "1"])
    pair = SelectThenRegress(selector, classifier, epsilon=40.0)
    for label in STRANGE:
        pair.fit(X, with_label(list(map(str, y)), label))
        assert pair.release_.support == (0,)
        assert pair.classes_.tolist() == ["0", "1"]
        assert set(pair.predict(X)) == {"0", "1"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([0, 1], (0, 1)),
        ([True, False], (False, True)),
        ([2.0, -1.0], (-1.0, 2.0)),
        (np.array([3, 1], dtype=np.int8), (1, 3)),
        (["ill", "well"], ("ill", "well")),
    ],
)
@pytest.mark.parametrize("declared", [False, True])
def test_classes_stay_what_they_were(given: Any, kept: tuple[Any, Any], declared: bool) -> None:
    X, y = rows()
    labels = np.asarray(given)[np.array(y)]
    model = ObjectivePerturbationClassifier(
        x_bound=1.0, coef_bound=2.0, classes=given if declared else None
    ).fit(X, labels)
    stored = json.loads(json.dumps(model.release_.to_dict()))
    release = model_in({"command": "fit", "model": stored}, "the model")
    assert release == model.release_
    for classes in (model.classes_.tolist(), release.classes, model.release_.classes):
        assert tuple(classes) == kept
        assert [type(one) for one in classes] == [type(one) for one in kept]
    np.testing.assert_array_equal(release.predict(X), model.predict(X))
    assert release.predict(X).dtype.kind == np.array(kept).dtype.kind
    assert model.score(X, labels) >= 0.0


def test_a_text_is_a_number_only_as_everybody_writes_it() -> None:
    assert class_signs(["1_0", "10", "3", "١"], (3, 10)).tolist() == [0.0, 1.0, -1.0, 0.0]
