"""Exact draws by cells: their law as drawn, their intervals, and how they end."""

from __future__ import annotations

import itertools
import math
import random
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mipselect import ExponentialMechanism, Instance, Ledger
from mipselect.errors import BoundViolated, InvalidInput, NotCertified
from mipselect.mechanisms.supports import exact as module
from mipselect.mechanisms.supports import rejection_sampler
from mipselect.search.soft.partition import Partition
from mipselect.search.soft.spaces import LeastSquaresSpace
from tests.support.designs import of_classes
from tests.support.enumeration import frequencies_agree
from tests.support.soft_draws import Judged, by_cells, hostile


def correlated(p: int, s: int, *, seed: int = 1, n: int = 40, loss: str = "squared") -> Instance:
    """Columns that replace each other, so that bounds are loose and tries are rejected."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 2.0 * rng.standard_normal((n, 1))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(n)
    return Instance(
        X,
        np.sign(y) if of_classes(loss) else y,
        support_size=s,
        x_bound=4.0,
        y_bound=3.0,
        coef_bound=0.5,
        ridge=0.1,
        loss=loss,
    )


@pytest.mark.parametrize("convex", [False, True])
@pytest.mark.parametrize("block", range(3))
def test_one_try_has_exactly_the_law(block: int, convex: bool) -> None:
    """Every path that the random source can lead to, before and after refinement."""
    for seed in range(50 * block, 50 * block + (3 if convex else 6)):
        judged = hostile(seed, convex=convex, steps_before=0, max_p=6, max_s=3)
        judged.check_sampler()
        for _ in range(seed % 7):
            judged.partition.refine()
        judged.check_sampler()


def test_one_try_has_exactly_the_law_at_small_acceptance() -> None:
    """At ε = 3,000 with a bound of every single step: rejected nearly always, and still exact."""
    judged = Judged(correlated(6, 3), 3000.0, steps_before=0)
    judged.check_sampler()
    assert judged.try_once()[None] > 0.9


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_frequencies_while_rejections_refine(loss: str) -> None:
    """New objects all the time: most draws come from partitions in the midst of refinement."""
    instance = correlated(6, 3, loss=loss)
    source = random.Random(20261121)
    judged = Judged(instance, 40.0, steps_before=0)
    most = 60 if of_classes(loss) else 1000
    held: list[Any] = []

    def draw() -> tuple[int, ...]:
        if len(held) == 0 or held[0].accepted >= 4:
            held[:] = [Judged(instance, 40.0, steps_before=0).draws]
        return held[0].draw(source)

    logs = np.array([judged.log_law[support] for support in judged.supports])
    frequencies_agree(draw, judged.supports, logs, most)
    assert held[0].tries > held[0].accepted


@pytest.mark.parametrize("convex", [False, True])
def test_listed_and_drawn_by_cells_are_the_same_mechanism(convex: bool) -> None:
    for seed in range(5):
        judged = hostile(seed, convex=convex, max_p=6)
        listed = ExponentialMechanism(judged.instance, judged.mechanism.epsilon, **judged.options)
        assert listed.listed
        assert listed._rate == judged.mechanism._rate
        for support in judged.supports:
            exact = listed.log_probability(support)
            assert exact == pytest.approx(judged.log_law[support], abs=1e-9)
            found = judged.mechanism.estimate(support)
            assert found.low <= exact <= found.high
            point = listed.estimate(support)
            assert point.low == point.high == exact
        for j, chance in enumerate(listed.inclusion_probabilities()):
            assert chance == pytest.approx(judged.share(lambda s, j=j: j in s), abs=1e-12)


@pytest.mark.parametrize("loss", ["squared", "hinge", "quantile(0.5)"])
def test_intervals_hold_and_narrow_as_cells_are_refined(loss: str) -> None:
    judged = Judged(correlated(6, 3, loss=loss, n=15), 8.0, steps_before=0)
    wide = judged.mechanism.estimate(judged.supports[0])
    for _ in range(200):
        judged.partition.refine()
    judged.check_cells()
    judged.check_intervals()
    narrow = judged.mechanism.estimate(judged.supports[0])
    assert narrow.high - narrow.low < 0.5 * (wide.high - wide.low)


@pytest.mark.parametrize("seed", range(4))
def test_a_bound_that_is_too_tight_is_caught(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value a little lower than its bound says: an error that names the cell, and no draw."""
    bounds = LeastSquaresSpace.bounds

    def wrong(space: LeastSquaresSpace, node: Any) -> Any:
        found = bounds(space, node)
        floors = [replace(bound, constant=bound.constant - 1e-3) for bound in found.floors]
        return replace(found, floors=floors, expanded=lambda _: None)

    instance = correlated(6, 3, seed=seed)
    monkeypatch.setattr(LeastSquaresSpace, "bounds", wrong)
    judged = Judged(instance, 50.0)
    source = random.Random(seed)
    with pytest.raises(BoundViolated, match=r"bound of its cell \d+ by a factor exp\("):
        _ = [judged.mechanism.sample(source) for _ in range(500)]


def test_a_violation_below_what_is_allowed_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = Judged(correlated(5, 2), 1.0)
    proposal = judged.draws._propose(random.Random(0))
    value = float(judged.draws._problem.values(proposal.support[None])[0])
    log = judged.draws._target.log_weight(proposal.support, value)
    rounding = judged.mechanism._rate.rounding
    above = replace(proposal, log_bound=log - 0.9 * rounding)
    assert judged.draws._log_acceptances([above]) == [0.0]
    with pytest.raises(BoundViolated, match="cell"):
        judged.draws._log_acceptances([replace(proposal, log_bound=log - 1.1 * rounding)])


def test_a_time_limit_in_a_draw_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how many tries were accepted; the draw before and the draw after are as ever."""
    judged = Judged(correlated(12, 5), 2e4, steps_before=0)
    mechanism = judged.mechanism
    monkeypatch.setattr(Partition, "refine", lambda _: True)
    monkeypatch.setattr(Partition, "refine_cell", lambda *_: True)
    monkeypatch.setattr(judged.draws, "_time_limit", 0.05)
    ledger = Ledger(1e6)
    with pytest.raises(NotCertified, match=r"0 of \d+ tries were accepted.*") as refused:
        mechanism.release(ledger)
    assert "nothing is released" in str(refused.value)
    monkeypatch.undo()
    assert len(mechanism.sample(1)) == 5


@pytest.mark.parametrize(
    ("made", "words"),
    [(by_cells, "No try was made"), (lambda given: given, "0 of 792 supports were evaluated")],
)
def test_a_time_limit_in_the_preparation_comes_before_any_charge(made: Any, words: str) -> None:
    mechanism = made(ExponentialMechanism(correlated(12, 5), 100.0, time_limit=1e-9))
    ledger = Ledger(1e6)
    with pytest.raises(NotCertified, match=words):
        mechanism.release(ledger)
    assert ledger.entries == ()


def test_threads_may_draw_from_one_object() -> None:
    judged = Judged(correlated(7, 3), 60.0, steps_before=0)
    found: list[tuple[int, ...]] = []
    failed: list[BaseException] = []

    def work(seed: int) -> None:
        source = random.Random(seed)
        try:
            for k in range(25):
                found.append(judged.mechanism.sample(source))
                if k % 5 == 0:
                    judged.mechanism.estimate(found[-1])
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(found) == 100 == judged.draws.accepted
    assert set(found) <= set(judged.supports)
    judged.check_cells()
    judged.check_intervals()


def test_an_interrupt_in_a_draw_leaves_everything_usable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = random.Random(2)
    for stop in range(6):
        judged = Judged(correlated(8, 3), 300.0, steps_before=0)
        with monkeypatch.context() as patch:
            left = [stop]

            def tick(left: list[int] = left) -> None:
                left[0] -= 1
                if left[0] < 0:
                    raise KeyboardInterrupt

            patch.setattr(judged.partition, "_tick", tick)
            patch.setattr(rejection_sampler, "coin", lambda *_: False)
            with pytest.raises(KeyboardInterrupt):
                judged.mechanism.sample(source)
        judged.check_cells()
        assert judged.mechanism.sample(source) in judged.supports


@pytest.mark.parametrize("epsilon", [1e-300, 1e-13, 1e-11])
def test_an_epsilon_below_the_digits_of_a_draw_is_refused(epsilon: float) -> None:
    instance = correlated(5, 2)
    with pytest.raises(InvalidInput, match="too small for exact draws") as refused:
        ExponentialMechanism(instance, epsilon)
    # The number of rows is private under add-remove.
    assert str(instance.n) not in str(refused.value)


def test_an_epsilon_at_which_no_try_would_be_accepted_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(ExponentialMechanism(correlated(5, 2), 1e13).sample(0)) == 2
    monkeypatch.setattr(module, "MAX_LISTED", 0)
    with pytest.raises(InvalidInput, match="too large for exact draws in double precision") as no:
        ExponentialMechanism(correlated(5, 2), 1e13)
    assert str(correlated(5, 2).n) not in str(no.value)


def test_bounds_are_raised_by_what_rounding_may_hide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where R is the same everywhere, nothing else rejects a try."""
    right = module.exact_rate

    def rough(*of: Any) -> Any:
        rate = right(*of)
        return replace(rate, rounding=rate.rounding + 0.7)

    monkeypatch.setattr(module, "exact_rate", rough)
    bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
    instance = Instance(np.zeros((2, 6)), np.zeros(2), support_size=2, **bounds)
    mechanism = by_cells(ExponentialMechanism(instance, 1.0))
    source = random.Random(0)
    for _ in range(400):
        mechanism.sample(source)
    assert mechanism.acceptance == pytest.approx(math.exp(-0.7), abs=0.1)


def test_rounding_pays_for_the_prior_too() -> None:
    """A weight is a sum of the prior's log and the data's: digits of the larger are all it has."""
    instance = correlated(8, 3)
    plain = ExponentialMechanism(instance, 1.0, sizes=(1, 2, 3))._rate
    steep = ExponentialMechanism(instance, 1.0, sizes=(1, 2, 3), complexity=1e9)._rate
    assert steep.rounding > plain.rounding + 1e9 * 2**-52
    assert steep.rate < plain.rate
    with pytest.raises(InvalidInput, match="this prior"):
        ExponentialMechanism(instance, 1.0, sizes=(1, 2, 3), complexity=1e15)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("sizes", [[], [0], [6], [True], [1.0], ["1"], "12", 3, [[1]], [None], [-1], [2**70]]),
        ("prior_weights", [[1.0] * 4, [1.0] * 4 + [0.0], [np.nan] * 5, [np.inf] * 5, ["1"] * 5]),
    ],
)
def test_what_is_no_prior_is_refused(name: str, wrong: list[Any]) -> None:
    for value in (*wrong, [-1.0] * 5, 1.0):
        with pytest.raises(InvalidInput, match=name):
            ExponentialMechanism(correlated(5, 2), 1.0, **{name: value})


def test_the_prior_is_the_stated_one() -> None:
    """On data that say nothing the law is the prior: p^(-a|S|) / C(p, |S|), and its weights."""
    X, y = np.zeros((3, 6)), np.ones(3)
    instance = Instance(X, y, support_size=2, x_bound=1.0, y_bound=1.0, coef_bound=1.0, ridge=1.0)
    for a in (0.0, 1.0, 2.5):
        by_size = np.array([6.0 ** (-a * size) for size in (1, 2, 3)])
        for judge in (True, False):
            options: Any = {"sizes": (3, 1, 2, 2), "complexity": a}
            mechanism = (
                Judged(instance, 1.0, **options).mechanism
                if judge
                else ExponentialMechanism(instance, 1.0, **options)
            )
            for size, expected in zip((1, 2, 3), by_size / by_size.sum(), strict=True):
                one = mechanism.estimate(range(size)).low
                chance = math.exp(one) * math.comb(6, size)
                assert chance == pytest.approx(expected, rel=1e-9)
    omega = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    listed = ExponentialMechanism(instance, 1.0, prior_weights=omega)
    total = sum(a * b for a, b in itertools.combinations(omega, 2))
    assert math.exp(listed.log_probability((1, 4))) == pytest.approx(10.0 / total)


def test_a_violated_bound_is_not_hidden_by_an_earlier_acceptance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a round of many proposals all bounds are looked at before any is accepted."""
    judged = Judged(correlated(6, 2), 5.0)
    draws = judged.draws
    propose = draws._propose
    made: list[int] = []

    def one_wrong(source: random.Random) -> Any:
        proposal = propose(source)
        made.append(proposal.cell)
        return replace(proposal, log_bound=proposal.log_bound - 50.0 * (len(made) == 4))

    monkeypatch.setattr(draws, "_propose", one_wrong)
    monkeypatch.setattr(rejection_sampler, "coin", lambda *_: len(made) > 1)
    with pytest.raises(BoundViolated):
        judged.mechanism.sample(0)
