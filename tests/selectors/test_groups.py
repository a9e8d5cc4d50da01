"""Estimators on features of several columns: masks of columns, names of features, the same law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from mipselect.errors import InvalidInput
from tests.support.all_selectors import NAMES, all_selectors

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
