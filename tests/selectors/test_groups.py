"""Estimators on features of several columns: masks of columns, names of features, the same law."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from mipselect import ExponentialMechanism, Instance, Mistakes, TopR, mistake_levels, top_supports
from mipselect.errors import InvalidInput
from mipselect.selectors import (
    ExponentialSelector,
    MCMCSelector,
    MistakesSelector,
    SISSelector,
    TopRSelector,
)
from tests.support.all_selectors import NAMES, all_selectors

GROUPS = [[3, 0, 5], [1], [6, 2], [8]]
BOUNDS: dict[str, Any] = {
    "x_bound": [0.9, 0.5, 2.0, 1.0], "y_bound": 0.7, "coef_bound": 1.1, "ridge": 2.0,
}  # fmt: skip
COLUMNS: dict[str, Any] = {
    "groups": GROUPS, "always": [[4, 7]], "intercept": True, "always_bound": 1.5,
}  # fmt: skip


def table(n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, 9))
    return X, 0.5 * X[:, 3] - 0.4 * X[:, 5] + 0.2 * X[:, 2] + 0.3 * X[:, 4]


def same_law(found: Any, wanted: Any) -> None:
    for pair in combinations(range(4), 2):
        assert found.log_probability(pair) == pytest.approx(wanted.log_probability(pair), abs=1e-9)


def test_selectors_of_a_problem_are_those_of_its_instance() -> None:
    X, y = table()
    instance = Instance(X, y, support_size=2, **BOUNDS, **COLUMNS)
    same_law(
        TopRSelector(2, pool_size=4, **BOUNDS, **COLUMNS).mechanism(X, y),
        TopR(top_supports(instance, 4), 1.0),
    )
    same_law(
        ExponentialSelector(2, **BOUNDS, **COLUMNS).mechanism(X, y),
        ExponentialMechanism(instance, 1.0),
    )
    levels = mistake_levels(instance)
    tested = {"test_epsilon": 0.5, "delta": 1e-3}
    same_law(
        MistakesSelector(2, **tested, **BOUNDS, **COLUMNS).mechanism(X, y),
        Mistakes(levels, 1.0, fallback=TopR(top_supports(instance), 1.0).pool, **tested),
    )
    bounds = {name: value for name, value in BOUNDS.items() if name != "ridge"}
    chain: Any = MCMCSelector(2, **bounds, **COLUMNS).mechanism(X, y)
    assert chain.sensitivity == pytest.approx((0.7 + 1.1 * 2.0) ** 2)
    assert chain.feature_names == instance.feature_names


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
def test_columns_of_a_frame_by_name(name: str) -> None:
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdefghi"))
    groups = {"ward": ["d", "a", "f"], "age": ["b"], "site": ["g", "c"], "dose": ["i"]}
    columns = {"groups": groups, "always": ["e", "h"]}
    selector = all_selectors(1, random_state=1, **columns)[name].fit(frame, y)
    (chosen,) = selector.release_.feature_names
    kept = sorted({*groups[chosen], "e", "h"})
    assert selector.get_feature_names_out().tolist() == kept
    without = all_selectors(1, random_state=1, always=["e"])[name].fit(frame, y)
    assert without.get_support().sum() == 2
    assert without.get_support()[4]


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


def test_sis_of_a_sparse_table_in_groups() -> None:
    X, y = table()
    X[X < 0.4] = 0.0
    given = {"x_bound": [0.9, 0.5, 2.0, 1.0], "y_bound": 1.0, "groups": GROUPS, "always": [4, 7]}
    laws: list[Any] = [
        SISSelector(2, **given).mechanism(kind(X), y)
        for kind in (np.asarray, sparse.csr_array, sparse.csc_array)
    ]
    for law in laws:
        np.testing.assert_array_equal(law.scores, laws[0].scores)
