"""Parameters of estimators: each is described, keyword-only and checked, and known to the CLI."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from mipselect import regression, selectors
from mipselect.cli.declared import names_of
from mipselect.cli.options import MethodOptions, SearchArguments
from mipselect.errors import InvalidInput
from mipselect.estimators import ScikitEstimator
from mipselect.parameters import estimator, parameter, parameters_of
from mipselect.regression import SelectThenRegress
from mipselect.validation import checked_integer
from tests.support.all_regressors import all_classifiers, all_models, selection
from tests.support.all_selectors import all_selectors

SELECTORS = [getattr(selectors, name) for name in selectors.__all__]
MODELS = [
    found
    for name in regression.__all__
    if inspect.isclass(found := getattr(regression, name)) and issubclass(found, ScikitEstimator)
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


def test_every_flag_is_an_option_and_every_option_a_flag() -> None:
    flags = [
        about.flag
        for kind in SELECTORS
        for about in parameters_of(kind).values()
        if about.flag is not None
    ]
    assert set(flags) >= set(names_of(MethodOptions))
    assert set(names_of(SearchArguments)) <= set(names_of(MethodOptions))


@estimator
class Base(ScikitEstimator):
    """A base.

    Attributes
    ----------
    seen_ : int
        How much was seen.
    kind_ : str
        That of the base.
    """

    seed: Any = parameter("int, optional", "A seed.", default=None, last=True)
    size: int = parameter("int", "A size.", default=2, check=lambda v, n: checked_integer(v, n, 1))


@estimator
class Derived(Base):
    """A class.

    It has more to say.

    Attributes
    ----------
    kind_ : str
        That of the class.

    Notes
    -----
    A note.
    """

    inner: Any = parameter("estimator", "What it holds.", kw_only=False)
    shape: str = parameter("str", "word " * 17 + "add-remove.", default="round")
    size: int = parameter("int", "Another size.", default=3)


def test_a_docstring_has_what_is_declared_and_what_bases_say() -> None:
    assert (
        Derived.__doc__
        == """A class.

It has more to say.

Parameters
----------
inner : estimator
    What it holds.
size : int
    Another size.
shape : str
    word word word word word word word word word word word word word word word word word
    add-remove.
seed : int, optional
    A seed.

Attributes
----------
kind_ : str
    That of the class.
seen_ : int
    How much was seen.

Notes
-----
A note."""
    )
    assert (Base.__doc__ or "").startswith("A base.\n\nParameters\n----------\nsize : int\n")


def test_the_constructor_takes_what_is_declared_and_checks_nothing() -> None:
    one = Derived(Base(size=0), shape=3)  # type: ignore[arg-type]
    params = clone(one).get_params()
    assert isinstance(params.pop("inner"), Base)
    assert params == {"inner__seed": None, "inner__size": 0, "seed": None, "shape": 3, "size": 3}
    assert repr(Base(seed=1)) == "Base(seed=1)"
    with pytest.raises(TypeError):
        Derived()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Derived(1, 2)  # type: ignore[misc, call-arg]
    size = parameters_of(Base)["size"]
    assert size.checked(4, "size") == 4
    with pytest.raises(InvalidInput, match="--size must be an integer ≥ 1, got None"):
        size.checked(None, "--size")
