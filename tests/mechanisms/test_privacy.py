"""Privacy as it is defined: the laws of all outcomes on neighbouring data of every kind.

Whatever a mechanism states under a relation, ε, δ and ρ, is judged; and with twice the rate, or
half of the sensitivity, the same pairs must fail.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from mipselect import (
    ExponentialMechanism,
    Instance,
    Ledger,
    Mistakes,
    PermuteAndFlip,
    StableOptimum,
    TopR,
    mistake_levels,
    top_supports,
)
from mipselect.errors import MipselectError
from mipselect.mechanisms.supports import exact
from mipselect.mechanisms.supports.mistakes import GAP_CONDITION
from mipselect.mechanisms.supports.propose_test_release import GapTest
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.problem import layout
from mipselect.search.pool import Certificate
from mipselect.tables import public_map, values
from tests.support import block_pairs, weighted_tables
from tests.support.designs import LOSSES
from tests.support.exact_audit import (
    Build,
    Data,
    levels_of,
    log_probabilities,
    pool_of,
    used,
)
from tests.support.pairs import ARRAYS, FAMILIES, TABLES, clear, mirrored, pairs, tied_pair
from tests.support.soft_draws import Judged

ROUNDING = 1.0 + 1e-7
LATE = (0.0, 0.6, 1.0)
DELTA = 1e-3
MANY = {"sizes": range(1, 5), "complexity": 0.0}
WEIGHTS = [1.0, 9.0, 0.1, 2.0, 1e-3], [1e100, 1e-100, 1.0, 1.0, 1e50]


def drawn_exactly(
    data: Data, _: int, *, epsilon: float, kind: Any, weights: Any = None, **options: Any
) -> Any:
    if weights is not None:
        options["prior_weights"] = np.resize(weights, data.instance.n_features)
    return kind(data.instance, epsilon, **options)


def top_r(data: Data, k: int, *, epsilon: float, size: str, tolerance: float = 0.0) -> TopR:
    """A pool that is as wrong within its tolerance as it may be."""
    C, s, p = data.instance.number_of_supports, data.instance.support_size, data.instance.n_features
    sizes = {"one-swap": 2 + s * (p - s), "all but one": C - 1, "all": C}
    R = max(1, min(sizes.get(size) or int(size), C))
    late = LATE[k % 3] if tolerance else 0.0
    return TopR(pool_of(data, R, tolerance, late=late, seed=k), epsilon)


def searched(data: Data, _: int, *, epsilon: float, tolerance: float = 1e-6) -> TopR:
    size = max(1, data.instance.number_of_supports // 2)
    return TopR(top_supports(data.instance, size, tolerance=tolerance), epsilon)


def mistakes(data: Data, k: int, *, epsilon: float, tolerance: float = 0.0) -> Mistakes:
    return Mistakes(levels_of(data, tolerance, late=LATE[k % 3]), epsilon)


def mistakes_searched(data: Data, _: int, *, epsilon: float) -> Mistakes:
    return Mistakes(mistake_levels(data.instance), epsilon)


def with_test(data: Data, k: int, *, epsilon: float, **given: float) -> Mistakes:
    """A tested draw of which δ, the tolerance and the share of the test may be given."""
    late, low, tolerance = LATE[k % 3], LATE[(k + 1) % 3], given.get("tolerance", 0.0)
    size, share = min(3, data.instance.number_of_supports), given.get("share", 0.3)
    pool = pool_of(data, size, tolerance, late=late, seed=k)
    levels = levels_of(data, tolerance, late=late, low=low)
    paid = {"test_epsilon": share * epsilon, "delta": given.get("delta", DELTA)}
    return Mistakes(levels, (1.0 - share) * epsilon, fallback=pool, **paid)


def stable(data: Data, k: int, *, epsilon: float) -> StableOptimum:
    fallback = ExponentialMechanism(data.instance, epsilon / 2.0)
    found = levels_of(data) if k % 2 else pool_of(data, min(3, data.instance.number_of_supports))
    return StableOptimum(found, epsilon / 2.0, DELTA, fallback)


KINDS = {"exponential": ExponentialMechanism, "permute-and-flip": PermuteAndFlip}
EXACT: dict[str, Any] = {name: partial(drawn_exactly, kind=kind) for name, kind in KINDS.items()}
OF_SIZES: dict[str, Any] = {
    f"{name}, {what}": partial(EXACT[name], **options)
    for name in EXACT
    for what, options in (
        ("sizes", {"sizes": (1, 2)}),
        ("sizes and weights", {**MANY, "weights": WEIGHTS[0]}),
        ("huge weights", {"sizes": (2,), "weights": WEIGHTS[1]}),
    )
}
POOLS = {
    f"top {size}, τ = {tolerance:g}": partial(top_r, size=size, tolerance=tolerance)
    for size in ("1", "3", "one-swap", "all but one", "all")
    for tolerance in (0.0, 1.0)
}
TESTED = {"mistakes, tested": with_test, "stable optimum": stable}
MECHANISMS: dict[str, Any] = {
    **EXACT,
    **OF_SIZES,
    **POOLS,
    **TESTED,
    "mistakes, tested, τ = 1": partial(with_test, tolerance=1.0),
    "searched": searched,
    "searched, τ = 0.5": partial(searched, tolerance=0.5),
}
FEW = ["top 1, τ = 0", "top 3, τ = 1", "top all, τ = 0"]
JUDGED = [
    *(("squared", name) for name in MECHANISMS if not name.startswith("searched")),
    *((loss, name) for loss in LOSSES for name in (*EXACT, "exponential, sizes", *FEW)),
    *((family, "exponential") for family in ARRAYS if " to " in family),
    *((family, name) for family in TABLES for name in (*EXACT, "searched") if family != "tables"),
    pytest.param("tables", "exponential", marks=pytest.mark.deep),
    pytest.param("tables", "searched", marks=pytest.mark.deep),
    *(("tables", name) for name in (*FEW[1:], "mistakes, tested")),
    *(("blocks", name) for name in (*EXACT, "exponential, sizes", "searched", "searched, τ = 0.5")),
    *(("blocks", name) for name in TESTED),
    *(("block R²", name) for name in EXACT),
]
SLOW = {"searched", "searched, τ = 0.5", "mistakes, tested"}


@pytest.mark.parametrize(("family", "mechanism"), JUDGED)
def test_no_neighbour_tells_more_than_is_stated(family: str, mechanism: str) -> None:
    of = FAMILIES[family]
    several = family == "squared" and mechanism in (*EXACT, *FEW)
    for epsilon in (0.1, 3.0) if several else (1.0,):
        build = partial(MECHANISMS[mechanism], epsilon=epsilon)
        step = 4 if mechanism in SLOW or (family, mechanism) == ("tables", FEW[1]) else 1
        clear = of.clear() if mechanism in TESTED else ()
        found = used(build, (*of.hostile()[::step], *of.tight(), *clear[:: step * 4]))
        assert found.loss <= ROUNDING
        assert found.rho <= 1.0 + 1e-6
        if mechanism.startswith("exponential"):
            # The logs of the probabilities of two outcomes move by no more than ε apart.
            assert found.apart <= ROUNDING


@pytest.mark.parametrize(
    ("family", "mechanism"),
    [("squared", name) for name in (*EXACT, "top 3, τ = 0", "top 3, τ = 1", *TESTED)]
    + [(family, name) for family in ARRAYS if family != "squared" for name in EXACT],
)
def test_a_further_row_costs_what_is_stated(family: str, mechanism: str) -> None:
    build = partial(MECHANISMS[mechanism], epsilon=1.0)
    found = used(build, FAMILIES[family].grown(), "add-remove")
    assert found.loss <= ROUNDING
    assert found.rho <= 1.0 + 1e-6


def halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pay half for every value, in exact draws and in those from certificates."""
    right, widened = exact.exact_rate, Certificate.widened_sensitivity

    def twice(*given: Any) -> Any:
        rate = right(*given)
        return replace(rate, rate=2.0 * rate.rate)

    monkeypatch.setattr(exact, "exact_rate", twice)
    half = property(lambda certificate: widened.fget(certificate) / 2.0)
    monkeypatch.setattr(Certificate, "widened_sensitivity", half)


@pytest.mark.parametrize(
    ("family", "mechanism", "least"),
    [(family, name, 0.7) for family in FAMILIES for name in EXACT]
    + [(family, "top all, τ = 0", 0.55) for family in ("squared", *LOSSES, "tables")]
    + [("squared", "exponential, sizes", 0.52)],
)
def test_tight_pairs_use_what_is_paid_and_half_of_it_is_not_private(
    family: str, mechanism: str, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, tight = partial(MECHANISMS[mechanism], epsilon=0.5), FAMILIES[family].tight()
    for some in [[pair] for pair in tight] if family == "blocks" else [tight]:
        assert least < used(build, some).loss <= ROUNDING
    halved(monkeypatch)
    assert used(build, tight).loss > 1.9 * least


@pytest.mark.parametrize("family", [*ARRAYS, *list(TABLES)[1:], "blocks"])
def test_changes_lie_in_the_stated_interval(family: str) -> None:
    """R'(S) - R(S) over all supports: no more than 2w apart, and |R'(S) - R(S)| at most Δ."""
    apart = []
    for data, other in (*FAMILIES[family].hostile(), *FAMILIES[family].tight()):
        change = other.values - data.values
        apart.append(np.ptp(change) / (2.0 * data.instance.oscillation))
        assert np.abs(change).max() <= data.instance.sensitivity * ROUNDING
    assert 0.8 < max(apart) <= ROUNDING


def test_no_block_r2_moves_by_more_than_one_for_each_partition() -> None:
    for one, other in block_pairs.of_scores():
        moved = np.abs(one.instance.counts - other.instance.counts).max()
        assert moved <= 2**20 * one.instance.problem.blocks.partitions
    one, other = (data.instance.counts for data in block_pairs.flipped())
    assert one[0] - other[0] == 2**20
    assert (other[1:] - one[1:] == 2**20).all()


ON_CONDITION = [
    ("squared", partial(mistakes, tolerance=0.0)),
    ("squared", partial(mistakes, tolerance=0.05)),
    ("squared", partial(mistakes, tolerance=1.0)),
    *((loss, mistakes) for loss in LOSSES),
    ("tables", mistakes),
    pytest.param("tables", mistakes_searched, marks=pytest.mark.deep),
]


@pytest.mark.parametrize(("family", "build"), ON_CONDITION)
def test_mistakes_is_private_on_its_condition(family: str, build: Any) -> None:
    for epsilon in (0.5, 3.0):
        audited = FAMILIES[family].clear()
        given = partial(build, epsilon=epsilon)
        assert given(audited[0][0], 0).guarantee.conditions == (GAP_CONDITION,)
        assert 0.0 < used(given, audited).loss <= ROUNDING


def test_mistakes_costs_half_where_a_row_is_added_on_its_condition() -> None:
    build = partial(mistakes, epsilon=1.0)
    assert used(build, clear(grown=True), "add-remove").loss <= ROUNDING


def test_the_audit_of_mistakes_can_fail() -> None:
    def build(data: Data, _: int, share: float) -> Mistakes:
        levels = levels_of(data)
        return Mistakes(replace(levels, sensitivity=share * levels.sensitivity), 1.0)

    assert used(partial(build, share=1.0), clear()).loss > 0.6
    assert used(partial(build, share=0.25), clear()).loss > 2.4
    assert used(partial(mistakes, epsilon=1.0), [tied_pair()]).loss > 2.0


def test_returning_the_best_support_of_a_level_is_not_private() -> None:
    """As the authors' code does: where a row decides which it is, the other is impossible."""

    def best_of_level(data: Data) -> np.ndarray:
        levels = levels_of(data)
        right, law = Mistakes(levels, 1.0), np.zeros(len(data.supports))
        for best, size in zip(levels.supports, levels.sizes, strict=True):
            row = np.flatnonzero((data.supports == best).all(axis=1))[0]
            law[row] = np.exp(right.log_probability(best)) * size
        assert law.sum() == pytest.approx(1.0)
        return law

    laws = [(best_of_level(data), best_of_level(other)) for data, other in clear()]
    assert sum(bool(np.any((one > 0.01) & (two == 0.0))) for one, two in laws) >= 10


def test_a_pool_that_is_wrong_within_its_tolerance_needs_the_larger_sensitivity() -> None:
    """With Δ in place of Δ + τ, which is ε(1 + τ/Δ) in place of ε, the audit fails."""
    build = partial(top_r, size="3", tolerance=4.0)
    assert used(partial(build, epsilon=1.0), pairs()).loss <= ROUNDING
    assert 5.0 * used(partial(build, epsilon=5.0), pairs()).loss > 2.0


def test_delta_is_needed_on_a_tie_and_nothing_of_it_where_there_is_none() -> None:
    for delta in (1e-6, 1e-3, 0.1):
        build: Build = partial(with_test, epsilon=2.1, share=0.1 / 2.1, delta=delta)
        assert 0.4 < used(build, [tied_pair()]).loss <= ROUNDING
    for k, pair in enumerate(clear()[::4]):
        logs, moved = (log_probabilities(build(each, k), each) for each in pair)
        assert np.abs(logs - moved).max() <= 2.1 * ROUNDING


@pytest.mark.parametrize("tolerance", [0.0, 1.0])
def test_the_test_of_the_gap_passes_with_at_most_delta_where_the_condition_fails(
    tolerance: float,
) -> None:
    for gap in (0.0, 1.0, 2.0):
        found = GapTest(gap, 1.0, tolerance, 0.5, 1e-3)
        assert found.log_pass <= np.log(1e-3) * (1.0 - 1e-12)


def test_the_test_of_the_gap_uses_its_epsilon() -> None:
    """Passing itself is private, and uses a good part of what it pays for."""
    share = 0.0
    for pair in (*clear(), mirrored(6, 40, shift=4.0)):
        one, two = (with_test(member, 0, epsilon=1.0)._tested.test for member in pair)
        moved = abs(one.log_pass - two.log_pass), abs(one.log_fail - two.log_fail)
        share = max(share, *moved)
    assert 0.8 * 0.3 < share <= 0.3 * ROUNDING


def by_cells(data: Data, _: int, *, epsilon: float, **options: Any) -> Any:
    judged = Judged(data.instance, epsilon, **options)
    judged.guarantees = judged.mechanism.guarantees
    return judged


@pytest.mark.parametrize(
    ("family", "epsilon", "options"),
    [
        ("squared", 0.5, {}),
        ("squared", 4.0, {}),
        ("squared", 1.0, {"sizes": (1, 2)}),
        ("blocks", 1.0, {}),
        *(pytest.param(loss, 1.0, {}, marks=pytest.mark.deep) for loss in LOSSES),
    ],
)
def test_what_is_really_drawn_by_cells_is_private(
    family: str, epsilon: float, options: Any
) -> None:
    """Not a formula: probabilities of all paths of the random source, on both sides."""
    of = FAMILIES[family]

    def law(judged: Any, _: Data) -> np.ndarray:
        return judged.drawn_law

    build = partial(by_cells, epsilon=epsilon, **options)
    audited = (*of.hostile()[::61], *of.tight()[1::4])
    assert 0.3 < used(build, audited, law=law).loss <= ROUNDING
    if of.grown():
        grown = (*of.grown()[::61], *of.grown()[-8:-6])
        assert 0.1 < used(build, grown, "add-remove", law).loss <= ROUNDING


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_permute_and_flip_is_not_of_bounded_range_and_exponential_mechanisms_need_their_rho(
    epsilon: float,
) -> None:
    audited = (*pairs()[::3], mirrored(40, 40), mirrored(200, 40))
    flipped = used(partial(EXACT["permute-and-flip"], epsilon=epsilon), audited)
    assert flipped.apart > 1.1
    found = used(partial(EXACT["exponential"], epsilon=epsilon), audited)
    assert found.apart > 0.9
    assert found.rho > 0.5
    for name, times in (("exponential", 1.0), ("permute-and-flip", 4.0)):
        stated = EXACT[name](pairs()[0][0], 0, epsilon=epsilon).guarantee.rho
        assert stated == times * (bounded_range_rho(epsilon) or 0.0)
    for name in TESTED:
        assert TESTED[name](pairs()[0][0], 0, epsilon=epsilon).guarantee.concentrated is None


def test_the_law_is_that_of_the_supports_in_their_order() -> None:
    data = pairs()[0][0]
    mechanism = PermuteAndFlip(data.instance, 2.0)
    logs = [mechanism.log_probability(support) for support in data.supports]
    np.testing.assert_allclose(log_probabilities(mechanism, data), logs, atol=1e-12)


def grouped(x: list[float]) -> Data:
    """One feature of three columns and twelve of one, s = 1; other rows pin the coefficients.

    `x` is the first row, with one number for all of the twelve.
    """
    X = np.tile([0.8, 0.6, 0.0, *[1.0] * 12], (41, 1))
    X[0] = [*x[:3], *x[3:] * 12]
    groups = [[0, 1, 2], *([j] for j in range(3, 15))]
    bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 0.6, "ridge": 1e-3}
    return Data(Instance(X, np.ones(41), support_size=1, groups=groups, **bounds))


def test_rows_that_are_too_long_are_shortened_or_the_audit_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def loss_between(*row: float) -> float:
        other = [-x for x in row]
        pair = grouped(list(row)), grouped(other)
        return used(partial(EXACT["exponential"], epsilon=1.0), [pair]).loss

    assert 0.8 < loss_between(90.0, 80.0, 0.0, -1.0) <= ROUNDING

    def careless(block: Any, bound: float, *, out: Any) -> None:
        # Every entry by itself, as for single columns.
        np.clip(block, -bound, bound, out=out)

    monkeypatch.setattr(layout, "shortened", careless)
    assert loss_between(1.0, 1.0, 1.0, -1.0) > ROUNDING
    monkeypatch.setattr(layout, "shortened", lambda block, bound, *, out: np.copyto(out, block))
    assert loss_between(1.6, 1.2, 0.0, -1.0) > 1.2


@pytest.mark.parametrize("made", weighted_tables.MADE)
def test_a_weight_counts_up_to_its_maximum(made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build = partial(EXACT["exponential"], epsilon=1.0)
    of_weight = partial(weighted_tables.of_weight, made=made)
    assert used(build, [of_weight(0.0)]).loss == 0.0
    assert used(build, [of_weight(4.0 * weighted_tables.MOST)]).loss <= ROUNDING
    monkeypatch.setattr(
        public_map, "weight_shares", lambda cells, w: values.numbers(cells, w) / w.maximum
    )
    assert used(build, [of_weight(4.0 * weighted_tables.MOST)]).loss > 1.5


def test_no_guarantee_is_stated_where_a_row_is_added_to_blocks() -> None:
    """By no mechanism on blocks, nor by one with a part from rows; a ledger refuses."""
    instance, of_rows = block_pairs.clear()[-1][0].instance, mirrored(4, 40)[0].instance
    scores = block_pairs.flipped(4)[0].instance
    levels, pool = mistake_levels(instance), top_supports(instance, 2)
    exponential = ExponentialMechanism(instance, 1.0)
    draws = [
        exponential,
        ExponentialMechanism(scores, 1.0),
        TopR(pool, 1.0),
        Mistakes(levels, 1.0),
        Mistakes(levels, 1.0, test_epsilon=1.0, delta=0.1, fallback=pool),
        StableOptimum(levels, 1.0, 0.1, exponential),
        StableOptimum(levels, 1.0, 0.1, ExponentialMechanism(of_rows, 1.0)),
        StableOptimum(mistake_levels(of_rows), 1.0, 0.1, exponential),
    ]
    for draw in draws:
        assert set(draw.guarantees) == {"replace-one"}, draw
        with pytest.raises(MipselectError, match="add-remove"):
            draw.release(Ledger(10.0, 0.5, relation="add-remove"))
    both = StableOptimum(mistake_levels(of_rows), 1.0, 0.1, ExponentialMechanism(of_rows, 1.0))
    assert set(both.guarantees) == {"replace-one", "add-remove"}
