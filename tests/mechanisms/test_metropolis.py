"""The chain against its own transition matrix, and where it goes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from mipselect import Ledger
from mipselect.errors import InvalidInput
from mipselect.mechanisms import Distribution, MetropolisHastings
from mipselect.privacy.audit import law_of
from tests.support.enumeration import frequencies_agree, stationary_law, subsets


def chain(values: Sequence[float], p: int = 5, s: int = 2, **options: float) -> MetropolisHastings:
    """With one value for every support, in lexicographic order."""
    table = dict(zip(subsets(p, s), values, strict=True))
    settings = {"epsilon": 2.0, "delta": 1e-6, "sensitivity": 1.0, "n_steps": 200, **options}
    names = [f"x{j}" for j in range(p)]
    return MetropolisHastings(table.__getitem__, names, s, **settings)  # type: ignore[arg-type]


def transitions(
    mechanism: MetropolisHastings, values: Sequence[float], p: int, s: int
) -> np.ndarray:
    """One step, from the definition: s (p - s) swaps, all proposed equally often."""
    supports = subsets(p, s)
    matrix = np.zeros((len(supports), len(supports)))
    for a, one in enumerate(supports):
        for b, other in enumerate(supports):
            if len(set(one) & set(other)) == s - 1:
                accepted = np.exp(mechanism.log_acceptance(values[a], values[b]))
                matrix[a, b] = accepted / (s * (p - s))
        matrix[a, a] = 1.0 - matrix[a].sum()
    return matrix


@pytest.mark.parametrize(("p", "s"), [(5, 2), (4, 3), (6, 1)])
def test_the_stated_law_is_stationary(p: int, s: int) -> None:
    supports = subsets(p, s)
    values = np.random.default_rng(p).uniform(0.0, 6.0, len(supports))
    mechanism = chain(values, p, s)
    law = np.exp(stationary_law(mechanism))
    expected = np.exp(-2.0 * values / 2.0)
    np.testing.assert_allclose(law, expected / expected.sum(), rtol=1e-12)
    np.testing.assert_allclose(law @ transitions(mechanism, values, p, s), law, atol=1e-15)


@pytest.mark.parametrize("n_steps", [1, 3, 60])
def test_draws_have_the_law_of_so_many_steps_from_a_uniform_start(n_steps: int) -> None:
    supports = subsets(5, 2)
    values = np.random.default_rng(1).uniform(0.0, 4.0, len(supports))
    mechanism = chain(values, n_steps=n_steps)
    start = np.full(len(supports), 0.1)
    law = start @ np.linalg.matrix_power(transitions(mechanism, values, 5, 2), n_steps)
    source = random.Random(4)
    frequencies_agree(lambda: mechanism.sample(source), supports, np.log(law))
    if n_steps == 60:
        np.testing.assert_allclose(np.log(law), stationary_law(mechanism), atol=1e-3)


def test_an_audit_of_the_chain_cannot_check_another_law_than_that_of_its_draws() -> None:
    """After one step a best support far ahead comes up in a fifth of all draws, not in all."""
    values = np.where(np.arange(10) == 0, 0.0, 50.0)
    mechanism = chain(values, n_steps=1)
    assert stationary_law(mechanism)[0] == pytest.approx(0.0, abs=1e-15)
    source = random.Random(6)
    drawn = sum(mechanism.sample(source) == (0, 1) for _ in range(5000)) / 5000
    assert drawn == pytest.approx(0.2, abs=0.03)
    assert not isinstance(mechanism, Distribution)
    with pytest.raises(AttributeError, match="log_probability"):
        law_of(chain, subsets(5, 2))(values)  # type: ignore[arg-type]


def test_all_features_have_one_support_and_nothing_is_evaluated_twice() -> None:
    assert chain([3.0], 4, 4).sample() == (0, 1, 2, 3)
    seen = []
    mechanism = MetropolisHastings(
        lambda support: float(seen.append(support) or 0.0),  # type: ignore[func-returns-value]
        [f"x{j}" for j in range(6)],
        3,
        1.0,
        delta=1e-6,
        sensitivity=1.0,
        n_steps=500,
    )
    mechanism.sample(1)
    mechanism.sample(2)
    assert len(seen) == len(set(seen)) <= 20
    assert all(list(support) == sorted(support) for support in seen)


def test_the_guarantee_names_its_condition_and_the_ledger_keeps_it() -> None:
    mechanism = chain(np.zeros(10), epsilon=1.5, delta=1e-5, n_steps=321)
    guarantee = mechanism.guarantee
    assert (guarantee.epsilon, guarantee.delta) == (1.5, 1e-5)
    assert guarantee.relation == "replace-one"
    (condition,) = guarantee.conditions
    assert "after 321 steps" in condition
    stated = float(condition.split("≥ ")[1].split(" ")[0])
    assert 0.98 * 1e-5 / (1.0 + np.exp(1.5)) < stated <= 1e-5 / (1.0 + np.exp(1.5))
    ledger = Ledger(2.0, 1e-4)
    release = mechanism.release(ledger)
    assert release.private
    assert release.feature_names == tuple(f"x{j}" for j in release.support)
    assert ledger.spent.conditions == (condition,)


def test_what_is_refused() -> None:
    for wrong, value in (
        ("epsilon", 0.0),
        ("delta", 0.0),
        ("delta", 1.0),
        ("sensitivity", -1.0),
        ("n_steps", 0),
        ("n_steps", 2.5),
        ("n_steps", True),
    ):
        with pytest.raises(InvalidInput, match=wrong):
            chain(np.zeros(10), **{wrong: value})
