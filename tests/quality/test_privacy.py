"""Privacy loss of every draw on hostile neighbours, given whatever the draws before it gave."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from mipselect.errors import InvalidInput
from mipselect.mechanisms.scores.noisy_max import permute_and_flip_log_probability
from mipselect.privacy.guarantee import Guarantee
from mipselect.quality import draw
from mipselect.quality.draw import Predictions, quality_of, within

EPSILON = Fraction(7, 10)
Rows = list[tuple[float, float]]
"""A target and a linear predictor each."""


@dataclass
class Recorder:
    """Takes the place of the draws: notes what each would be made of, and answers as it is told."""

    answers: random.Random
    seen: list[tuple[str, list[int], int, Fraction]] = field(default_factory=list)

    def noisy(
        self, sums: Sequence[int], sensitivity: int, epsilon: Fraction, source: Any
    ) -> list[int]:
        self.seen.append(("noisy", list(sums), sensitivity, epsilon))
        return [self.answers.randrange(-(4 << 20), 12 << 20) for _ in sums]

    def chosen(self, distances: Sequence[int], moves: int, epsilon: Fraction, source: Any) -> int:
        self.seen.append(("chosen", list(distances), moves, epsilon))
        return self.answers.randrange(len(distances))


def law(distances: Sequence[int], moves: int, epsilon: Fraction) -> np.ndarray:
    """Log probabilities of permute-and-flip."""
    utilities = np.array([float(-epsilon * d / (2 * moves)) for d in distances])
    utilities -= utilities.max()
    return np.array([permute_and_flip_log_probability(utilities, k) for k in range(len(distances))])


def losses(here: Recorder, there: Recorder) -> Iterator[tuple[float, Fraction]]:
    """The largest privacy loss of each draw, and the ε that it may have."""
    for (kind, mine, moves, epsilon), (other, theirs, same, also) in zip(
        here.seen, there.seen, strict=True
    ):
        assert (kind, moves, epsilon) == (other, same, also)
        if kind == "noisy":
            moved = sum(abs(a - b) for a, b in zip(mine, theirs, strict=True))
            yield moved / moves * float(epsilon), epsilon
        else:
            difference = law(mine, moves, epsilon) - law(theirs, moves, epsilon)
            yield float(np.abs(difference).max()), epsilon


def audited(monkeypatch: pytest.MonkeyPatch, one: Any, other: Any, seed: int) -> float:
    """Largest privacy loss of all draws together, given the same answers for both tables."""
    recorders = []
    for drawn in (one, other):
        recorder = Recorder(random.Random(seed))
        monkeypatch.setattr(draw, "noisy", recorder.noisy)
        monkeypatch.setattr(draw, "chosen", recorder.chosen)
        drawn()
        recorders.append(recorder)
    found = list(losses(*recorders))
    assert sum(part for _, part in found) == EPSILON
    assert all(loss <= float(part) * (1.0 + 1e-9) for loss, part in found)
    return sum(loss for loss, _ in found)


def neighbours(rows: Rows, extremes: Rows, relation: str) -> Iterator[tuple[Rows, Rows]]:
    """A table and each that is as different as can be in one row."""
    if relation == "add-remove":
        yield from ((rows, [*rows, row]) for row in extremes)
    else:
        yield from (([*rows, a], [*rows, b]) for a, b in product(extremes, extremes) if a is not b)


def numbers_of(rows: Rows, relation: str, *, complete: bool, of_classes: bool = False) -> Any:
    table = np.array(rows, dtype=float).reshape(-1, 2)
    bound = None if of_classes else 1.0
    predictions = Predictions(table[:, 0], table[:, 1], of_classes, bound, complete)
    guarantee = Guarantee(float(EPSILON), relation=relation)
    return lambda: quality_of(predictions, guarantee, random.Random(0))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("size", [0, 1, 40])
def test_r2_keeps_epsilon(
    monkeypatch: pytest.MonkeyPatch, relation: str, complete: bool, size: int
) -> None:
    rng = np.random.default_rng(size)
    rows: Rows = list(map(tuple, rng.uniform(-1.0, 1.0, (size, 2))))
    nan, inf = float("nan"), float("inf")
    extremes = [(1.0, -1.0), (-1.0, -1.0), (1.0, 1e300), (0.0, 0.0), (nan, 0.0), (-1.0, -inf)]
    worst = 0.0
    for seed, (one, other) in enumerate(neighbours(rows, extremes, relation)):
        draws = (numbers_of(each, relation, complete=complete) for each in (one, other))
        worst = max(worst, audited(monkeypatch, *draws, seed))
    assert 0.3 * float(EPSILON) < worst <= float(EPSILON) * (1.0 + 1e-9)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("size", [0, 1, 40])
def test_measures_of_classes_keep_epsilon(
    monkeypatch: pytest.MonkeyPatch, relation: str, size: int
) -> None:
    rng = np.random.default_rng(size)
    decisions = rng.normal(size=size)
    rows: Rows = list(zip(rng.choice([-1.0, 1.0], size).tolist(), decisions.tolist(), strict=True))
    extremes = [(1.0, -9.0), (-1.0, 9.0), (1.0, 0.0), (0.0, 1.0), (-1.0, float("nan"))]
    worst = 0.0
    for seed, (one, other) in enumerate(neighbours(rows, extremes, relation)):
        draws = (
            numbers_of(each, relation, complete=True, of_classes=True) for each in (one, other)
        )
        worst = max(worst, audited(monkeypatch, *draws, seed))
    # The histogram alone reaches its part.
    assert 0.8 * float(EPSILON) <= worst * (1.0 + 1e-9) <= float(EPSILON) * (1.0 + 1e-8)


def test_numbers_without_a_range_have_no_quality() -> None:
    unbounded = Predictions(np.zeros(2), np.zeros(2), False, None, True)
    with pytest.raises(InvalidInput, match="needs a public range"):
        quality_of(unbounded, Guarantee(1.0), random.Random(0))


def test_the_quality_costs_no_more_than_the_fit() -> None:
    """On disjoint rows, in ε and in ρ: the larger of both is that of the fit."""
    plain = Guarantee(1.5, 1e-6, relation="add-remove")
    assert within(plain) == Guarantee(1.5, relation="add-remove")
    of_rho = within(Guarantee(1.5, 1e-6, rho=0.02))
    assert of_rho.epsilon == pytest.approx(0.2)
    assert (of_rho.concentrated or 1.0) <= 0.02
