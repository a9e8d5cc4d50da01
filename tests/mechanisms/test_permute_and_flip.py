"""Permute-and-flip over all supports: its law by every path, and how it ends."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from mipselect import (
    ExponentialMechanism,
    Ledger,
    PermuteAndFlip,
)
from mipselect.errors import InvalidInput, NotCertified
from mipselect.mechanisms.supports import permute_and_flip, rejection_sampler
from mipselect.mechanisms.supports.law import EPS, with_another_row
from mipselect.mechanisms.supports.permute_and_flip import (
    FirstHeads,
    FlipIntegral,
    FlippedDraws,
    FlippedWeights,
)
from mipselect.privacy.randomness import IntegerWeights
from mipselect.search.soft.partition import LargestWeight, Partition
from tests.mechanisms.test_exact_draws import correlated
from tests.support.designs import LOSSES, of_classes, random_instance, random_loss_instance
from tests.support.enumeration import frequencies_agree
from tests.support.soft_draws import Judged, flip_law, hostile


def flipping(*of: Any, **options: Any) -> Judged:
    """Permute-and-flip by cells, with its law by exact arithmetic."""
    return Judged(*of, kind=PermuteAndFlip, **options)


def scale_of(judged: Judged) -> LargestWeight:
    assert isinstance(judged.draws, FlippedDraws)
    return judged.draws._largest


HARD = [
    [0.0],
    [0.0, 0.0],
    [0.0, -1e-300],
    [0.0, -1e-9, -0.1],
    [0.0, -0.5, -1.0, -2.0, -30.0],
    [0.0] * 12,
    [0.0, *[-1e-12] * 8],
    [0.0, -300.0, -700.0],
    [0.0, *[-5.0] * 15],
    [0.0, *np.linspace(-2.0, -2.2, 14)],
]


@pytest.mark.parametrize("logs", HARD)
def test_the_integral_is_the_rational_one(logs: list[float]) -> None:
    logs_ = np.array(logs)
    found = FlipIntegral(logs_).log_probabilities(logs_)
    np.testing.assert_allclose(found, flip_law(logs_), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("logs", HARD)
def test_the_law_of_integer_weights_is_that_of_their_ratios(logs: list[float]) -> None:
    law = FlippedWeights(IntegerWeights.from_logs(np.array(logs) + 700.0))
    expected = flip_law(np.array(logs))
    np.testing.assert_allclose(law.log_probabilities(), expected, rtol=1e-12, atol=1e-12)
    one_by_one = [law.log_probability(k) for k in range(len(logs))]
    np.testing.assert_allclose(one_by_one, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("e", [0.0, 1e-300, 1e-9, 0.3, 3.0, 40.0, 800.0, 1e5])
@pytest.mark.parametrize("log", [0.0, -1e-300, -1e-17, -1e-9, -0.2, -3.0, -800.0])
def test_the_factor_of_time_has_all_its_digits(e: float, log: float) -> None:
    """(1-u)/(1 - wu) with u = 1 - e^-e, in many digits."""
    held = FirstHeads(Known())
    held._time = Fraction(e)
    with localcontext() as context:
        context.prec = 1000
        w, left = Decimal(log).exp(), (-Decimal(e)).exp()
        exact = (left / (1 - w + w * left)).ln()
    assert held._log_thinning(log) == pytest.approx(float(exact), rel=1e-12, abs=1e-13)


class Known:
    """A scale that is proven from the start, or is too large until it is asked for."""

    def __init__(self, above: float = 0.0) -> None:
        self.log_largest, self.proven = above, above == 0.0

    def prove(self) -> None:
        self.log_largest, self.proven = 0.0, True


@pytest.mark.parametrize("late", [0.0, 0.2, 3.0])
@pytest.mark.parametrize("above", [0.0, 0.1, 2.0, 30.0])
def test_the_race_has_the_law_from_any_scale(
    above: float, late: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the certified scale, and from bounds that give way to it early and late."""
    monkeypatch.setattr(permute_and_flip, "LATE", late)
    logs = np.array([0.0, -0.05, -0.7, -1.5])
    weights = IntegerWeights.from_logs(logs)
    log_total = float(np.logaddexp.reduce(logs))
    source = random.Random(11)

    def draw() -> int:
        held = FirstHeads(Known(above))
        while True:
            held.wait(log_total, source)
            number = weights.draw(source)
            if held.takes(partial(float, logs[number]), source):
                return number

    frequencies_agree(draw, range(4), flip_law(logs), 20_000)


@pytest.mark.parametrize("logs", HARD)
def test_frequencies_of_listed_weights(logs: list[float]) -> None:
    law = FlippedWeights(IntegerWeights.from_logs(np.array(logs)))
    source = random.Random(2)
    outcomes = range(len(logs))
    frequencies_agree(lambda: law.draw(source), outcomes, flip_law(np.array(logs)), 6_000)


@pytest.mark.parametrize("convex", [False, True])
def test_listed_supports_have_the_law(convex: bool) -> None:
    for seed in range(8):
        judged = hostile(seed, convex=convex, kind=PermuteAndFlip, max_p=5)
        listed = PermuteAndFlip(judged.instance, judged.mechanism.epsilon, **judged.options)
        assert listed.listed
        assert listed._rate == judged.mechanism._rate
        found = [listed.log_probability(support) for support in judged.supports]
        np.testing.assert_allclose(found, judged.flip_law, atol=1e-9)
        point = listed.estimate(judged.supports[0])
        assert point.low == point.high == found[0]


@pytest.mark.parametrize("path", ["proven", "bound", "late", "loose"])
@pytest.mark.parametrize("epsilon", [4.0, 40.0])
def test_frequencies_by_cells(path: str, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the certified scale, with a bound on it, and with one that gives way in the race."""
    instance = correlated(6, 3)
    judged = flipping(instance, epsilon, steps_before=0)
    source, held, proofs = random.Random(20261123), list[Judged](), [0]
    monkeypatch.setattr(permute_and_flip, "LATE", {"late": 0.05, "loose": 0.05}.get(path, 3.0))
    bound, prove = LargestWeight.log_largest, LargestWeight.prove
    if path == "loose":
        looser = property(lambda scale: bound.fget(scale) + (0.0 if scale.proven else 1.5))
        monkeypatch.setattr(LargestWeight, "log_largest", looser)

    def counted(scale: LargestWeight) -> None:
        proofs[0] += not scale.proven
        prove(scale)

    monkeypatch.setattr(LargestWeight, "prove", counted)

    def draw() -> tuple[int, ...]:
        # New cells all the time: most draws come from scales that are not proven yet.
        if not held or held[0].draws.accepted >= 3:
            held[:] = [flipping(instance, epsilon, steps_before=0)]
            if path == "proven":
                scale_of(held[0]).prove()
        return held[0].draws.draw(source)

    with np.errstate(all="ignore"):
        frequencies_agree(draw, judged.supports, judged.flip_law, 360)
    assert proofs[0] > (0 if path == "late" else 40) or path == "bound"


@pytest.mark.parametrize("loss", ["squared", *LOSSES])
def test_frequencies_of_one_object(loss: str) -> None:
    instance = correlated(5, 2) if loss == "squared" else random_loss_instance(31, loss, max_p=5)
    judged, source = flipping(instance, 5.0, sizes=(1, 2)), random.Random(3)
    most = 2000 if loss == "squared" else 120
    draw = partial(judged.mechanism.sample, source)
    frequencies_agree(draw, judged.supports, judged.flip_law, most)


def test_no_probability_is_stated_by_cells() -> None:
    with pytest.raises(NotCertified, match="list more"):
        flipping(correlated(6, 3), 4.0).mechanism.estimate((0, 1, 2))


def test_it_is_never_worse_than_the_exponential_mechanism() -> None:
    """The expected loss at the same ε, and the probability of the best support."""
    for seed in range(12):
        instance = random_instance(seed, max_p=6)
        values = np.array(list(combinations(range(instance.n_features), instance.support_size)))
        values = instance.objectives(values)
        for logs in (-values / instance.sensitivity * scale for scale in (0.1, 1.0, 10.0)):
            flip, plain = np.exp(flip_law(logs)), np.exp(logs - np.logaddexp.reduce(logs))
            assert flip @ values <= plain @ values * (1.0 + 1e-12)
            assert flip[values.argmin()] >= plain[values.argmin()] - 1e-12


def test_it_pays_more_for_rounding_than_the_exponential_mechanism() -> None:
    """Two and a half times as much (docs/mathematics/permute-and-flip.md, (4))."""
    instance = correlated(5, 2)
    flip, plain = PermuteAndFlip(instance, 1.0)._rate, ExponentialMechanism(instance, 1.0)._rate
    w, eta, error = instance.oscillation, plain.rounding, plain.error
    assert (flip.rounding, flip.error) == (eta, error)
    logs = with_another_row(lambda rows: 4.0 * (eta + 8.0 * EPS * (rows - instance.n)), instance.n)
    values = with_another_row(
        lambda rows: 4.0 * instance.value_error_of(rows) * rows / (instance.n * w), instance.n
    )
    for mechanism, times in ((plain, 1.0), (flip, 2.5)):
        rate = (1.0 - times * logs) / (2.0 * w * (1.0 + times * values))
        assert mechanism.rate == pytest.approx(rate, rel=1e-15)
    # At this ε half of it pays for the rounding of the one, and less for that of the other.
    least = 36.0 * ExponentialMechanism(instance, 1e-7)._rate.rounding
    assert ExponentialMechanism(instance, least).epsilon == least
    with pytest.raises(InvalidInput, match="too small for exact draws"):
        PermuteAndFlip(instance, least)


def test_a_value_alone_is_always_the_same_number() -> None:
    """The race relies on it: a weight that is near the largest must not change by a bit."""
    for loss in ("squared", "hinge", "huber(0.3)"):
        judged = flipping(correlated(7, 3, loss=loss), 20.0, steps_before=0)
        draws = judged.draws
        supports = [np.array(support) for support in judged.supports[::4]]
        before = [draws._log_weight(support) for support in supports]
        for seed in range(3 if of_classes(loss) else 20):
            judged.mechanism.sample(seed)
        assert [draws._log_weight(support) for support in supports] == before


def refined_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "refine", lambda _: True)
    monkeypatch.setattr(Partition, "refine_cell", lambda *_: True)


def test_a_time_limit_in_a_proof_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cell can be refined, so the largest weight is never proven, and u comes near 1."""
    judged = flipping(correlated(12, 5), 2e4, steps_before=0)
    mechanism = judged.mechanism
    refined_never(monkeypatch)
    stop = rejection_sampler.TimeUp
    proving = LargestWeight.prove

    def prove(scale: LargestWeight) -> None:
        monkeypatch.setattr(Partition, "refine_cell", expired)
        proving(scale)

    def expired(*_: object) -> bool:
        raise stop

    monkeypatch.setattr(LargestWeight, "prove", prove)
    monkeypatch.setattr(judged.draws, "_time_limit", 60.0)
    ledger = Ledger(1e6)
    with pytest.raises(NotCertified, match=r"nothing is released.*smaller epsilon"):
        mechanism.release(ledger)
    monkeypatch.undo()
    assert len(mechanism.sample(1)) == 5
