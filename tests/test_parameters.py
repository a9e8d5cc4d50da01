"""Parameters of estimators: each is described, keyword-only and checked, and known to the CLI."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from sklearn.base import clone

from mipselect import (
    MistakeLevels,
    SupportPool,
    mistake_levels,
    regression,
    selectors,
    top_supports,
)
from mipselect.cli.declared import names_of
from mipselect.cli.options import SearchArguments
from mipselect.errors import InvalidInput
from mipselect.estimators import PrivateEstimator
from mipselect.parameters import entries_of, parameters_of
from mipselect.regression import SelectThenRegress
from mipselect.search.options import SearchOptions
from mipselect.search.pool import Certificate
from tests.support.all_regressors import all_classifiers, all_models, selection
from tests.support.all_selectors import all_selectors

SELECTORS = [getattr(selectors, name) for name in selectors.__all__]
MODELS = [
    found
    for name in regression.__all__
    if inspect.isclass(found := getattr(regression, name)) and issubclass(found, PrivateEstimator)
]
FITTED = {**all_selectors(1), **all_models(), **all_classifiers(), "selection": selection()}
LONGEST = 96
"""Characters of a line of a docstring, without its indentation in a file."""


def entries(kind: type, section: str) -> dict[str, tuple[str, str]]:
    """Type and description by name, read from the docstring as a user would."""
    _, heading, rest = (inspect.getdoc(kind) or "").partition(f"{section}\n{'-' * len(section)}\n")
    assert heading
    body = re.split(r"\n\n\w+\n-+\n", rest)[0]
    assert "\n\n" not in body
    found = {}
    for lines in re.split(r"\n(?=\S)", body):
        head, _, text = lines.partition("\n")
        name, _, type_in_words = head.partition(" : ")
        assert name not in found
        found[name] = (type_in_words, text.strip())
    return found


def test_all_estimators_are_looked_at() -> None:
    assert len(SELECTORS) == 8
    assert {type(one) for one in FITTED.values()} == {*SELECTORS, *MODELS}


@pytest.mark.parametrize("kind", [*SELECTORS, *MODELS])
def test_every_parameter_is_described_in_the_order_of_the_signature(kind: type) -> None:
    described = entries(kind, "Parameters")
    assert list(described) == list(inspect.signature(kind).parameters) == list(parameters_of(kind))
    for type_in_words, meaning in described.values():
        assert type_in_words
        assert meaning.endswith(".")
    assert max(map(len, (inspect.getdoc(kind) or "").splitlines())) <= LONGEST


@pytest.mark.parametrize("kind", [*SELECTORS, *MODELS])
def test_parameters_are_keyword_only_but_the_first(kind: type) -> None:
    positional = [
        name
        for name, one in inspect.signature(kind).parameters.items()
        if one.kind is not inspect.Parameter.KEYWORD_ONLY
    ]
    if kind in SELECTORS:
        assert positional == ["n_features_to_select"]
    else:
        assert positional == (["selector", "regressor"] if kind is SelectThenRegress else [])


@pytest.mark.parametrize("name", FITTED)
def test_every_attribute_of_a_fit_is_described(name: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (60, 3))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    fitted = clone(FITTED[name]).fit(X, y)
    learnt = {one for one in vars(fitted) if one.endswith("_")}
    assert learnt | {"feature_names_in_"} >= {"guarantee_", "release_", "n_features_in_"}
    assert learnt <= set(entries(type(fitted), "Attributes"))


@pytest.mark.parametrize("kind", [*SELECTORS, *MODELS])
def test_a_check_refuses_what_is_no_value_and_takes_the_default(kind: type) -> None:
    for name, about in parameters_of(kind).items():
        if about.check is None:
            assert about.flag in (None, "--pool-size", "--solver", "--sizes")
            continue
        with pytest.raises(InvalidInput) as raised:
            about.checked(object(), "<name>")
        if about.flag is not None:
            assert "<name>" in str(raised.value)
        if name not in ("selector", "regressor"):
            about.checked(about.default, name)


def test_every_option_of_a_search_is_a_flag() -> None:
    flags = [
        about.flag
        for kind in SELECTORS
        for about in parameters_of(kind).values()
        if about.flag is not None
    ]
    assert set(flags) >= set(names_of(SearchArguments))


@pytest.mark.parametrize(
    ("shared", "source", "last"),
    [
        (top_supports, SearchOptions, "progress"),
        (mistake_levels, SearchOptions, "progress"),
        (SupportPool, Certificate, "relations"),
        (MistakeLevels, Certificate, "relations"),
    ],
)
def test_every_parameter_and_field_has_its_entry(shared, source, last) -> None:
    text = inspect.getdoc(shared)
    for name in inspect.signature(shared).parameters:
        assert f"\n{name} : " in text
    assert f"\n{entries_of(source)[last]}\n\n" in text
