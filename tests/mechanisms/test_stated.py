"""The guarantee of a mechanism on scores follows from public numbers, and so does a refusal."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from mipselect.errors import InvalidInput
from mipselect.mechanisms import (
    AdaptivePeeling,
    CanonicalLipschitz,
    JointExponential,
    OneShotTopK,
    Peeling,
    SampleAggregate,
)
from mipselect.mechanisms.scores.top_k import TopK, stated_by
from mipselect.privacy import Guarantee

TOP_K: dict[str, tuple[TopK, dict[str, Any]]] = {
    "canonical": (CanonicalLipschitz, {}),
    "canonical-gumbel": (CanonicalLipschitz, {"noise": "gumbel", "gamma": 1}),
    "peeling": (Peeling, {}),
    "peeling-exponential": (Peeling, {"noise": "exponential"}),
    "one-shot": (OneShotTopK, {}),
    "one-shot-laplace": (OneShotTopK, {"noise": "laplace"}),
    "joint": (JointExponential, {}),
}
RHO = {
    "canonical-gumbel": 0.5**2 / 8,
    "peeling": 0.5**2 / 24,
    "one-shot": 0.5**2 / 24,
    "joint": 0.5**2 / 8,
}

REFUSED: list[dict[str, Any]] = [
    {"k": 0},
    {"k": 6},
    {"k": 2.5},
    {"epsilon": 0.0},
    {"epsilon": 1e-14},
    {"epsilon": np.inf},
    {"sensitivity": 0.0},
    {"sensitivity": 1e300},
    {"relation": "add-one"},
]


def message_of(call: Callable[..., Any], *given: Any, **options: Any) -> str:
    with pytest.raises(InvalidInput) as refused:
        call(*given, **options)
    return str(refused.value)


@pytest.mark.parametrize("name", TOP_K)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_guarantee_needs_no_scores(name: str, relation: str) -> None:
    top_k, options = TOP_K[name]
    stated = stated_by(partial(top_k, **options), 5, 3, 0.5, sensitivity=2.0, relation=relation)
    built = top_k([3.0, 1.0, 4.0, 1.0, 5.0], 3, 0.5, sensitivity=2.0, relation=relation, **options)
    assert stated == built.guarantee == Guarantee(0.5, relation=relation)
    assert stated.rho == built.guarantee.rho == built.rho
    assert stated.rho == (None if name not in RHO else pytest.approx(RHO[name]))


@pytest.mark.parametrize("name", TOP_K)
@pytest.mark.parametrize("wrong", REFUSED, ids=str)
def test_what_is_stated_is_refused_as_it_is_built(name: str, wrong: dict[str, Any]) -> None:
    top_k, options = TOP_K[name]
    given = {"k": 2, "epsilon": 1.0, "sensitivity": 1.0, "relation": "replace-one", **options}
    k, epsilon, *_ = (given | wrong).values()
    public = {key: value for key, value in (given | wrong).items() if key not in ("k", "epsilon")}
    refusal = message_of(top_k, np.arange(5.0), k, epsilon, **public)
    sensitivity, relation = public["sensitivity"], public["relation"]
    assert refusal == message_of(
        stated_by,
        partial(top_k, **options),
        5,
        k,
        epsilon,
        sensitivity=sensitivity,
        relation=relation,
    )


def test_other_callables_promise_epsilon() -> None:
    def own(scores: Any, k: int, epsilon: float, *, sensitivity: float, relation: str) -> Any:
        raise AssertionError("there are no scores")

    stated = stated_by(own, 5, 2, 0.5, sensitivity=1.0, relation="add-remove")
    assert stated == Guarantee(0.5, relation="add-remove")
    assert stated.rho is None
    public = {"sensitivity": 1.0, "relation": "add-remove"}
    assert "k must be" in message_of(stated_by, own, 5, 6, 0.5, **public)


def test_adaptive_peeling() -> None:
    mechanism = AdaptivePeeling(lambda chosen: np.zeros(5), 3, 0.5, sensitivities=[1.0] * 3)
    stated = AdaptivePeeling.stated(5, 3, 0.5)
    assert stated == mechanism.guarantee == Guarantee(0.5)
    assert stated.rho == mechanism.guarantee.rho == pytest.approx(RHO["peeling"])
    for k, epsilon, relation in ((6, 1.0, "replace-one"), (2, 1e-14, "add-remove"), (2, 1.0, "no")):
        refusal = message_of(
            AdaptivePeeling,
            lambda chosen: np.zeros(5),
            k,
            epsilon,
            sensitivities=[1.0] * k,
            relation=relation,
        )
        assert refusal == message_of(AdaptivePeeling.stated, 5, k, epsilon, relation=relation)


def test_sample_aggregate_states_what_it_leaves_for_votes() -> None:
    assert SampleAggregate.stated(5, 3, 0.5) == Guarantee(0.5, relation="add-remove")
    least = 7.2e-15
    # What a noisy number of rows costs is no longer there for the votes.
    assert SampleAggregate.stated(5, 1, least, n_blocks=4).epsilon == least
    assert "epsilon" in message_of(SampleAggregate.stated, 5, 1, least)
    table = np.zeros((20, 5))
    refusal = message_of(
        SampleAggregate, table, table[:, 0], 1, least, ballot=lambda X, y: [0], relation="no"
    )
    assert "relation" in refusal
    assert "n_blocks" in message_of(SampleAggregate.stated, 5, 1, 1.0, n_blocks=0)
