"""Where most values of a number lie: its law on hostile neighbours, and the models it leads to."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from mipselect.regression import typical_range
from mipselect.regression.typical_range import (
    GAINS,
    HALVINGS,
    HIGHS,
    LEVELS,
    LOWS,
    TypicalRange,
    ends,
    within,
)

RELATIONS = ["add-remove", "replace-one"]
NOWHERE = math.nan
HOSTILE = [-1.0, 1.0, 0.0, 0.5, 2.0**-7, 0.3, -0.999, NOWHERE]


def changed(relation: str, base: list[float]) -> Iterator[tuple[list[float], list[float]]]:
    for one in HOSTILE:
        if relation == "add-remove":
            yield base, [*base, one]
        else:
            yield from (([*base, one], [*base, other]) for other in HOSTILE if other is not one)


BASES = {
    "nobody": [],
    "all alike": [0.3] * 40,
    "at both ends": [-1.0] * 20 + [1.0] * 21,
    "spread": np.linspace(-0.9, 0.2, 30).tolist(),
    "missing": [NOWHERE] * 30 + [0.25] * 5,
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_scores_move_within_their_spread(relation: str, base: str) -> None:
    """That is what ε is by: the largest change of a score less the smallest, over all intervals."""
    widest = 0
    for one, other in changed(relation, BASES[base]):
        laws = [TypicalRange(np.array(values), 1.0, relation) for values in (one, other)]
        moved = laws[1].scores - laws[0].scores
        widest = max(widest, int(np.ptp(moved)))
    assert widest <= laws[0].spread
    assert widest >= (0.99 if relation == "replace-one" else 0.89) * laws[0].spread


@pytest.mark.parametrize("relation", RELATIONS)
def test_exact_probabilities_keep_epsilon(relation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all intervals of the law with two halvings, whose closed form is quick."""
    few = LEVELS <= 2
    for name in ("LEVELS", "LOWS", "HIGHS"):
        monkeypatch.setattr(typical_range, name, getattr(typical_range, name)[few])
    worst = 0.0
    for epsilon, base in ((1.0, "all alike"), (0.2, "spread"), (3.0, "nobody"), (1.0, "missing")):
        for one, other in changed(relation, BASES[base]):
            logs = [logs_of(TypicalRange(np.array(t), epsilon, relation)) for t in (one, other)]
            loss = float(np.abs(logs[0] - logs[1]).max())
            assert loss <= epsilon * (1.0 + 1e-9)
            worst = max(worst, loss / epsilon)
    assert worst > 0.6


def test_half_of_the_spread_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    few = LEVELS <= 2
    for name in ("LEVELS", "LOWS", "HIGHS"):
        monkeypatch.setattr(typical_range, name, getattr(typical_range, name)[few])
    monkeypatch.setattr(TypicalRange, "spread", 100)
    pairs = changed("replace-one", BASES["all alike"])
    losses = [
        np.abs(logs_of(TypicalRange(np.array(a), 1.0)) - logs_of(TypicalRange(np.array(b), 1.0)))
        for a, b in pairs
    ]
    assert max(float(loss.max()) for loss in losses) > 1.0


def logs_of(law: TypicalRange) -> np.ndarray:
    return np.array([law.log_probability(k) for k in range(len(law.scores))])


def test_draws_have_their_probabilities() -> None:
    law = TypicalRange(np.array([0.3] * 30 + [-0.6] * 10), 0.4)
    source, count = random.Random(1), 3000
    drawn = np.bincount([law.sample(source) for _ in range(count)], minlength=len(LEVELS))
    for index in np.argsort(-drawn)[:12]:
        share = math.exp(law.log_probability(int(index)))
        assert abs(drawn[index] / count - share) < 5.0 * math.sqrt(share / count)


def test_the_weight_of_halvings_moves_by_one() -> None:
    for epsilon in (0.003, 0.04, 1.0, 700.0):
        weights = [TypicalRange(np.zeros(n), epsilon).weight for n in range(2000)]
        assert weights[0] == 0
        assert set(np.diff(weights)) <= {0, 1}
        assert TypicalRange(np.zeros(10**6), epsilon).weight == math.isqrt(
            min(10**12, int(80 * 10**6 / epsilon))
        )


def test_many_values_are_cut_off_less_than_few() -> None:
    rng = np.random.default_rng(0)
    tail = np.where(rng.random(200_000) < 0.07, 0.9, -0.5)
    assert TypicalRange(tail[:500], 0.3).draw(random.Random(0))[1] < 0.9
    low, high = TypicalRange(tail, 0.3).draw(random.Random(0))
    assert low < -0.5 < 0.9 < high


def test_intervals_cover_the_range_at_every_length() -> None:
    assert (LOWS[0], HIGHS[0], LEVELS[0]) == (-1.0, 1.0, 0)
    assert LOWS.min() == -1.0
    assert HIGHS.max() == 1.0
    for level in range(1, len(HALVINGS) + 1):
        low, high = LOWS[level == LEVELS], HIGHS[level == LEVELS]
        np.testing.assert_array_equal(high - low, 2.0 ** (1 - level))
        np.testing.assert_array_equal(low[2:], high[:-2])
        assert GAINS[level] - GAINS[level - 1] == HALVINGS[level - 1]


@pytest.mark.parametrize(
    ("values", "inside"),
    [
        (np.full(4000, 0.25), (0.2, 0.3)),
        (np.full(4000, -1.0), (-1.0, -0.97)),
        (np.random.default_rng(0).normal(-0.4, 0.02, 4000), (-0.6, -0.2)),
        (np.append(np.full(3000, 0.5), np.full(5000, NOWHERE)), (0.45, 0.55)),
    ],
)
def test_most_values_lie_inside(values: np.ndarray, inside: tuple[float, float]) -> None:
    low, high = TypicalRange(values, 0.3).draw(random.Random(0))
    there = values[~np.isnan(values)]
    assert inside[0] <= low < high <= inside[1]
    assert ((low <= there) & (there <= high)).mean() > 0.9
    # What many rows share lies inside, not on an end, but where the range itself ends.
    assert low < np.median(there) < high or np.median(there) == -1.0


def test_without_data_every_length_is_as_likely() -> None:
    source = random.Random(2)
    law = TypicalRange(np.array([]), 1.0)
    levels = np.bincount([LEVELS[law.sample(source)] for _ in range(1000)], minlength=8)
    assert levels.min() > 60


def test_where_rows_are_not_public_few_of_them_keep_the_range() -> None:
    """n ε = 8: a draw that cuts off half of the values is rare, as it is not under replace-one."""
    values = np.linspace(-0.99, 0.99, 400)
    cut = {}
    for relation in RELATIONS:
        law = TypicalRange(values, 8.0 / 400, relation)
        halves = np.array([np.mean((values >= low) & (values <= high)) < 0.5
                           for low, high in map(ends, range(len(LEVELS)))])  # fmt: skip
        draws = [law.sample(random.Random(seed)) for seed in range(100)]
        cut[relation] = float(halves[draws].mean())
    assert cut["add-remove"] < 0.1
    assert cut["replace-one"] > 0.3


def test_wide_values_keep_their_range() -> None:
    values = np.random.default_rng(0).uniform(-1.0, 1.0, 4000)
    assert TypicalRange(values, 1.0).draw(random.Random(0)) == (-1.0, 1.0)


def test_ends_have_a_margin_within_the_range() -> None:
    for index in range(len(LEVELS)):
        low, high = ends(index)
        assert low == max(-1.0, LOWS[index] - 0.125 * (HIGHS[index] - LOWS[index]))
        assert high <= 1.0
    np.testing.assert_array_equal(within(np.array([-1.0, 0.25, 0.5, 3.0]), 0.0, 0.5),
                                  [-1.0, 0.0, 1.0, 1.0])  # fmt: skip


def test_a_relation_or_epsilon_that_is_none_is_refused() -> None:
    law = TypicalRange(np.zeros(3), 1.0)
    for wrong in ({"epsilon": 0.0}, {"epsilon": math.nan}, {"relation": "swap"}):
        with pytest.raises(ValueError, match=r"epsilon|relation"):
            replace(law, **wrong)
