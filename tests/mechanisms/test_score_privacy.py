"""Every score mechanism at its stated ε, on neighbours that a search has made as bad as it can.

The broken ones show that the same audits can fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mipselect.mechanisms import (
    CanonicalLipschitz,
    JointExponential,
    NoisyMax,
    RandomStopping,
)
from mipselect.mechanisms.noise.noise import NOISES
from mipselect.mechanisms.scores.canonical import HeadTailClasses
from mipselect.privacy.audit import ScoreVectors, largest_loss, law_of, worst_pair
from tests.support.enumeration import MECHANISMS, UNEQUAL, rankings, subsets

ROUNDING = 1.0 + 1e-8


MOST = np.full(40, 0.0), np.full(40, 1.0)
MOST[0][:3], MOST[1][:3] = [2.0, 0.0, 0.0], [1.0, 1.0, -1.0]
"""Neighbours where the pair {0, 2} gets worse by as much as possible, and most pairs better."""


def searched(law: Callable[[Any], Any], epsilon: float, widths: Any = 1.0, **options: Any) -> float:
    space = ScoreVectors(4, -6.0 / epsilon, 6.0 / epsilon, widths, **options)
    return worst_pair(law, space, starts=1, rounds=2, seed=5).epsilon


LEAST = {"max": 0.8, "canonical": 0.3, "joint": 0.4, "gem": 0.4, "response": 0.99, "stopping": 0.25}
"""Shares of ε that a search finds at least, by the first word of a name."""
SEARCHED = {f"max-{noise}" for noise in NOISES} | {
    *("canonical-gumbel", "canonical-0", "canonical-1", "joint", "gem", "gem, optimistic"),
    *("gem of widths", "response", "stopping", "stopping of widths"),
}


@pytest.mark.parametrize("epsilon", [0.4, 3.0])
@pytest.mark.parametrize("name", sorted(SEARCHED))
def test_no_search_finds_more_than_is_stated(name: str, epsilon: float) -> None:
    build = (MECHANISMS | UNEQUAL)[name]
    widths = np.resize([0.0, 1.0, 2.0], 4) if name in UNEQUAL else 1.0
    law = law_of(lambda q: build(q, epsilon), build.of(4))
    least = LEAST[re.split("[-, ]", name)[0]]
    assert least * epsilon < searched(law, epsilon, widths) <= epsilon * ROUNDING


def test_random_stopping_needs_the_scale_of_three() -> None:
    """At 2Δ/ε, which is RandomStopping at 3ε/2, this pair has a loss above ε."""
    widths = np.array([0.45, 1.0, 1.0, 1.0, 1.0])
    pair = (np.array([5 / 3, 0, 0, 0, 0]), np.array([5 / 3 - 0.45, 1, 1, 1, 1]))
    law = law_of(lambda q: RandomStopping(q, widths, 1.5, gamma=1e-3), range(5))
    assert largest_loss(law, [pair]).epsilon > 1.2
    right = law_of(lambda q: RandomStopping(q, widths, 1.0, gamma=1e-3), range(5))
    assert largest_loss(right, [pair]).epsilon <= 1.0


def test_half_the_sensitivity_is_enough_for_counts() -> None:
    counts = ScoreVectors(4, 0.0, 8.0, monotone=True)
    for build, outcomes in (
        (lambda q: CanonicalLipschitz(q, 2, 2.0, sensitivity=0.5, noise="gumbel"), subsets(4, 2)),
        (lambda q: JointExponential(q, 2, 2.0, sensitivity=0.5), rankings(4, 2)),
        (lambda q: NoisyMax(q, 2.0, sensitivity=0.5), range(4)),
    ):
        loss = worst_pair(law_of(build, outcomes), counts, starts=2, rounds=3)
        assert 1.0 < loss.epsilon <= 2.0 * ROUNDING


PAIR_MECHANISMS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "canonical": (lambda q, **options: CanonicalLipschitz(q, 2, 1.0, **options), subsets(40, 2)),
    "joint": (lambda q, **options: JointExponential(q, 2, 1.0, **options), rankings(40, 2)),
}


@pytest.mark.parametrize("name", PAIR_MECHANISMS)
def test_these_neighbours_use_nearly_all_of_epsilon_and_half_the_sensitivity_fails(
    name: str,
) -> None:
    mechanism, outcomes = PAIR_MECHANISMS[name]
    noise = {"noise": "gumbel"} if name == "canonical" else {}
    right = law_of(lambda q: mechanism(q, **noise), outcomes)
    assert 0.9 < largest_loss(right, [MOST]).epsilon <= ROUNDING
    halved = law_of(lambda q: mechanism(q, sensitivity=0.5, **noise), outcomes)
    assert largest_loss(halved, [MOST]).epsilon > 1.7


@pytest.mark.parametrize("noise", NOISES)
def test_half_the_sensitivity_fails_for_one_item(noise: str) -> None:
    law = law_of(lambda q: NoisyMax(q, 2.0, sensitivity=0.5, noise=noise), range(4))
    assert searched(law, 1.0) > 3.0


def test_a_canonical_mechanism_with_the_wrong_class_sizes_fails() -> None:
    """With the sizes of the DP-SIS appendix a neighbour in another class costs extra."""

    def law(q: np.ndarray) -> np.ndarray:
        right = CanonicalLipschitz(q, 3, 0.2, noise="gumbel")
        classes = right.classes
        assert isinstance(classes, HeadTailClasses)
        logs, order = np.zeros(20), np.argsort(-q, kind="stable").tolist()
        for place, subset in enumerate(subsets(6, 3)):
            index = classes.index(tuple(sorted(order.index(j) + 1 for j in subset)))
            h, t = classes.head_and_tail(index)
            drawn_size = 1.0 if index == 0 else (t - h - 1) / max(t - 3, 1)
            logs[place] = right.log_probability(subset) + np.log(drawn_size)
        return logs - np.logaddexp.reduce(logs)

    space = ScoreVectors(6, -2.0, 2.0)
    assert worst_pair(law, space, starts=2, rounds=1).epsilon > 0.5
    right = law_of(lambda q: CanonicalLipschitz(q, 3, 0.2, noise="gumbel"), subsets(6, 3))
    assert worst_pair(right, space, starts=2, rounds=1).epsilon <= 0.2 * ROUNDING
