"""Numbers of supports, and sizes of classes of them, exactly."""

from __future__ import annotations

import random
from itertools import combinations
from math import comb, log

import pytest

from mipselect.mechanisms.scores.canonical import HeadTailClasses, TailClasses
from mipselect.mechanisms.supports.base import rank, unrank

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


@pytest.mark.parametrize(("p", "s"), [(1, 1), (5, 1), (5, 5), (7, 3), (9, 4)])
def test_ranks_follow_lexicographic_order(p: int, s: int) -> None:
    for number, support in enumerate(combinations(range(p), s)):
        assert rank(support, p) == number
        assert unrank(number, p, s) == support


@pytest.mark.parametrize(("p", "s"), [(10_000, 5), (300, 150)])
def test_large_numbers_come_back(p: int, s: int) -> None:
    source = random.Random(0)
    for number in (0, comb(p, s) - 1, *(source.randrange(comb(p, s)) for _ in range(20))):
        support = unrank(number, p, s)
        assert len(set(support)) == s
        assert rank(support, p) == number
