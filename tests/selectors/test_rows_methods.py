"""Methods that draw from rows: what they build, beside the same by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from mipselect.errors import InvalidInput
from mipselect.mechanisms import (
    OneShotTopK,
    SampleAggregate,
)
from mipselect.selectors import KendallSelector, MCMCSelector, SampleAggregateSelector, SISSelector
from mipselect.selectors.lasso_ballots import lasso_ballot
from mipselect.selectors.scored import RowsSelector
from tests.support.tables_of_scores import Table

RELATIONS = {"replace-one": 2.0, "add-remove": 1.0}
OF_ROWS: dict[str, RowsSelector] = {
    **{f"sis, {relation}": SISSelector(epsilon=0.5, relation=relation) for relation in RELATIONS},
    "sis, joint": SISSelector(epsilon=0.5, relation="replace-one", top_k="joint"),
    "kendall": KendallSelector(epsilon=0.5, relation="replace-one"),
    "kendall, add-remove": KendallSelector(epsilon=0.5, relation="add-remove"),
    "sample-aggregate": SampleAggregateSelector(
        epsilon=0.5, relation="replace-one", n_blocks=4, top_k="laplace"
    ),
    "sample-aggregate, add-remove": SampleAggregateSelector(epsilon=0.5, relation="add-remove"),
    "mcmc": MCMCSelector(epsilon=0.5, delta=1e-3, n_steps=7),
}


def rows(**changes: Any) -> Table:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (300, 5))
    y = X @ [0.1, 0.8, -0.3, 0.0, 0.2]
    bounds = {"x_bound": 0.8, "y_bound": 0.5, "coef_bound": 40.0}
    return Table(3.0 * X, y, **{"support_size": 2, **bounds, **changes})


@pytest.mark.parametrize("name", OF_ROWS)
def test_the_guarantee_of_a_method_of_rows_is_known_before_there_are_data(name: str) -> None:
    method = OF_ROWS[name]
    assert method.guarantee == rows().law(method).guarantee
    assert method.guarantee.relation == ("add-remove" if "add-remove" in name else "replace-one")
    bare = {**dict.fromkeys(("x_bound", "y_bound", "coef_bound")), **bounds_of(method)}
    assert rows(**bare).law(method).guarantee == method.guarantee
    for missing in method.bounds:
        with pytest.raises(InvalidInput, match=f"{missing} must be given"):
            rows(**{missing: None}).law(method)


def bounds_of(method: RowsSelector) -> dict[str, float]:
    return {name: rows().question[name] for name in method.bounds}


def test_sample_aggregate_hands_its_options_on() -> None:
    given = rows()
    found: Any = given.law(OF_ROWS["sample-aggregate"])
    ballot = partial(lasso_ballot, k=2)
    laplace = partial(OneShotTopK, noise="laplace")
    wanted = SampleAggregate(
        given.X, given.y, 2, 0.5, ballot=ballot, n_blocks=4, top_k=laplace, relation="replace-one"
    )
    assert found.log_probability([0, 1]) == wanted.log_probability([0, 1])
    sparse: Any = given.law(SampleAggregateSelector(epsilon=0.5, alpha=1e9))
    assert list(sparse.votes([range(150), range(150, 300)])) == [0.0] * 5


def test_wrong_options_of_methods_of_rows_are_refused_before_there_are_data() -> None:
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (SISSelector, {"top_k": "laplace"}, "top_k must be one of 'canonical'"),
        (SISSelector, {"relation": "swap"}, "relation must be"),
        (KendallSelector, {"relation": None}, "relation must be"),
        (KendallSelector, {"redundancy": "median"}, "redundancy must be 'max' or 'mean'"),
        (KendallSelector, {"redundancy": ["max"]}, "redundancy must be 'max' or 'mean'"),
        (SampleAggregateSelector, {"top_k": "joint"}, "top_k must be 'peeling' or 'laplace'"),
        (SampleAggregateSelector, {"alpha": 0.0}, "alpha must be"),
        (SampleAggregateSelector, {"penalise_intercept": True}, "needs an alpha"),
        (SampleAggregateSelector, {"alpha": 1.0, "penalise_intercept": 1}, "must be True or"),
        (SampleAggregateSelector, {"n_blocks": 0}, "n_blocks must be"),
        (SampleAggregateSelector, {"n_blocks": 1.5}, "n_blocks must be"),
        (SampleAggregateSelector, {"n_blocks": "k/n"}, "n_blocks must be"),
        (MCMCSelector, {"delta": 1.0}, "delta must be"),
        (MCMCSelector, {"n_steps": 0}, "n_steps must be"),
        (MCMCSelector, {"coef_bound": 1e26}, "coef_bound must lie between"),
    ]
    for kind, options, message in wrong:
        with pytest.raises(InvalidInput, match=message):
            kind(epsilon=1.0, **options).check()
    for size in (0, 6, 2.5, True):
        with pytest.raises(InvalidInput, match=r"support_size must be an integer in 1\.\.5"):
            _ = rows(support_size=size).problem
