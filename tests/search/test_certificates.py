"""What crosses the boundary is frozen and checked, and its tolerance is by a public rule."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mipselect import (
    Instance,
    MistakeLevels,
    Mistakes,
    SupportPool,
    TopR,
    mistake_levels,
    top_supports,
)
from mipselect.errors import InvalidInput
from mipselect.losses import QuantileLoss
from mipselect.restricted.columns import (
    ADDED_BLOCKS,
    SUMMED_ROWS,
    Columns,
    products,
    products_of_pairs,
    roundings_of_sum,
    sums_of_squares,
)
from mipselect.restricted.gram import Gram
from mipselect.search.collectors import Collector
from mipselect.search.options import DEFAULT_TOLERANCE, VALUE_ERRORS, SearchOptions
from mipselect.search.setup import set_up
from tests.support.designs import random_instance


def pool() -> SupportPool:
    return top_supports(random_instance(3), 4)


def levels() -> MistakeLevels:
    return mistake_levels(random_instance(3))


CERTIFICATES = [(pool, ("supports", "values")), (levels, ("supports", "values", "bounds"))]


@pytest.mark.parametrize(("make", "arrays"), CERTIFICATES)
def test_arrays_cannot_be_written(make, arrays: tuple[str, ...]) -> None:
    found = make()
    for again in (found, replace(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert again.certified
        for name in arrays:
            array = getattr(again, name)
            with pytest.raises(ValueError, match="read-only"):
                array[0] = -1
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True
            base = array
            while isinstance(base, np.ndarray):
                assert not base.flags.writeable
                base = base.base
            assert isinstance(base, bytes)


@pytest.mark.parametrize(("make", "arrays"), CERTIFICATES)
def test_the_arrays_that_were_given_are_copied(make, arrays: tuple[str, ...]) -> None:
    found = make()
    given = {name: getattr(found, name).copy() for name in arrays}
    held = replace(found, **given)
    for array in given.values():
        array[:] = 0
    assert held.certified
    for name in arrays:
        assert np.array_equal(getattr(held, name), getattr(found, name))


def test_the_formulas_of_the_tolerance() -> None:
    for found in (pool(), levels()):
        loose = replace(found, tolerance=0.5, sensitivity=3.0)
        assert loose.allowance == 1.5
        assert loose.widened_sensitivity == 4.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"supports": [[0, 1], [1, 0]]}, "distinct features of 0..8, sorted"),
        ({"supports": [[0, 1], [2, 2]]}, "distinct features of 0..8, sorted"),
        ({"supports": [[0, 1], [-1, 2]]}, "distinct features of 0..8, sorted"),
        ({"supports": [[0, 1], [2, 9]]}, "distinct features of 0..8, sorted"),
        ({"supports": [0, 1]}, "supports must be an array of integers in 2 dimensions"),
        ({"supports": [[0.0, 1.0], [0.0, 2.0]]}, "array of integers .* of float64"),
        ({"values": [1.0]}, "values must be 2 numbers, one for each support"),
        ({"values": [1.0, np.nan]}, "values must be 2 numbers"),
        ({"values": ["1", "2"]}, "values must be an array of real numbers"),
        ({"values": [1 + 1j, 2]}, "values must be an array of real numbers"),
        ({"rest_bound": np.nan}, "rest_bound must be a number, got nan"),
        ({"tolerance": -0.1}, "tolerance must be a finite number ≥ 0, got -0.1"),
        ({"tolerance": np.inf}, "tolerance must be a finite number ≥ 0, got inf"),
        ({"sensitivity": 0.0}, "sensitivity must be a finite number > 0, got 0.0"),
        ({"feature_names": ("a",)}, "feature_names must have 9 entries, got 1"),
    ],
)
def test_what_is_no_certificate_is_refused(changes: dict[str, object], message: str) -> None:
    fields = {
        "supports": [[0, 1], [0, 2]], "values": [1.0, 2.0], "rest_bound": 2.0, "tolerance": 0.05,
        "sensitivity": 1.0, "n_features": 9, "feature_names": tuple("abcdefghi"),
    }  # fmt: skip
    assert SupportPool(**fields).certified
    with pytest.raises(InvalidInput, match=message):
        SupportPool(**{**fields, **changes})


def test_bounds_are_one_for_each_level() -> None:
    found = levels()
    with pytest.raises(InvalidInput, match="bounds must be"):
        replace(found, bounds=found.bounds[:-1])
    with pytest.raises(InvalidInput, match="bounds must be"):
        replace(found, bounds=np.full(len(found), np.nan))


@pytest.mark.parametrize("count", [1, 2, 7, 100, 300])
@pytest.mark.parametrize("seed", range(20))
def test_the_best_are_kept_and_all_others_bounded(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    supports = np.array(list(itertools.combinations(range(10), 3)))
    values = rng.integers(0, 60, len(supports)) / 8.0
    collector, seen = Collector(count, 0.25), set[int]()
    for _ in range(30):
        batch = rng.choice(len(supports), int(rng.integers(1, 40)))
        collector.offer(supports[batch], values[batch])
        seen |= set(batch.tolist())
        known = np.sort(values[list(seen)])
        assert collector.value == known[0]
        assert collector.threshold >= (known[count - 1] if len(known) >= count else math.inf)
        if count == 1:
            assert collector.threshold == known[0]
    rows, found = collector.best()
    assert found.tolist() == known[:count].tolist()
    assert len({tuple(row) for row in rows.tolist()}) == len(rows) == len(found)
    places = [int(np.flatnonzero((supports == row).all(axis=1))[0]) for row in rows]
    assert values[places].tolist() == found.tolist()
    left = values[list(seen - set(places))]
    assert collector.settled <= np.min(left, initial=math.inf)
    assert collector.settled >= (found[-1] if len(found) == count else math.inf)
    assert collector.target == collector.threshold - 0.25
    assert collector.bound == found[0]


def test_the_target_stops_at_the_floor() -> None:
    collector = Collector(1, 0.5, floor=0.8)
    for value, target in ((2.0, 1.5), (1.0, 0.8), (0.7, 0.7)):
        collector.offer(np.array([[0, 1]]), np.array([value]))
        assert collector.target == target


BOUNDS = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
LOSSES = ("squared", "hinge", "huber(0.3)", "quantile(0.4)")


def instance_of(loss: object = "squared", n: int = 60, seed: int = 0) -> Instance:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 6))
    y = np.sign(X[:, 0] + 0.1) if loss == "hinge" else X[:, 0] - 0.5 * X[:, 3]
    return Instance(X, y, support_size=2, loss=loss, **BOUNDS)


class Vague(QuantileLoss):
    """One whose values are known to a thousandth of the sensitivity."""

    def value_error(self, n: int, y_bound: float, u_bound: float) -> float:
        return 1e-3 * self.spread(y_bound, u_bound) / n


@pytest.mark.parametrize("loss", LOSSES)
def test_the_default_costs_less_than_a_ten_thousandth_of_epsilon(loss: str) -> None:
    for n in (20, 3000):
        pool = top_supports(instance_of(loss, n), 3)
        assert pool.tolerance == DEFAULT_TOLERANCE <= 1e-4
        assert mistake_levels(instance_of(loss, n)).tolerance == DEFAULT_TOLERANCE


@pytest.mark.parametrize("loss", [*LOSSES, Vague()])
def test_the_default_covers_what_values_may_be_off_by(loss: str) -> None:
    instance = instance_of(loss)
    tau = SearchOptions().tolerance_for(instance)
    assert tau * instance.sensitivity >= VALUE_ERRORS * instance.value_error * (1.0 - 1e-9)
    search = set_up(instance, SearchOptions())
    assert 0.0 < search.allowance <= tau * instance.sensitivity - 2.0 * instance.value_error


def test_a_loss_whose_values_are_known_less_well_has_a_larger_default() -> None:
    tau = SearchOptions().tolerance_for(instance_of(Vague()))
    assert tau == pytest.approx(4e-3)
    assert SearchOptions(tolerance=0.02).tolerance_for(instance_of(Vague())) == 0.02


def test_the_default_does_not_depend_on_the_rows_nor_on_their_number() -> None:
    for loss in (*LOSSES, Vague()):
        default = SearchOptions().tolerance_for
        assert len({default(instance_of(loss, n, n)) for n in (20, 59, 60, 61, 5000)}) == 1


def test_too_many_rows_for_double_precision_are_refused_and_told_what_to_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = instance_of()
    error = 0.3 * DEFAULT_TOLERANCE * instance.sensitivity
    monkeypatch.setattr(Instance, "value_error", error)
    with pytest.raises(InvalidInput, match=r"tolerance of 1e-05 .* to one of 0\.0001: .* in ε"):
        top_supports(instance, 3)
    # Of rows, a tolerance that was asked for is taken as it is.
    assert top_supports(instance, 3, tolerance=0.0).certified
    assert top_supports(instance, 3, tolerance=1.2e-5).certified


def test_a_million_rows_are_not_too_many() -> None:
    n = 1_000_000
    error = 2.0 * (roundings_of_sum(n) + 1024) * 2.0**-52 * n
    assert VALUE_ERRORS * error < DEFAULT_TOLERANCE
    most = 2 * SUMMED_ROWS  # of one block
    for rows, roundings in ((most, most + 1), (most + 1, SUMMED_ROWS + 3)):
        instance = instance_of(n=rows)
        share = instance.value_error / instance.sensitivity
        assert share == pytest.approx(2.0 * (roundings + 1024) * 2.0**-52 * rows)


def test_blocks_are_added_up_in_groups() -> None:
    """A sum of 2⁵⁴ takes in no ones, and the next group has its own sum."""
    blocks = ADDED_BLOCKS + 100
    A = np.zeros((blocks * SUMMED_ROWS, 1), dtype=np.float32)
    A[::SUMMED_ROWS], A[0] = 1.0, 2.0**27
    for found in (
        products(A, A),
        products(A, A[:, 0]),
        sums_of_squares(A),
        Gram(Columns(A)).blocks(np.zeros((1, 2), dtype=np.intp))[0, 0, 1],
    ):
        assert float(np.squeeze(found)) == 2.0**54 + 100
    assert roundings_of_sum(len(A)) == SUMMED_ROWS + ADDED_BLOCKS + 1


@pytest.mark.parametrize("n", [2 * SUMMED_ROWS, 2 * SUMMED_ROWS + 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_rows_lose_no_more_than_is_counted(dtype: type, n: int) -> None:
    rng = np.random.default_rng(1)
    A, B = (rng.uniform(0.0, 1.0, (n, 2)).astype(dtype) for _ in range(2))
    y = rng.uniform(0.0, 1.0, n)
    allowed = roundings_of_sum(n) * Fraction(2) ** -53 * n
    for got, left, right in [
        (products(A, B)[0, 1], A[:, 0], B[:, 1]),
        (products(A, y)[1], A[:, 1], y),
        (sums_of_squares(A)[0], A[:, 0], A[:, 0]),
        (sums_of_squares(y), y, y),
        (Gram(Columns(A)).blocks(np.array([[0, 1]]))[0, 0, 1], A[:, 0], A[:, 1]),
        (Gram(Columns(A)).block(np.array([0, 1]))[0, 1], A[:, 0], A[:, 1]),
    ]:
        exact = sum(
            Fraction(float(a)) * Fraction(float(b)) for a, b in zip(left, right, strict=True)
        )
        assert abs(Fraction(float(got)) - exact) <= allowed


def test_products_do_not_depend_on_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    n = 2 * SUMMED_ROWS + 2
    A, B = rng.standard_normal((n, 3)), rng.standard_normal((n, 7))
    two_columns = 8 * (3 + SUMMED_ROWS) * 2
    monkeypatch.setattr("mipselect.restricted.columns.BLOCK_BYTES", two_columns)
    assert np.allclose(products(A, B), A.T @ B, rtol=1e-13, atol=1e-11)
    assert products(A, B[:, :0]).shape == (3, 0)
    pairs = products_of_pairs(B)
    assert np.allclose(pairs, B.T @ B, rtol=1e-13, atol=1e-11)
    assert np.array_equal(pairs, pairs.T)
    assert products_of_pairs(B[:, :0]).shape == (0, 0)


def test_what_is_paid_for_the_tolerance_is_next_to_nothing() -> None:
    instance = instance_of()
    exact = TopR(top_supports(instance, 3, tolerance=0.0), 1.0)
    default = TopR(top_supports(instance, 3), 1.0)
    for support in exact.pool.supports:
        assert default.log_probability(support) == pytest.approx(
            exact.log_probability(support), abs=1e-4
        )
    stated = default.guarantees["add-remove"].epsilon
    assert 0.5 < stated < 0.5 * (1.0 + 1e-4)
    assert Mistakes(mistake_levels(instance), 1.0).guarantees["add-remove"].epsilon == stated


def test_a_certificate_says_whether_its_first_row_is_the_optimum() -> None:
    pool = top_supports(instance_of(), 1)
    assert pool.proves_optimum
    assert mistake_levels(instance_of()).proves_optimum
    below = replace(pool, rest_bound=float(pool.values[0]) - 0.5 * pool.allowance)
    assert below.certified
    assert not below.proves_optimum
