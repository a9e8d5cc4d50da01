"""What strategies earned decides what is tried, size by size, and the same way every time."""

from __future__ import annotations

from dataclasses import replace

from mipselect.search.least_squares import branch_and_bound
from mipselect.search.scheduler import Scheduler
from mipselect.search.strategies import Strategy
from mipselect.search.tuning import TUNING, Trials
from tests.support.counted_searches import calls, count_of, spread

TRIALS = Trials(first=4, share=0.25, again=50)
TUNED = replace(
    TUNING,
    near=replace(TUNING.near, trials=TRIALS),
    expanding=replace(TUNING.expanding, trials=Trials(first=2, share=0.0, again=5)),
)


def test_what_does_not_pay_is_tried_rarely() -> None:
    scheduler, clusters = Scheduler(TUNED), Strategy.CLUSTERS
    for _ in range(TRIALS.first):
        assert scheduler.worth(clusters, 3)
        scheduler.note(clusters, 3, earned=0)
    asked = [scheduler.worth(clusters, 3) for _ in range(2 * TRIALS.again)]
    assert sum(asked) == 2
    assert scheduler.worth(clusters, 4)
    assert scheduler.worth(Strategy.DUAL_POINTS, 3)
    for _ in range(TRIALS.first):
        scheduler.note(clusters, 3, earned=1)
    assert scheduler.worth(clusters, 3)


def test_a_share_of_what_a_try_could_have_earned_is_asked_for() -> None:
    scheduler, clusters = Scheduler(TUNED), Strategy.CLUSTERS
    for _ in range(TRIALS.first):
        scheduler.note(clusters, 3, earned=24, spent=100)
    assert not scheduler.worth(clusters, 3)
    scheduler.note(clusters, 3, earned=29, spent=100)
    assert scheduler.worth(clusters, 3)


def test_all_variants_are_tried_before_the_best_is_kept_and_now_and_then_again() -> None:
    scheduler, expansion = Scheduler(TUNED), Strategy.EXPANSION
    assert scheduler.winner(expansion, 3) is None
    for variant in (1, 2):
        assert scheduler.variant(expansion, 3) is None
        scheduler.won(expansion, 3, variant)
    chosen = [scheduler.variant(expansion, 3) for _ in range(4)]
    assert chosen == [1, 1, 1, None]
    for _ in range(2):
        scheduler.won(expansion, 3, 2)
    assert scheduler.variant(expansion, 3) == 2
    assert scheduler.variant(expansion, 4) is None


def test_bounds_of_children_that_prune_none_are_given_up() -> None:
    """Where columns are hardly correlated they take longer than the pairs that they would spare."""
    instance = spread(1000, 1000, 5, 0.5, 5.0, 1.0)
    with calls(branch_and_bound, "best_expanded_children", lambda *_: 1) as batches:
        assert count_of(instance, "optimum").nodes < 950
    assert len(batches) <= 3
