"""Noise is that of its name in both tails, and of private draws that of OpenDP."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mipselect.errors import InvalidInput
from mipselect.mechanisms import (
    CanonicalLipschitz,
    NoisyMax,
    OneShotTopK,
    Peeling,
    RandomStopping,
    SampleAggregate,
)
from mipselect.mechanisms.noise import noise as noises
from mipselect.mechanisms.noise.noise import NOISES, log_exponentials
from mipselect.mechanisms.scores.sample_aggregate import COUNT_SHARE, vote_epsilon
from mipselect.privacy.decimals import exact
from mipselect.regression import AdaSSPRegressor, BoostedAdaSSPRegressor, TukeyRegressor

SAME = {
    "gumbel": stats.gumbel_r,
    "exponential": stats.expon,
    "laplace": stats.laplace,
    "logistic": stats.logistic,
    "half-logistic": stats.halflogistic,
}
X = np.array([1e-9, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 35.0, 39.0, 39.9, 40.1, 60.0, 500.0])


def points(name: str) -> np.ndarray:
    return X if NOISES[name].lowest == 0.0 else np.concatenate([-X[X < 100], X])


@pytest.mark.parametrize("name", SAME)
def test_each_noise_is_the_one_of_its_name(name: str) -> None:
    noise, same = NOISES[name], SAME[name]
    x = points(name)
    x = x[(x > -6) & (x < 30)]
    np.testing.assert_allclose(-np.exp(noise.log_exponent(x)), same.logcdf(x), rtol=1e-6)
    hazards = same.logpdf(x) - same.logcdf(x)
    np.testing.assert_allclose(noise.log_reversed_hazard(x), hazards, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(noise.log_survival(x), same.logsf(x), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", SAME)
def test_quantiles_invert_to_the_last_digits_in_both_tails(name: str) -> None:
    noise, x = NOISES[name], points(name)
    np.testing.assert_allclose(noise.quantile(noise.log_exponent(x)), x, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", SAME)
def test_the_lipschitz_condition_of_the_source(name: str) -> None:
    """A step of δ changes density and upper tail by at most e^δ; beyond it, the test can fail."""
    noise = NOISES[name]
    x = np.linspace(0.0 if noise.lowest == 0.0 else -20.0, 20.0, 2001)[1:]
    log_density = noise.log_reversed_hazard(x) - np.exp(noise.log_exponent(x))
    step = x[1] - x[0]
    tail = np.diff(noise.log_survival(x)) / step
    assert tail.min() >= -1.0 - 1e-9
    assert tail.min() < -0.99
    if name != "gumbel":
        assert np.abs(np.diff(log_density)).max() <= step * (1.0 + 1e-9)
    else:
        assert np.diff(log_density).min() >= -step * (1.0 + 1e-9)


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("m", [1, 3, 1000])
def test_the_largest_of_m(name: str, m: int) -> None:
    drawn = NOISES[name].largest(random.Random(m), np.full(4000, np.log(m)))
    assert stats.kstest(drawn, lambda x: SAME[name].cdf(x) ** m).pvalue > 1e-4


@pytest.mark.parametrize("name", SAME)
def test_the_largest_of_more_than_a_double_can_count(name: str) -> None:
    """It lies around log m, with Gumbel noise, up to the constant of the tail."""
    log_m = np.full(2000, 5e4)
    drawn = NOISES[name].largest(random.Random(1), log_m) - log_m
    tail = {"laplace": -np.log(2.0), "half-logistic": np.log(2.0)}.get(name, 0.0)
    assert stats.kstest(drawn - tail, stats.gumbel_r.cdf).pvalue > 1e-4


class Scripted(random.Random):
    """A source whose words are given, then those that lengthen them."""

    def __init__(self, words: list[int], more: list[int]) -> None:
        super().__init__(0)
        self.words, self.more = list(words), list(more)

    def randbytes(self, n: int) -> bytes:
        return b"".join(self.words.pop(0).to_bytes(8, "little") for _ in range(n // 8))

    def getrandbits(self, k: int) -> int:
        return self.more.pop(0)


LAST = 2**64 - 1


def test_exponentials_keep_their_precision_at_both_ends() -> None:
    def drawn(word: int, *more: int) -> float:
        source = Scripted([word], list(more))
        found = float(log_exponentials(source, 1)[0])
        assert not source.more
        return found

    long = np.log(2**60 + 0.5) - 128 * np.log(2)
    assert drawn(0, 2**60) == pytest.approx(np.log(-long), rel=1e-15)
    assert drawn(LAST, 2**60) == pytest.approx(long, rel=1e-15)
    longer = np.log(2**59 + 0.5) - 256 * np.log(2)
    assert drawn(LAST, 0, 0, 2**59) == pytest.approx(longer, rel=1e-15)
    short = (2**52 + 0.5) / 2**64
    assert drawn(LAST - 2**52) == pytest.approx(np.log(-np.log1p(-short)), rel=1e-15)
    assert drawn(2**52) == pytest.approx(np.log(-np.log(short)), rel=1e-15)
    assert drawn(2**63 - 1) == pytest.approx(np.log(np.log(2)), abs=1e-15)
    assert drawn(2**63) == pytest.approx(np.log(np.log(2)), abs=1e-15)
    many = np.exp(log_exponentials(random.Random(5), 4000))
    assert stats.kstest(many, stats.expon.cdf).pvalue > 1e-4


def test_the_tail_goes_on_as_it_began() -> None:
    """Beyond the smallest of 2^64 intervals -log U is as it is from zero on."""

    class FromTheEnd(random.Random):
        def randbytes(self, n: int) -> bytes:
            return bytes(n)

    beyond = np.exp(log_exponentials(FromTheEnd(3), 4000)) - 64 * np.log(2)
    assert stats.kstest(beyond, stats.expon.cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", sorted(set(SAME) - {"gumbel"}))
def test_no_outcome_is_impossible(name: str) -> None:
    """On one of two neighbours it would be: a noise beyond the last of 2^64 intervals is drawn."""
    middle = 2**63
    gap, beyond = 100.0, [0, 0, 2**59]
    draws: list[tuple[Any, list[int]]] = [
        (OneShotTopK([gap, 0.0], 1, 2.0, noise=name), [middle, LAST]),
        (CanonicalLipschitz([gap, 0.0], 1, 4.0, noise=name), [middle, LAST]),
    ]
    if name != "exponential":
        draws += [
            (NoisyMax([gap, 0.0], 2.0, noise=name), [middle, LAST]),
            (Peeling([gap, 0.0], 1, 2.0, noise=name), [middle, LAST]),
        ]
    for mechanism, words in draws:
        assert mechanism.sample(Scripted(words, [*beyond, *[0] * 9])) in (1, (1,))


OPTIONS: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-3, "x_bound": 1.0, "y_bound": 1.0}
SCORES = [3.0, 1.0, 2.0, 0.0]
TABLE = np.linspace(-1.0, 1.0, 400).reshape(200, 2)
TARGET = TABLE @ [0.5, -0.2]


def votes(TABLE: Any, y: Any) -> np.ndarray:
    return np.array([0])


def fitted(model: Any) -> Callable[[Any], Any]:
    return lambda rng: model.set_params(random_state=rng).fit(TABLE, TARGET)


DRAWS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "random stopping": ("opendp_laplace", RandomStopping(SCORES, [1.0] * 4, 1.0).sample),
    "number of rows": (
        "opendp_laplace",
        SampleAggregate(TABLE, TARGET, 1, 1.0, ballot=votes).sample,
    ),
    "rows of models": (
        "opendp_laplace",
        fitted(TukeyRegressor(epsilon=2.0, delta=1e-3, relation="add-remove")),
    ),
    "sums": ("opendp_gaussian", fitted(AdaSSPRegressor(**OPTIONS))),
    "sums and gradients": ("opendp_gaussian", fitted(BoostedAdaSSPRegressor(**OPTIONS))),
}


@pytest.mark.parametrize("name", DRAWS)
def test_only_private_draws_are_by_opendp(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, draw = DRAWS[name]
    calls = []
    right = getattr(noises, sampler)
    monkeypatch.setattr(noises, sampler, lambda *given: calls.append(1) or right(*given))
    draw(None)
    assert calls
    calls.clear()
    draw(0)
    assert not calls


def test_parts_of_epsilon_are_no_more_than_it() -> None:
    """As decimals, which is how a ledger reads them."""
    for epsilon in (0.341, 0.7, 1.37, 2.075, 2.087, *(k / 100.0 for k in range(1, 400))):
        looks = 3 * exact(RandomStopping(SCORES, [1.0] * 4, epsilon)._look_epsilon)
        counted = exact(COUNT_SHARE * epsilon) + exact(vote_epsilon(epsilon, None, "add-remove"))
        for spent in (looks, counted):
            assert exact(epsilon) * (1 - Fraction(1, 10**15)) <= spent <= exact(epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.1, 0.341, 3.0, 2.0])
def test_laplace_noise_is_for_the_printed_epsilon_too(
    epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = []
    build = noises._within
    monkeypatch.setattr(
        noises, "_within", lambda *given: spent.append(Fraction(given[1])) or build(*given)
    )
    noises.opendp_laplace(1.0, epsilon, 1.0)
    assert spent[0] <= min(Fraction(epsilon), exact(epsilon))


def test_vetted_noise_is_never_too_small_and_never_beyond_double_precision() -> None:
    class Measurement:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def map(self, distance: float) -> float:
            return 2.0 * distance / self.scale * (1.0 + 1e-9)

    measurement = noises._within(Measurement, 0.3, 0.7, 2.0 / 0.3)
    assert measurement.map(0.7) <= 0.3
    assert measurement.scale == pytest.approx(2 * 0.7 / 0.3, rel=1e-8)
    with pytest.raises(InvalidInput, match="beyond double precision"):
        noises.opendp_laplace(0.0, 1e-300, 1e300)
