"""What large and hostile problems rely on: no Gram matrix held, float32, bounds of any size."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from mipselect import Instance, TopR, arrays, mistake_levels, top_supports
from mipselect.datasets import correlated_gaussian
from mipselect.errors import InvalidInput, NotCertified
from mipselect.mechanisms import ExponentialMechanism
from mipselect.restricted import columns, row_tops
from mipselect.restricted import gram as gram_module
from mipselect.restricted.columns import roundings_of_sum
from mipselect.restricted.gram import Gram, KnownGram
from mipselect.restricted.squared import EPS, PreparedSquared
from mipselect.search.least_squares.node import definite_multiplier, squared_node
from mipselect.search.pool import SupportPool
from mipselect.search.progress import Deadline, Run
from mipselect.search.supports import stage_of_pool
from mipselect.search.tuning import Screening
from mipselect.selectors import MistakesSelector
from tests.support.designs import (
    SINGULAR,
    all_supports,
    columns_of_every_scale,
    least_ridge,
    of_singular,
    random_instance,
)
from tests.support.searches import check_search, levels_by, search_by, supports_by
from tests.support.soft_draws import by_cells


@pytest.mark.parametrize("solver", ["native", "highs"])
@pytest.mark.parametrize("seed", range(0, 80, 10))
def test_exact_without_holding_the_gram_matrix(
    solver: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lazily computed columns, dropped again and again, and every kind of bound on row sums."""
    narrow = partial(row_tops.streamed_row_tops, width=3)
    monkeypatch.setattr(columns, "streamed_row_tops", narrow)
    for name, size in {"FULL_GRAM_BYTES": 0, "KEPT_BYTES": 500}.items():
        monkeypatch.setattr(gram_module, name, size)
    monkeypatch.setattr(columns, "BLOCK_BYTES", 400)
    for k in range(10):
        screening = Screening(dense=3 * (k % 3), tops_columns=100 * (k % 2))
        instance = random_instance(seed + k)
        assert not instance.prepared.gram.fits
        check_search(instance, solver, 0.05, screening=screening)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("height", [3, 1000])
def test_streamed_row_tops_are_upper_bounds(dtype: type, height: int) -> None:
    """Columns of every scale, zeros and copies among them, against sorted long double products."""
    for seed in range(20):
        X, G, candidates, count = columns_of_every_scale(seed, dtype)
        tops = row_tops.streamed_row_tops(
            X, np.diagonal(G).astype(float), candidates, count, lambda: None, width=4, height=height
        )
        lengths = np.sqrt(np.diagonal(G))
        for row, j in zip(tops, candidates, strict=True):
            others = np.sort([G[j, k] for k in candidates if k != j])[::-1][:count]
            assert np.all(row >= others)
            assert np.all(row <= others + 1e-5 * lengths[j] * lengths[candidates].max())


@pytest.mark.parametrize("fits", [True, False])
def test_float32_data_give_what_their_float64_copy_gives(
    fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products are formed in float64, so the bounds hold for the data as they are stored."""
    monkeypatch.setattr(gram_module, "FULL_GRAM_BYTES", 2**30 if fits else 0)
    X, y = correlated_gaussian(300, 40, rho=0.3, snr=2.0, support_size=3, seed=3)
    single = X.astype(np.float32)
    public = {
        "support_size": 3, "x_bound": 0.5, "y_bound": 0.5, "coef_bound": 1.1, "ridge": 9.0
    }  # fmt: skip
    narrow, wide = (Instance(X, y, **public) for X in (single, single.astype(np.float64)))
    assert narrow.X.dtype == np.float32
    one, two = top_supports(narrow), top_supports(wide)
    assert np.array_equal(one.supports, two.supports)
    assert one.values == pytest.approx(two.values, rel=1e-9)
    assert mistake_levels(narrow).values == pytest.approx(mistake_levels(wide).values, rel=1e-9)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(1, 6))
def test_native_and_highs_agree_at_p_1000(seed: int) -> None:
    X, y = correlated_gaussian(5000, 1000, rho=0.1, snr=5.0, support_size=5, seed=seed)
    instance = Instance(X, y, support_size=5, x_bound=0.5, y_bound=0.5, coef_bound=1.1, ridge=120.0)
    pools = [top_supports(instance, solver=solver) for solver in ("native", "highs")]
    assert len(pools[0]) == 2 + 5 * 995
    assert np.array_equal(pools[0].supports, pools[1].supports)
    assert pools[0].values == pytest.approx(pools[1].values, rel=1e-9)
    levels = [mistake_levels(instance, solver=solver) for solver in ("native", "highs")]
    tau = levels[0].tolerance * instance.sensitivity
    assert np.all(np.abs(levels[0].values - levels[1].values) <= tau)
    for first, second in (levels, levels[::-1]):
        # The same support is evaluated alone or beside others, which rounds differently.
        assert np.all(first.bounds <= second.values * (1.0 + 1e-9))


def test_wide_data_stop_in_time_with_what_was_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two looks at the clock no more of G is formed than one block of it."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((100, 8_000), dtype=np.float32)
    y = X[:, :4] @ np.full(4, 0.5) + rng.standard_normal(100)
    instance = Instance(X, y, support_size=4, x_bound=0.5, y_bound=0.5, coef_bound=1.0, ridge=5.0)
    monkeypatch.setattr(gram_module, "FULL_GRAM_BYTES", 0)
    formed = [0]
    for owner, name in ((Gram, "product"), (Gram, "block"), (row_tops, "_products")):
        original = getattr(owner, name)

        def counted(*arguments, original=original) -> np.ndarray:
            result = original(*arguments)
            formed[-1] += result.size
            return result

        monkeypatch.setattr(owner, name, counted)

    def clock() -> float:
        formed.append(0)
        return float(len(formed))

    run = Run(Deadline(600.0, clock))
    with pytest.raises(NotCertified) as caught:
        supports_by(instance, "one-swap", run=run)
    assert len(formed) >= 600
    assert 0 < max(formed) <= columns.BLOCK_BYTES // 8
    found = caught.value.partial
    assert not found.certified
    assert np.isfinite(found.values).all()
    assert caught.value.bound <= found.values[0]


@pytest.mark.deep
def test_top_r_on_a_million_supports() -> None:
    p, s, R = 2_000, 3, 1_000_000
    rng = np.random.default_rng(5)
    rows = np.sort(rng.integers(0, p, (2 * R, s)), axis=1)
    rows = rows[(np.diff(rows, axis=1) > 0).all(axis=1)]
    rows = rng.permutation(np.unique(rows, axis=0))[:R]
    values = np.sort(rng.uniform(0.0, 30.0, R))
    names = tuple(f"x{j}" for j in range(p))
    public = {"sensitivity": 1.0, "n_features": p, "feature_names": names}
    pool = SupportPool(rows, values, values[-1], tolerance=0.05, **public)
    mechanism = TopR(pool, 1.0)
    weights = np.exp(-values / 2.1)
    total = weights.sum() + pool.number_unlisted * weights[-1]
    for k in (0, 17, 999_999):
        expected = np.log(weights[k] / total)
        assert mechanism.log_probability(rows[k][::-1]) == pytest.approx(expected, rel=1e-9)
    drawn = [mechanism.sample(seed) for seed in range(200)]
    assert all(len(set(support)) == s for support in drawn)
    unlisted = next(support for support in drawn if pool.position(support) is None)
    assert mechanism.log_probability(unlisted) == pytest.approx(np.log(weights[-1] / total))


RIDGES = [1.0, 1e-9, least_ridge(20, 8, 1.0)]


@pytest.mark.parametrize("solver", ["native", "highs"])
@pytest.mark.parametrize("design", SINGULAR)
@pytest.mark.parametrize("tuned", [{}, {"cheap": 0}])
def test_searches_on_singular_designs_prove_what_all_values_say(
    tuned: dict[str, int], design: str, solver: str
) -> None:
    """Curvature is measured late, or at once."""
    for ridge, always in product(RIDGES, (0, 2)):
        instance = of_singular(design, 3, ridge, always)
        with np.errstate(all="ignore"):
            values = np.sort(instance.objectives(all_supports(instance)))
            pool = supports_by(instance, 4, solver, **tuned)
            levels = levels_by(instance, solver, **tuned)
        rounding = 1e-9 * instance.sensitivity
        assert pool.certified
        assert np.all(pool.values <= values[:4] + pool.allowance + rounding)
        assert pool.rest_bound <= values[4] + rounding
        assert levels.certified
        assert levels.values[0] <= values[0] + rounding


@pytest.mark.parametrize("n", [7, 100_000])
def test_equations_are_definite_whatever_the_sums_are_rounded_by(n: int) -> None:
    """G of copies, with all entries off the diagonal rounded up as often as sums may be."""
    G = np.full((6, 6), float(n)) * (1.0 + 0.5 * EPS * roundings_of_sum(n))
    np.fill_diagonal(G, float(n))
    problem = PreparedSquared(KnownGram(G), np.ones(6), float(n), n, ridge=1e-30, radius=1.0)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(G + problem.ridge * np.eye(6))
    sub = squared_node(problem, np.arange(4), 1, np.array([4, 5]), 0.0, None)
    assert sub.ridge == problem.ridge + definite_multiplier(problem, 5, 0.0)
    assert np.isfinite(sub.h).all()


def test_a_tiny_ridge_and_huge_bounds_do_not_break_selectors() -> None:
    X, y = [[-3.5e99, 0.0, -1.5e154, 1.1e308, 0.6]], [1e200]
    bounds = {"x_bound": 1e8, "y_bound": 1e-3, "coef_bound": 1e8, "ridge": 1e4}
    tested = {"test_epsilon": 1.0, "delta": 1e-6}
    for solver in ("auto", "highs"):
        selector = MistakesSelector(3, epsilon=10.0, solver=solver, **bounds, **tested)
        assert selector.fit(X, y).support_.sum() == 3


def test_draws_on_singular_designs_by_cells() -> None:
    for design, ridge in product(SINGULAR, RIDGES):
        mechanism = by_cells(ExponentialMechanism(of_singular(design, 4, ridge), 1.0))
        assert len(mechanism.sample()) == 4


def test_the_root_bound_of_a_level_survives_cancellation() -> None:
    """A sum of squares that is left after most of it is taken away may not be negative."""
    rng = np.random.default_rng(21)
    X = rng.standard_normal((8, 6)) * [1.0, 1e-3, 1e-6, 0.0, 0.0, 0.0]
    y = np.where(rng.standard_normal(8) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    bounds = {"x_bound": 5.0, "y_bound": 1.0, "coef_bound": 0.5, "ridge": 1.0}
    instance = Instance(X, y, support_size=3, loss="hinge", **bounds)
    search = search_by(instance)
    center = search.method.center(3, search.run)
    supports = all_supports(instance)
    level_of = np.sum(~np.isin(supports, center.support), axis=1)
    values = instance.objectives(supports)
    for level in range(1, search.levels):
        assert center.level_bound(level) <= values[level_of == level].min() + 1e-12


@pytest.mark.parametrize("pool_size", ["all", 10**14])
def test_a_pool_that_no_memory_holds_is_refused_at_once(pool_size: str | int) -> None:
    bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
    instance = Instance(np.ones((2, 60)), np.ones(2), support_size=20, **bounds)
    with pytest.raises(InvalidInput, match="at most 10,000,000"):
        top_supports(instance, pool_size, time_limit=1.0)
    assert (
        len(top_supports(Instance(np.eye(6), np.ones(6), support_size=3, **bounds), 10**14)) == 20
    )


@pytest.mark.parametrize("call", ["pool", "levels", "prepare", "sample"])
def test_public_calls_let_numpy_say_nothing_about_the_data(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PreparedSquared, "values", loudly(PreparedSquared.values))
    instance = of_singular("as many rows as columns", 4, 1.0)
    before = np.geterr()
    with pytest.raises(RuntimeWarning):
        instance.objectives([[0, 1, 2, 3]])
    if call == "pool":
        assert top_supports(instance).certified
    elif call == "levels":
        assert mistake_levels(instance).certified
    else:
        mechanism = by_cells(ExponentialMechanism(instance, 1.0))
        mechanism.prepare()
        if call == "sample":
            assert len(mechanism.sample()) == 4
    assert np.geterr() == before


def loudly(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The same, with an overflow that NumPy would warn of."""

    def loud(*arguments: object) -> np.ndarray:
        assert np.isinf(np.array([1e308]) * 10.0).all()
        return function(*arguments)

    return loud


@pytest.mark.parametrize("rho", [0.1, 0.5])
@pytest.mark.parametrize("search", [top_supports, mistake_levels])
def test_products_of_columns_grow_with_their_square(
    search: Callable[[Instance], object], rho: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No number of columns is one from which on G is formed, or formed again and again."""
    multiplied = 0.0

    def counting(product: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        def counted(left: np.ndarray, right: np.ndarray, *others: int) -> np.ndarray:
            nonlocal multiplied
            multiplied += left.size * right.shape[1]
            return product(left, right, *others)

        return counted

    monkeypatch.setattr(columns, "_summed", counting(columns._summed))
    monkeypatch.setattr(row_tops, "_products", counting(row_tops._products))
    X, y = correlated_gaussian(300, 6000, rho=rho, snr=5.0, support_size=3, seed=1)
    public = {"support_size": 3, "x_bound": 0.5, "y_bound": 0.5, "coef_bound": 1.1, "ridge": 6.0}
    works = []
    for p in (2100, 3000, 6000):
        multiplied = 0.0
        search(Instance(X[:, :p], y, **public))
        works.append(multiplied / p**2)
    assert max(works[1:]) <= 1.3 * works[0]
    assert works[2] <= 1.3 * works[1]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_mapped_file_is_not_copied(
    dtype: type, order: Literal["C", "F"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it has to be clipped; and what is looked at in blocks is looked at wholly."""
    monkeypatch.setattr(arrays, "BLOCK_ENTRIES", 100)
    X, y = correlated_gaussian(300, 40, rho=0.3, snr=2.0, support_size=3, seed=3)
    np.save(tmp_path / "X.npy", np.asarray(X, dtype=dtype, order=order))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    public = {"support_size": 3, "y_bound": 0.5, "coef_bound": 1.1, "ridge": 9.0}
    largest = float(np.abs(mapped).max())
    there, here = (Instance(one, y, x_bound=1.01 * largest, **public) for one in (mapped, X))
    assert np.shares_memory(there.X, mapped)
    assert np.array_equal(top_supports(there).supports, top_supports(here).supports)
    clipped = Instance(mapped, y, x_bound=0.99 * largest, **public)
    assert not np.shares_memory(clipped.X, mapped)
    assert np.abs(clipped.X).max() < largest
    spoilt = np.load(tmp_path / "X.npy")
    spoilt[-1, -1] = np.nan
    with pytest.raises(InvalidInput, match="row 299, column 39"):
        Instance(spoilt, y, x_bound=1.0, **public)


def test_a_large_pool_says_first_what_it_takes() -> None:
    assert stage_of_pool(2 + 5 * 999_995, 5) == (
        "pool of 4,999,977 supports, which take up to 1.3 GiB"
    )
    assert stage_of_pool(1000, 5) == "pool"
