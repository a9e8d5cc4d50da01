from __future__ import annotations

import random
from collections import Counter
from math import comb, log

import numpy as np
import pytest
from scipy.stats import chisquare

from mipselect.mechanisms.scores.canonical import HeadTailClasses, TailClasses
from tests.support.enumeration import canonical_loss, subsets

SHAPES = [(1, 1), (2, 1), (2, 2), (6, 1), (6, 3), (7, 6), (7, 7), (10, 4), (40, 13), (300, 100)]
KINDS = [HeadTailClasses, TailClasses]
Classes = HeadTailClasses | TailClasses


def size(classes: Classes, index: int) -> int:
    """Count the subsets of a class, exactly."""
    if isinstance(classes, TailClasses):
        return comb(classes.k + index - 1, classes.k - 1)
    h, t = classes.head_and_tail(index)
    return 1 if index == 0 else comb(t - h - 2, classes.k - h - 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_sizes_sum_to_all_subsets_exactly(kind: type[Classes], d: int, k: int) -> None:
    classes = kind(d, k)
    sizes = [size(classes, index) for index in range(classes.log_sizes.size)]
    assert sum(sizes) == comb(d, k)
    logs = [log(size) for size in sizes]
    assert classes.log_sizes == pytest.approx(logs, rel=1e-13, abs=1e-13)


def test_log_sizes_of_a_large_problem() -> None:
    classes = HeadTailClasses(17_770, 100)
    for h, t in [(0, 17_770), (50, 9000), (99, 101), (0, 101), (98, 17_770)]:
        index = 1 + h * 17_670 + t - 101
        assert classes.head_and_tail(index) == (h, t)
        expected = log(comb(t - h - 2, 99 - h))
        assert classes.log_sizes[index] == pytest.approx(expected, rel=1e-13, abs=1e-13)
    tails = TailClasses(17_770, 100)
    assert tails.log_sizes[-1] == pytest.approx(log(comb(17_769, 99)), rel=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d", "k"), SHAPES[:-2])
def test_every_subset_is_in_the_class_of_its_head_tail_and_loss(
    kind: type[Classes], d: int, k: int
) -> None:
    gammas = (1.0,) if kind is TailClasses else (0.0, 0.3, 0.5, 1.0)
    classes = kind(d, k)
    ranked = -np.sort(-np.random.default_rng(d).normal(size=d))
    seen: Counter[int] = Counter()
    for subset in subsets(d, k):
        index = classes.index(tuple(j + 1 for j in subset))
        seen[index] += 1
        for gamma in gammas:
            best = canonical_loss(ranked, tuple(range(k)), gamma)
            loss = canonical_loss(ranked, subset, gamma) - best
            assert classes.utilities(ranked, gamma)[index] == pytest.approx(-loss, abs=1e-12)
    assert seen == {index: size(classes, index) for index in range(classes.log_sizes.size)}


@pytest.mark.parametrize("kind", KINDS)
def test_members_are_uniform(kind: type[Classes]) -> None:
    classes, source = kind(8, 4), random.Random(1)
    for index in range(classes.log_sizes.size):
        count = size(classes, index)
        drawn = Counter(classes.member(index, source) for _ in range(60 * count))
        assert len(drawn) == count
        assert all(classes.index(ranks) == index for ranks in drawn)
        assert all(list(ranks) == sorted(set(ranks)) for ranks in drawn)
        if count > 1:
            assert chisquare(list(drawn.values())).pvalue > 1e-5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("prefix", "last"), [(4, 4), (1, 5), (2, 6), (0, 8), (3, 7)])
def test_shares_of_events(kind: type[Classes], prefix: int, last: int) -> None:
    classes = kind(8, 4)
    inside: Counter[int] = Counter()
    for subset in subsets(8, 4):
        ranks = tuple(j + 1 for j in subset)
        if ranks == (1, 2, 3, 4) or (ranks[-1] <= last and set(range(1, prefix + 1)) <= set(ranks)):
            inside[classes.index(ranks)] += 1
    counts = [inside[index] / size(classes, index) for index in range(classes.log_sizes.size)]
    assert np.exp(classes.log_shares(prefix, last)) == pytest.approx(counts, abs=1e-13)
