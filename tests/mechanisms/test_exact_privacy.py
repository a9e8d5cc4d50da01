"""Privacy as it is defined: log probabilities of all supports, on many neighbouring pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

from mipselect.mechanisms import ExponentialMechanism, Mistakes, SupportMechanism, TopR
from mipselect.mechanisms.supports.propose_test_release import GapTest
from tests.support.exact_audit import (
    Data,
    excess,
    levels_of,
    log_probabilities,
    mirrored_pair,
    pairs,
    pool_of,
    separated_pairs,
    tied_pair,
)

ROUNDING = 1.0 + 1e-9
LATE = (0.0, 0.6, 1.0)

Build = Callable[[Data, int], SupportMechanism]


def largest_loss(build: Build, audited: Iterable[tuple[Data, Data]]) -> float:
    """The largest |log P_D(S) - log P_D'(S)|; `build` gets a counter to vary the certificate."""
    worst = 0.0
    last, logs = None, np.empty(0)
    for k, (data, other) in enumerate(audited):
        if data is not last:
            last, logs = data, log_probabilities(build(data, k), data)
        other_logs = log_probabilities(build(other, k + 1), other)
        worst = max(worst, float(np.abs(logs - other_logs).max()))
    return worst


def pool_size(data: Data, size: str) -> int:
    number = data.instance.number_of_supports
    s, p = data.instance.support_size, data.instance.p
    sizes = {"1": 1, "3": 3, "one-swap": 2 + s * (p - s), "all but one": number - 1, "all": number}
    return min(sizes[size], number)


def top_r(size: str, epsilon: float, tolerance: float) -> Build:
    def build(data: Data, k: int) -> TopR:
        late = LATE[k % 3] if tolerance else 0.0
        pool = pool_of(data, pool_size(data, size), tolerance, late=late, seed=k)
        return TopR(pool, epsilon)

    return build


def test_there_are_enough_pairs() -> None:
    assert len(pairs()) >= 500
    assert len(separated_pairs()) >= 500


@pytest.mark.parametrize("size", ["1", "3", "one-swap", "all but one", "all"])
@pytest.mark.parametrize("tolerance", [0.0, 1.0])
def test_top_r_is_private(size: str, tolerance: float) -> None:
    for epsilon in (0.5, 3.0):
        assert largest_loss(top_r(size, epsilon, tolerance), pairs()) <= epsilon * ROUNDING


def test_top_r_is_private_at_the_default_tolerance() -> None:
    assert largest_loss(top_r("3", 1.0, 0.05), pairs()) <= ROUNDING


def test_the_audit_of_top_r_can_fail() -> None:
    """It uses four fifths of ε, so that half the sensitivity would be noticed."""
    assert largest_loss(top_r("all", 1.0, 0.0), pairs()) > 0.8
    assert largest_loss(top_r("one-swap", 1.0, 0.0), pairs()) > 0.8

    def careless(share: float) -> Build:
        def build(data: Data, _: int) -> TopR:
            pool = pool_of(data, pool_size(data, "all"))
            return TopR(replace(pool, sensitivity=share * pool.sensitivity), 1.0)

        return build

    assert largest_loss(careless(0.5), pairs()) > 1.5
    assert largest_loss(careless(0.25), pairs()) > 3.0


def test_a_pool_that_is_wrong_within_its_tolerance_needs_the_larger_sensitivity() -> None:
    """With Δ in place of Δ + τ, which is ε(1 + τ/Δ) in place of ε, the audit fails."""
    tolerance = 4.0
    assert largest_loss(top_r("3", 1.0, tolerance), pairs()) <= ROUNDING
    assert largest_loss(top_r("3", 1.0 + tolerance, tolerance), pairs()) > 2.0


def test_the_exponential_mechanism_is_private() -> None:
    for epsilon in (0.1, 1.0, 5.0):

        def build(data: Data, _: int, epsilon: float = epsilon) -> ExponentialMechanism:
            return ExponentialMechanism(data.instance, epsilon)

        loss = largest_loss(build, pairs())
        assert 0.7 * epsilon < loss <= epsilon * ROUNDING


@pytest.mark.parametrize("tolerance", [0.0, 0.05, 1.0])
def test_mistakes_is_private_on_its_condition(tolerance: float) -> None:
    for epsilon in (0.5, 3.0):

        def build(data: Data, k: int, epsilon: float = epsilon) -> Mistakes:
            return Mistakes(levels_of(data, tolerance, late=LATE[k % 3]), epsilon)

        assert largest_loss(build, separated_pairs()) <= epsilon * ROUNDING


def test_the_audit_of_mistakes_can_fail() -> None:
    def build(share: float) -> Build:
        def of(data: Data, _: int) -> Mistakes:
            levels = levels_of(data)
            return Mistakes(replace(levels, sensitivity=share * levels.sensitivity), 1.0)

        return of

    assert largest_loss(build(1.0), separated_pairs()) > 0.6
    assert largest_loss(build(0.25), separated_pairs()) > 2.4


def test_mistakes_is_not_private_without_its_condition() -> None:
    def build(data: Data, _: int) -> Mistakes:
        return Mistakes(levels_of(data), 1.0)

    assert largest_loss(build, [tied_pair()]) > 2.0


def best_of_level_log_probabilities(data: Data) -> np.ndarray:
    """The law of returning the drawn level's best support itself, as the authors' code does."""
    levels = levels_of(data)
    right = Mistakes(levels, 1.0)
    logs = np.full(len(data.supports), -np.inf)
    for best, size in zip(levels.supports, levels.sizes, strict=True):
        row = np.flatnonzero((data.supports == best).all(axis=1))[0]
        logs[row] = right.log_probability(best) + np.log(size)
    assert np.exp(logs).sum() == pytest.approx(1.0)
    return logs


def test_returning_the_best_support_of_a_level_is_not_private() -> None:
    """Where a row decides which support is the best of its level, the other is impossible."""
    broken = 0
    for data, other in separated_pairs():
        one, two = (np.exp(best_of_level_log_probabilities(member)) for member in (data, other))
        broken += bool(np.any((one > 0.01) & (two == 0.0)))
    assert broken >= 10


def propose_test_release(
    test_epsilon: float, epsilon: float, delta: float, tolerance: float = 0.0
) -> Build:
    def build(data: Data, k: int) -> Mistakes:
        size = min(3, data.instance.number_of_supports)
        late, low = LATE[k % 3], LATE[(k + 1) % 3]
        return Mistakes(
            levels_of(data, tolerance, late=late, low=low),
            epsilon,
            test_epsilon=test_epsilon,
            delta=delta,
            fallback=pool_of(data, size, tolerance, late=late, seed=k),
        )

    return build


@pytest.mark.parametrize("tolerance", [pytest.param(0.0, marks=pytest.mark.deep), 1.0])
@pytest.mark.parametrize("delta", [1e-3, pytest.param(0.1, marks=pytest.mark.deep)])
def test_propose_test_release_is_private_on_all_data(tolerance: float, delta: float) -> None:
    test_epsilon, epsilon = 0.3, 0.7
    build = propose_test_release(test_epsilon, epsilon, delta, tolerance)
    for k, (data, other) in enumerate((*pairs(), *separated_pairs(), tied_pair())):
        for a, b in ((k, k + 1), (k + 2, k)):
            one = log_probabilities(build(data, a), data)
            two = log_probabilities(build(other, b), other)
            assert excess(one, two, test_epsilon + epsilon) <= delta
            if data.meets_condition() or other.meets_condition():
                assert np.abs(one - two).max() <= (test_epsilon + epsilon) * ROUNDING


def test_the_delta_of_propose_test_release_is_needed() -> None:
    """On a tie that one row decides, half of δ is used: a test without δ would be noticed."""
    data, other = tied_pair()
    for delta in (1e-6, 1e-3, 0.1):
        build = propose_test_release(0.1, 2.0, delta)
        one = log_probabilities(build(data, 0), data)
        two = log_probabilities(build(other, 0), other)
        assert 0.4 * delta < excess(one, two, 0.1 + 2.0) <= delta


@pytest.mark.parametrize("tolerance", [0.0, 1.0])
def test_the_test_of_the_gap_passes_with_at_most_delta_where_the_condition_fails(
    tolerance: float,
) -> None:
    for gap in (0.0, 1.0, 2.0):
        found = GapTest(gap, 1.0, tolerance, 0.5, 1e-3)
        assert found.log_pass <= np.log(1e-3) * (1.0 - 1e-12)


def test_the_test_of_the_gap_uses_its_epsilon() -> None:
    """Passing itself is private, and uses a good part of what it pays for."""
    used = 0.0
    build = propose_test_release(1.0, 1.0, 1e-3)
    for data, other in (*separated_pairs(), mirrored_pair(6, 40, shift=4.0)):
        one, two = (build(member, 0)._tested.test for member in (data, other))
        used = max(used, abs(one.log_pass - two.log_pass), abs(one.log_fail - two.log_fail))
    assert 0.8 < used <= ROUNDING
