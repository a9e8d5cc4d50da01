from __future__ import annotations

import random
from itertools import combinations
from math import comb

import pytest

from mipselect.mechanisms.supports.base import rank, unrank


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
