"""No change makes a search longer unseen: the work of a fixed set of searches.

`python -m tests.soak.node_counts` prints the table anew. Fewer are welcome, and are recorded.
"""

from __future__ import annotations

import pytest

from tests.support.counted_searches import PROBLEMS, RECORDED, count

BAND = 0.1


def within(number: int, recorded: int) -> bool:
    return abs(number - recorded) <= BAND * recorded


@pytest.mark.deep
@pytest.mark.parametrize(("problem", "search"), RECORDED)
def test_a_search_takes_as_much_work_as_before(problem: str, search: str) -> None:
    found, recorded = count(problem, search), RECORDED[problem, search]
    for measure in ("nodes", "values", "pairs", "steps"):
        assert within(getattr(found, measure), getattr(recorded, measure)), (found, recorded)


def test_every_problem_is_counted() -> None:
    # Among exact copies rounding decides which are looked at, and processors round differently.
    assert {problem for problem, _ in RECORDED} == set(PROBLEMS) - {"copies"}
