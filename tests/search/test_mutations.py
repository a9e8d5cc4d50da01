"""Counts of nodes notice what is taken from the search: each change leaves the band of a count.

Beside these, `test_rounding_allowances.py` sets every allowance for rounding to zero.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from mipselect.search.strategies import Strategy
from mipselect.search.tuning import TUNING, Tuning
from tests.search.test_node_counts import within
from tests.support.counted_searches import RECORDED, count


def without(strategy: Strategy) -> Tuning:
    return replace(TUNING, without=frozenset({strategy}))


ONE_STEP = replace(TUNING, expanding=replace(TUNING.expanding, steps=1))

MUTATIONS = {
    "no expansion points": (without(Strategy.EXPANSION), ("always-columns", "levels")),
    "no bounds of all children at once": (
        without(Strategy.CHILDREN),
        ("correlated and weak", "pool"),
    ),
    "one step of expansion points": (ONE_STEP, ("moments", "levels")),
    "no clusters": (without(Strategy.CLUSTERS), ("weak", "levels")),
    "no removed families": (without(Strategy.REMOVED_FAMILIES), ("ten of eighty", "pool")),
}
"""What is taken, and a search whose nodes `test_node_counts.py` counts."""


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_count_leaves_its_band(mutation: str) -> None:
    tuning, search = MUTATIONS[mutation]
    recorded = RECORDED[search].nodes
    found = count(*search, tuning).nodes
    assert found > recorded
    assert not within(found, recorded)
