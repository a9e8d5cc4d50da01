"""Every mechanism against the formula of its law, and its draws against its probabilities."""

from __future__ import annotations

import random
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import laplace

from mipselect import Instance, mistake_levels
from mipselect.errors import BudgetExceeded, ConditionNotMet, InvalidInput, NotCertified
from mipselect.mechanisms import ExponentialMechanism, Mistakes, SupportMechanism, TopR
from mipselect.mechanisms.supports.exact import MAX_LISTED
from mipselect.mechanisms.supports.mistakes import GAP_CONDITION
from mipselect.mechanisms.supports.propose_test_release import GapTest
from mipselect.privacy import Ledger, LedgerEntry
from mipselect.privacy.randomness import IntegerWeights
from tests.support.enumeration import frequencies_agree
from tests.support.exact_audit import Data, levels_of, log_probabilities, pool_of
from tests.support.pairs import clear, make, tied_pair


def small(p: int = 6, s: int = 2, n: int = 60, seed: int = 3) -> Data:
    """Gaps of a few sensitivities, so that all supports and levels get draws at ε = 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, p))
    return make(X, np.clip(X[:, 1] + rng.normal(0.0, 0.3, n), -1.0, 1.0), s, 0.5)


SMALL = small()
CLEAR = clear()[0][0]


def mechanisms() -> dict[str, tuple[SupportMechanism, Data]]:
    tested = {"test_epsilon": 0.4, "delta": 0.2}
    return {
        "top-1": (TopR(pool_of(SMALL, 1), 1.0), SMALL),
        "top-4": (TopR(pool_of(SMALL, 4, 0.05), 1.0), SMALL),
        "top-14": (TopR(pool_of(SMALL, 14), 1.0), SMALL),
        "top-15": (TopR(pool_of(SMALL, 15), 1.0), SMALL),
        "exponential": (ExponentialMechanism(SMALL.instance, 1.0), SMALL),
        "mistakes": (Mistakes(levels_of(SMALL, 0.05), 1.0), SMALL),
        "tested": (Mistakes(levels_of(SMALL), 1.0, fallback=pool_of(SMALL, 4), **tested), SMALL),
        "tested, clear": (
            Mistakes(levels_of(CLEAR), 0.2, fallback=pool_of(CLEAR, 4), **tested),
            CLEAR,
        ),
    }


NAMES = list(mechanisms())


@pytest.mark.parametrize("name", NAMES)
def test_draws_have_the_probabilities_that_sum_to_one(name: str) -> None:
    mechanism, data = mechanisms()[name]
    logs, source = log_probabilities(mechanism, data), random.Random(20240501)
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-13)
    outcomes = [tuple(support) for support in data.supports.tolist()]
    frequencies_agree(lambda: mechanism.sample(source), outcomes, logs, 6000)
    assert all(isinstance(j, int) for j in mechanism.sample(source))


def assert_law(mechanism: SupportMechanism, data: Data, log_weights: np.ndarray) -> None:
    expected = log_weights - logsumexp(log_weights)
    np.testing.assert_allclose(log_probabilities(mechanism, data), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 300.0, 1e5])
@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_laws_are_the_stated_ones(epsilon: float, tolerance: float) -> None:
    values, delta = SMALL.values, SMALL.instance.sensitivity
    exponential = ExponentialMechanism(SMALL.instance, epsilon)
    # What rounding may add is paid for out of ε.
    rate, moved = exponential._rate.rate, SMALL.instance.oscillation
    assert moved < delta
    assert (1.0 - 1e-7) * epsilon / (2 * moved) < rate < epsilon / (2 * moved)
    assert_law(exponential, SMALL, -rate * values)
    unit = 2.0 * delta * (1.0 + tolerance)
    for size in (1, 4, 14, 15):
        score = np.minimum(values, np.sort(values)[size - 1])
        assert_law(TopR(pool_of(SMALL, size, tolerance), epsilon), SMALL, -epsilon * score / unit)
    levels = levels_of(SMALL, tolerance)
    outside = np.sum(~np.isin(SMALL.supports, levels.supports[0]), axis=1)
    score = np.array([values[outside == level].min() for level in outside])
    assert_law(Mistakes(levels, epsilon), SMALL, -epsilon * score / unit)


@pytest.mark.parametrize("tolerance", [0.0, 0.5])
@pytest.mark.parametrize("low", [0.0, 1.0])
def test_the_tested_form_is_the_stated_mixture(tolerance: float, low: float) -> None:
    for data in (SMALL, CLEAR, tied_pair()[0]):
        levels = levels_of(data, tolerance, low=low)
        pool = pool_of(data, 4, tolerance)
        mechanism = Mistakes(levels, 1.0, test_epsilon=0.4, delta=0.01, fallback=pool)
        q = max(0.0, levels.gap / (2.0 * data.instance.sensitivity) - 1.0)
        scale = (1.0 + tolerance / 2.0) / 0.4
        passing = laplace(scale=scale).sf(scale * np.log(1.0 / 0.02) - q)
        expected = np.logaddexp(
            np.log(passing) + log_probabilities(Mistakes(levels, 1.0), data),
            np.log1p(-passing) + log_probabilities(TopR(pool, 1.0), data),
        )
        np.testing.assert_allclose(log_probabilities(mechanism, data), expected, atol=1e-7)


def test_the_test_passes_with_probability_delta_where_the_condition_fails() -> None:
    data = tied_pair()[0]
    assert not data.meets_condition()
    for delta in (1e-300, 1e-6, 0.49):
        mechanism = Mistakes(
            levels_of(data), 1.0, test_epsilon=1.0, delta=delta, fallback=pool_of(data, 2)
        )
        assert mechanism._tested is not None
        assert mechanism._tested.test.log_pass == pytest.approx(np.log(delta), rel=1e-13)


def test_every_unlisted_support_has_its_own_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where most are listed, drawing an unlisted one is one uniform integer, mapped one to one."""

    class Scripted(random.Random):
        answer: int

        def randrange(self, stop: int) -> int:
            assert stop == 15 - size
            return self.answer

    monkeypatch.setattr(IntegerWeights, "draw", lambda weights, source: size)
    for size in (8, 11, 14):
        pool = pool_of(SMALL, size)
        unlisted = {tuple(s) for s in SMALL.supports.tolist()} - {
            tuple(s) for s in pool.supports.tolist()
        }
        drawn = []
        for number in range(15 - size):
            source = Scripted()
            source.answer = number
            drawn.append(TopR(pool, 1.0).sample(source))
        assert sorted(drawn) == sorted(unlisted)


def test_a_large_problem_has_exact_unlisted_draws_at_once() -> None:
    p, s = 10_000, 5
    pool = pool_of(SMALL, 3)
    large = replace(
        pool,
        supports=np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [1, 3, 5, 7, 9999]]),
        n_features=p,
        feature_names=tuple(f"x{j}" for j in range(p)),
        rest_bound=float(pool.values[-1]),
    )
    mechanism = TopR(large, 1e-3)
    drawn = mechanism.sample(0)
    assert len(set(drawn)) == s
    assert max(drawn) < p
    assert mechanism.log_probability(drawn) == pytest.approx(-np.log(float(comb(p, s))), abs=1e-2)


def test_extreme_epsilon_and_one_support_are_legal() -> None:
    for epsilon in (1e-300, 1e300):
        mechanism = TopR(pool_of(SMALL, 5), epsilon)
        assert np.all(np.isfinite(log_probabilities(mechanism, SMALL)))
        mechanism.sample()
    full = small(p=3, s=3)
    for mechanism in (
        TopR(pool_of(full, 1), 1.0),
        Mistakes(levels_of(full), 1.0),
        Mistakes(levels_of(full), 1.0, test_epsilon=1.0, delta=0.1, fallback=pool_of(full, 1)),
        ExponentialMechanism(full.instance, 1.0),
    ):
        assert mechanism.sample() == (0, 1, 2)
        assert mechanism.log_probability([2, 0, 1]) == pytest.approx(0.0, abs=1e-15)
    assert Mistakes(levels_of(full), 1.0).release().support == (0, 1, 2)


def test_supports_that_are_too_many_to_list_are_drawn_exactly() -> None:
    """Where R is the same everywhere every support is equally likely, and every try accepted."""
    instance = Instance(
        np.zeros((2, 200)),
        np.zeros(2),
        support_size=3,
        x_bound=1.0,
        y_bound=1.0,
        coef_bound=1.0,
        ridge=1.0,
    )
    assert instance.number_of_supports > MAX_LISTED
    mechanism = ExponentialMechanism(instance, 1.0)
    drawn = [mechanism.sample(seed) for seed in range(200)]
    assert all(len(set(support)) == 3 for support in drawn)
    assert len(set(drawn)) > 190
    assert mechanism.acceptance == 1.0
    found = mechanism.estimate(drawn[0])
    assert found.low <= -np.log(instance.number_of_supports) <= found.high
    assert found.high - found.low < 1e-6
    with pytest.raises(NotCertified, match="estimate"):
        mechanism.log_probability(drawn[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "outcome",
    [[0], [0, 1, 2], [0, 0], [-1, 2], [0, 6], [0.0, 1.0], [True, False], "ab", None, [[0, 1]]],
)
def test_what_is_no_support_has_no_probability(name: str, outcome: object) -> None:
    mechanism, _ = mechanisms()[name]
    with pytest.raises(InvalidInput):
        mechanism.log_probability(outcome)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.inf, np.nan, "1", None, True])
def test_a_bad_epsilon_is_refused(epsilon: object) -> None:
    for build in (
        lambda: TopR(pool_of(SMALL, 2), epsilon),
        lambda: Mistakes(levels_of(SMALL), epsilon),
        lambda: ExponentialMechanism(SMALL.instance, epsilon),
    ):
        with pytest.raises(InvalidInput, match="epsilon"):
            build()


def test_what_is_not_certified_is_refused_with_its_bound() -> None:
    pool = pool_of(SMALL, 3, 0.05)
    bound = float(pool.values[-1] - 0.06 * pool.sensitivity)
    with pytest.raises(NotCertified) as refused:
        TopR(replace(pool, rest_bound=bound), 1.0)
    assert refused.value.bound == bound
    levels = levels_of(SMALL)
    with pytest.raises(NotCertified):
        Mistakes(replace(levels, bounds=levels.bounds - 0.1 * levels.sensitivity), 1.0)
    uncertain = replace(pool, rest_bound=bound)
    with pytest.raises(NotCertified):
        Mistakes(levels, 1.0, test_epsilon=1.0, delta=0.1, fallback=uncertain)


def test_the_tested_form_needs_all_its_parts() -> None:
    parts = {"test_epsilon": 1.0, "delta": 0.1, "fallback": pool_of(SMALL, 2)}
    for missing in parts:
        given = {what: value for what, value in parts.items() if what != missing}
        with pytest.raises(InvalidInput, match=f"missing: {missing}$"):
            Mistakes(levels_of(SMALL), 1.0, **given)
    for wrong in (
        {"delta": 0.0},
        {"delta": 0.5},
        {"delta": np.nan},
        {"delta": "0.1"},
        {"test_epsilon": 0.0},
        {"test_epsilon": np.inf},
        {"fallback": TopR(pool_of(SMALL, 2), 2.0)},
        {"fallback": pool_of(CLEAR, 2)},
        {"fallback": replace(pool_of(SMALL, 2), feature_names=tuple("abcdef"))},
        {"fallback": levels_of(SMALL)},
    ):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            Mistakes(levels_of(SMALL), 1.0, **{**parts, **wrong})


def test_mistakes_refuses_to_release_where_its_condition_is_not_proven() -> None:
    data = tied_pair()[0]
    ledger = Ledger(1.0)
    mechanism = Mistakes(levels_of(data), 1.0)
    with pytest.raises(ConditionNotMet, match="test_epsilon"):
        mechanism.release(ledger)
    assert ledger.entries == ()
    assert len(mechanism.sample()) == 2
    tested = Mistakes(levels_of(data), 0.5, test_epsilon=0.25, delta=0.1, fallback=pool_of(data, 2))
    assert tested.release().private
    clear = levels_of(CLEAR)
    assert Mistakes(clear, 1.0).release(ledger).guarantee.conditions == (GAP_CONDITION,)
    edge = replace(clear, sensitivity=clear.gap / 2.0 / (1.0 + 0.5e-9))
    with pytest.raises(ConditionNotMet):
        Mistakes(edge, 1.0).release()
    proven_less = replace(clear, bounds=np.minimum(clear.bounds, clear.values[0]), tolerance=1e9)
    with pytest.raises(ConditionNotMet):
        Mistakes(proven_less, 1.0).release()


class Counting(random.Random):
    """Counts how often it is asked for random bits."""

    asked = 0

    def getrandbits(self, k: int) -> int:
        self.asked += 1
        return super().getrandbits(k)


@pytest.mark.parametrize("name", NAMES)
def test_the_ledger_is_charged_before_anything_is_drawn(name: str) -> None:
    mechanism, _ = mechanisms()[name]
    if name == "mistakes":
        mechanism = Mistakes(levels_of(CLEAR), 1.0)
    source = Counting(1)
    epsilon, delta = mechanism.guarantee.epsilon, mechanism.guarantee.delta
    ledger = Ledger(1.5 * epsilon, delta)
    seeded = replace(mechanism.guarantee, private=False)
    assert mechanism.release(ledger, rng=source).guarantee == seeded
    assert source.asked > 0
    before = source.asked
    with pytest.raises(BudgetExceeded):
        mechanism.release(ledger, rng=source)
    other = mechanism.guarantees["add-remove"]
    with pytest.raises(BudgetExceeded):
        mechanism.release(Ledger(0.9 * other.epsilon, 0.9, "add-remove"), rng=source)
    assert source.asked == before
    assert ledger.entries == (LedgerEntry(seeded, mechanism.name),)
    with pytest.raises(InvalidInput):
        mechanism.release(Ledger(10.0, 0.5), rng="seed")


def test_printing_tells_no_sensitive_value() -> None:
    test = GapTest(gap=0.123456, sensitivity=1.0, tolerance=0.05, epsilon=1.0, delta=0.1)
    assert "0.123456" not in repr(test)
    assert repr(IntegerWeights.from_logs([0.17, 0.42])) == "IntegerWeights()"
    assert repr(TopR(pool_of(SMALL, 2), 1.0)) == (
        "TopR(pool=<SupportPool: 2 supports of 2 of 6 features; sensitive>, epsilon=1.0)"
    )


def test_pools_and_levels_are_not_mixed_up() -> None:
    pool, levels = pool_of(SMALL, 2), levels_of(SMALL)
    with pytest.raises(InvalidInput, match=r"got MistakeLevels; use Mistakes\(levels, epsilon\)"):
        TopR(levels, 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"got SupportPool; use TopR\(pool, epsilon\)"):
        Mistakes(pool, 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="that top_supports returns, got Instance"):
        TopR(SMALL.instance, 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="that mistake_levels returns, got NoneType"):
        Mistakes(None, 1.0)  # type: ignore[arg-type]


def mistakes_where(first: int) -> Mistakes:
    """On 40 rows, of which so many are explained by column 0 and the others by column 1."""
    X = np.zeros((40, 2))
    X[:first, 0] = X[first:, 1] = 1.0
    bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
    instance = Instance(X, np.ones(40), support_size=1, **bounds)
    return Mistakes(mistake_levels(instance), 1.0)


def is_released(mechanism: Mistakes) -> bool:
    try:
        return mechanism.release().private
    except ConditionNotMet:
        return False


def test_the_condition_of_mistakes_parts_two_neighbours() -> None:
    """One row makes the difference between a release and a refusal: no finite loss covers both."""
    released = [is_released(mistakes_where(first)) for first in range(20, 41)]
    assert not released[0]
    assert released[-1]
    assert released == sorted(released)


def test_condition_and_refusal_speak_of_neighbours_and_of_what_a_release_tells() -> None:
    assert "on these data and on every neighbouring data set" in GAP_CONDITION
    with pytest.raises(ConditionNotMet, match="as a release would have told") as refused:
        mistakes_where(20).release()
    assert GAP_CONDITION in str(refused.value)
    assert "every neighbouring data set" in str(mistakes_where(40).release().guarantee)
