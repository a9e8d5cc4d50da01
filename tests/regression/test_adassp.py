"""AdaSSP and its rounds: noise within μ, exact sums, what is found; and the largest μ of (ε, δ)."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import kstest, norm

from mipselect import Ledger
from mipselect.blocks.grid import GRID, MOST_ROWS, exact_products, exact_sums, on_grid
from mipselect.errors import BudgetExceeded, InvalidInput
from mipselect.mechanisms.noise.noise import plus_gaussian
from mipselect.privacy.gaussian_curve import gaussian_delta
from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    adassp,
)
from mipselect.regression.adassp import (
    SENSITIVITIES,
    deviations,
    inverse_of_regularised,
    largest_mu,
    plus_symmetric_gaussian,
    smallest_eigenvalue,
)
from mipselect.regression.rows import ModelRows, RowMap
from tests.support.hockey_stick import log_gaussian_delta

RELATIONS = ["add-remove", "replace-one"]
VALUES = [0.0, 1.0, -1.0, 0.3, 5e-324, 1e-310, 1e-160, 1e16, 1e154, 1e308, -1e308, 1.7e308]


@pytest.mark.parametrize(
    ("share", "mu", "gram", "gradient"),
    [(1.0, 0.2920, 5.93, 59.3), (0.95, 0.2787, 6.22, 62.2), (0.9, 0.2653, 6.53, 65.3)],
)
def test_the_table_of_deviations(share: float, mu: float, gram: float, gradient: float) -> None:
    epsilon = share * math.log(3.0)
    assert largest_mu(epsilon, 1e-5) == pytest.approx(mu, abs=5e-5)
    found = deviations(epsilon, 1e-5, "add-remove", 100, columns=10)
    assert found.gram == pytest.approx(gram, abs=0.006)
    assert found.gradient == pytest.approx(gradient, abs=0.06)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rounds", [1, 20])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 30.0])
def test_the_stated_rho_is_that_of_the_noise(relation: str, rounds: int, epsilon: float) -> None:
    """Σ Δ²/2σ² over all that is drawn, in exact arithmetic: normal noise on a value moved by Δ."""
    model = BoostedAdaSSPRegressor(
        epsilon=epsilon, delta=1e-6, rounds=rounds, x_bound=1.0, relation=relation
    )
    promised = model.promise(3)
    sigma = deviations(epsilon, 1e-6, relation, rounds, columns=4)
    moves = SENSITIVITIES[relation]
    parts = zip(moves, (sigma.gram, sigma.eigenvalue, sigma.gradient), (1, 1, rounds), strict=True)
    spent = sum(k * Fraction(move) ** 2 / (2 * Fraction(s) ** 2) for move, s, k in parts)
    assert promised.rho is not None
    assert spent <= Fraction(promised.rho)
    assert float(spent) == pytest.approx(promised.rho, rel=1e-4)
    assert promised.relation == relation
    ledger = Ledger(rho=1.5 * promised.rho, delta=1e-6, relation=relation)
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 3))
    model.set_params(ledger=ledger).fit(X, X[:, 0])
    assert ledger.spent.rho == promised.rho
    with pytest.raises(BudgetExceeded):
        model.fit(X, X[:, 0])


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rounds", [1, 7, 100])
@pytest.mark.parametrize("columns", [1, 12, 1000])
def test_all_noise_together_is_within_mu(relation: str, rounds: int, columns: int) -> None:
    """Σ Δ²/σ² ≤ μ² to 60 digits, with what sums of MOST_ROWS rows and the eigenvalue are off by."""
    adds = relation == "add-remove"
    for epsilon in np.geomspace(1e-3, 30.0, 12).tolist():
        mu = largest_mu(epsilon, 1e-6)
        sigma = deviations(epsilon, 1e-6, relation, rounds, columns=columns)
        with mpmath.workdps(60):
            two, one = mpmath.sqrt(2), mpmath.mpf(2) * MOST_ROWS / 2**53
            sums, of_eigenvalue = columns * one, 8 * (columns + 2) * one
            moves = {
                "gram": (1 if adds else two) + sums,
                "eigenvalue": 1 + sums + of_eigenvalue,
                "gradient": (1 if adds else 2) + sums,
            }
            parts = {name: (move / getattr(sigma, name)) ** 2 for name, move in moves.items()}
            spent = parts["gram"] + parts["eigenvalue"] + rounds * parts["gradient"]
            assert spent <= mpmath.mpf(mu) ** 2
            assert spent >= mpmath.mpf(mu) ** 2 * (1 - 1e-11)


@pytest.mark.parametrize("model", [AdaSSPRegressor, BoostedAdaSSPRegressor])
def test_targets_beyond_their_bound_count_as_the_bound(model: type) -> None:
    X = np.linspace(-1.0, 1.0, 90).reshape(30, 3)
    y = 4.0 * X[:, 0]
    settings = {"epsilon": 5.0, "delta": 1e-3, "x_bound": 1.0, "y_bound": 1.0, "random_state": 0}
    found, cut = (model(**settings).fit(X, target) for target in (y, np.clip(y, -1.0, 1.0)))
    assert np.array_equal(found.coef_, cut.coef_)


def hostile_rows(rng: np.random.Generator, n: int, size: int) -> np.ndarray:
    kind = rng.integers(5)
    if kind == 0:
        return rng.choice(VALUES, (n, size))
    if kind == 1:
        return np.eye(size)[rng.integers(0, size, n)] * rng.choice([-9.0, 9.0], (n, 1))
    if kind == 2:
        return np.repeat(rng.normal(size=(1, size)), n, axis=0)
    if kind == 3:
        return rng.choice([-1.0, 1.0], (n, size)) * 1e9
    return rng.normal(size=(n, size))


class Recorder:
    """Stands for the noise: remembers the values and the deviations, and adds nothing."""

    def __init__(self) -> None:
        self.seen: list[tuple[np.ndarray, float]] = []

    def __call__(
        self, values: np.ndarray, deviation: float, source: Any, *, private: bool
    ) -> np.ndarray:
        self.seen.append((np.array(values), deviation))
        return values


def queries(model: Any, X: np.ndarray, y: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(adassp, "plus_gaussian", recorder)
    model._draw(ModelRows(X, y), random.Random(0), False)
    return recorder


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("intercept", [True, False])
def test_no_pair_of_neighbours_needs_more_than_the_mu(
    relation: str, intercept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Σ (Δ/σ)² over all that is released stays within μ², where the answers so far are the same.

    Of two rounds the first starts from the same θ on both sides; adaptive ones are bounded by
    the next test.
    """
    epsilon, delta = 1.0, 1e-5
    mu = largest_mu(epsilon, delta)
    rng = np.random.default_rng(3)
    worst = 0.0
    for trial in range(250):
        n, size = int(rng.integers(1, 7)), int(rng.integers(1, 4))
        X, y = hostile_rows(rng, n, size), rng.choice([*VALUES, -0.7], n)
        other, target = X.copy(), y.copy()
        other[0], target[0] = hostile_rows(rng, 1, size)[0], rng.choice(VALUES)
        if trial % 5 == 0:
            # Two perpendicular rows, or the same row with the opposite target.
            X[0] = 1e6 * np.eye(size)[0]
            other[0], target[0], y[0] = 1e6 * np.eye(size)[-1], -5.0, 5.0
        if relation == "add-remove":
            other, target = X[1:], y[1:]
            if n == 1:
                continue
        model = AdaSSPRegressor(
            epsilon=epsilon, delta=delta, y_bound=2.0, relation=relation, fit_intercept=intercept,
            **({"x_bound": 1.0} if trial % 2 else {"row_bound": 0.7}),
        )  # fmt: skip
        pair = [
            queries(model, rows, values, monkeypatch).seen
            for rows, values in ((X, y), (other, target))
        ]
        total = sum(
            float((((a - b) / sigma) ** 2).sum()) for (a, sigma), (b, _) in zip(*pair, strict=True)
        )
        worst = max(worst, math.sqrt(total) / mu)
    needed = math.exp(log_gaussian_delta(worst * mu, epsilon))
    print(f"{relation}: {worst:.3f} μ, delta {needed:.3g}")
    assert 0.75 < worst <= 1.0
    assert 0.01 * delta < needed <= delta


def test_gradients_are_bounded_whatever_theta_is() -> None:
    rng = np.random.default_rng(4)
    for relation, most in (("add-remove", 1.0), ("replace-one", 2.0)):
        largest = 0.0
        for _ in range(300):
            n, size, clip = 4, 3, 0.3
            table = on_grid(RowMap(size, row_bound=1.0)(hostile_rows(rng, n, size)), 1.0)
            theta = rng.choice([0.0, 1.0, -1e8, 1e300, 3e-9], size + 1)
            y = rng.choice(VALUES, n)
            with np.errstate(all="ignore"):
                residuals = on_grid(y - adassp.products(table, theta), clip)[:, None]
            whole = exact_products(table, residuals)[:, 0]
            if relation == "add-remove":
                other = exact_products(table[1:], residuals[1:])[:, 0]
            else:
                changed = residuals.copy()
                changed[0] = -1.0
                row = table.copy()
                row[0] = on_grid(RowMap(size, row_bound=1.0)(hostile_rows(rng, 1, size)), 1.0)
                other = exact_products(row, changed)[:, 0]
            largest = max(largest, float(np.linalg.norm(whole - other)))
        assert 0.9 * most < largest <= most


def test_sums_on_the_grid_are_exact_and_rows_stay_within_their_bound() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        rows = hostile_rows(rng, 5, 3)
        mapped = RowMap(3, row_bound=2.5)(rows)
        cut = on_grid(mapped, 2.5)
        integers = (cut * 2**16).astype(object).astype(int)
        assert np.all(integers == cut * 2**16)
        assert np.all((integers**2).sum(axis=1) <= 2**32)
        expected = integers.T @ integers
        assert np.all(exact_products(cut, cut) * 2**32 == expected.astype(float))
    many = on_grid(rng.uniform(-1.0, 1.0, (3000, 2)), 1.0)
    whole = exact_products(many, many)
    for _ in range(3):
        order = rng.permutation(3000)
        assert np.array_equal(exact_products(many[order], many[order]), whole)


def test_long_tables_are_added_up_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = on_grid(np.random.default_rng(6).uniform(-1.0, 1.0, (1000, 3)), 1.0)
    whole = exact_sums(table, table)
    assert np.array_equal(whole * GRID**2, exact_products(table, table))
    monkeypatch.setattr("mipselect.blocks.grid.EXACT_ROWS", 7)
    assert np.array_equal(exact_sums(table, table), whole)


@pytest.mark.parametrize("private", [True, False])
def test_the_noise_has_its_deviations(private: bool) -> None:
    source = random.Random(1)
    found = np.array([
        plus_symmetric_gaussian(np.zeros((3, 3)), 2.0, source, private=private)
        for _ in range(800)
    ])  # fmt: skip
    assert np.array_equal(found, found.transpose(0, 2, 1))
    for i in range(3):
        assert kstest(found[:, i, i], norm(scale=2.0).cdf).pvalue > 1e-4
        for j in range(i):
            assert kstest(found[:, i, j], norm(scale=math.sqrt(2.0)).cdf).pvalue > 1e-4
    flat = plus_gaussian(np.full(4000, 7.0), 0.3, source, private=private)
    assert kstest(flat, norm(7.0, 0.3).cdf).pvalue > 1e-4


def test_the_ridge_is_there_as_far_as_the_data_are_not() -> None:
    gram, sigma = np.diag([50.0, 400.0]), 2.0
    enough = 1.96 * math.sqrt(2.0) * sigma
    np.testing.assert_allclose(inverse_of_regularised(gram, 10.0, sigma), np.linalg.inv(gram))
    for lower, ridge in ((1.0, enough - 1.0), (0.0, enough), (-7.0, enough)):
        expected = np.linalg.inv(gram + ridge * np.eye(2))
        np.testing.assert_allclose(inverse_of_regularised(gram, lower, sigma), expected)
    inverse = inverse_of_regularised(np.diag([-90.0, 400.0]), 30.0, sigma)
    np.testing.assert_allclose(np.linalg.eigvalsh(inverse), [1.0 / 400.0, 0.5])


@pytest.mark.parametrize("relation", RELATIONS)
def test_at_a_large_epsilon_it_is_least_squares(relation: str) -> None:
    rng = np.random.default_rng(8)
    X = rng.uniform(-2.0, 2.0, (5000, 4))
    y = X @ [0.1, -0.2, 0.0, 0.3] + 0.25 + 0.01 * rng.normal(size=5000)
    for model in (
        AdaSSPRegressor(epsilon=1e3, x_bound=2.0, y_bound=2.0, relation=relation),
        BoostedAdaSSPRegressor(epsilon=1e3, x_bound=2.0, relation=relation),
        AdaSSPRegressor(epsilon=1e3, row_bound=5.0, y_bound=2.0, relation=relation),
    ):
        model.fit(X, y)
        np.testing.assert_allclose(model.coef_, [0.1, -0.2, 0.0, 0.3], atol=0.01)
        assert model.intercept_ == pytest.approx(0.25, abs=0.01)
        assert model.release_.footnotes == ()


def test_one_round_with_the_bound_of_the_target_is_adassp() -> None:
    rng = np.random.default_rng(9)
    X, y = rng.uniform(-1.0, 1.0, (300, 3)), rng.uniform(-1.0, 1.0, 300)
    once = AdaSSPRegressor(x_bound=1.0, y_bound=0.8, random_state=3).fit(X, y)
    boosted = BoostedAdaSSPRegressor(
        x_bound=1.0, y_bound=0.8, residual_bound=0.8, rounds=1, random_state=3
    ).fit(X, y)
    np.testing.assert_array_equal(once.coef_, boosted.coef_)


def doubles(units: np.ndarray) -> np.ndarray:
    """Exact sums, multiples of 2^-32, as what `exact_products` makes of them."""
    return np.array(units.astype(np.int64), dtype=np.float64) * 2.0**-32


@pytest.mark.parametrize("columns", [4, 30, 200])
def test_a_row_moves_rounded_sums_by_no_more_than_the_noise_is_for(columns: int) -> None:
    """Sums of 2^31 - 1 rows just below the middle of two doubles, and one row more."""
    step = 2**16 // math.isqrt(4 * columns - 1)
    row = np.full((columns, columns), step**2, dtype=object)
    before = np.full((columns, columns), 2**62 + 2**9 - 1, dtype=object)
    before += np.diag(np.full(columns, 2**62 - 2**31)).astype(object)
    gram, gradient = (doubles(before + more) - doubles(before) for more in (row, row))
    mu = largest_mu(1.0, 1e-6)
    allowed = deviations(1.0, 1e-6, "add-remove", 1, columns=columns)
    exactly = math.sqrt(float(sum(int(v) ** 2 for v in row.flat))) * 2.0**-32
    assert np.linalg.norm(gram) > exactly + columns * 2.0**-24
    # All that rounding adds to the move of a row is within what Δ is above 1.
    for moved, deviation in ((gram, allowed.gram), (gradient[0], allowed.gradient)):
        exact = moved.size**0.5 * step**2 * 2.0**-32
        assert np.linalg.norm(moved) - exact <= mu * deviation / math.sqrt(3.0) - 1.0


def matrices(rng: np.random.Generator, size: int) -> list[np.ndarray]:
    """Sums of squares with small, no, or very different eigenvalues, of trace up to 2^31."""
    rows = rng.uniform(-1.0, 1.0, (3 * size, size)) / math.sqrt(size)
    few = rows[: max(1, size // 2)]
    graded = rows * 2.0 ** -np.arange(size)
    same = np.ones((1, size)) / math.sqrt(size)
    near = same + 1e-7 * rows
    return [2.0**31 / len(part) * (part.T @ part) for part in (rows, few, graded, same, near)]


@pytest.mark.parametrize("size", [1, 2, 3, 8, 15])
def test_the_smallest_eigenvalue_is_right_to_what_the_noise_is_for(size: int) -> None:
    rng = np.random.default_rng(size)
    for gram in matrices(rng, size):
        with mpmath.workdps(50):
            exact = min(mpmath.eigsy(mpmath.matrix(gram.tolist()), eigvals_only=True))
            off = abs(float(exact - mpmath.mpf(smallest_eigenvalue(gram))))
        error = 8.0 * (size + 2) * 2.0**-53 * float(np.trace(gram))
        assert off <= error
        sigma = deviations(1.0, 1e-6, "replace-one", 1, columns=size).eigenvalue
        assert 2.0 * error <= largest_mu(1.0, 1e-6) * sigma / math.sqrt(3.0) - 1.0
    assert smallest_eigenvalue(np.zeros((size, size))) == 0.0


def test_more_rows_than_sums_hold_are_refused() -> None:
    many = np.broadcast_to(np.zeros((1, 1)), (MOST_ROWS + 1, 1))
    with pytest.raises(InvalidInput, match="at most 2,147,483,647 rows"):
        exact_sums(many, many)


EPSILONS = [1e-12, 1e-9, 3e-8, 1e-8, 1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0, 3.0, 8.0, 20.0]
DELTAS = [1e-12, 3e-12, 1e-11, 1e-10, 1e-9, 3e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05,
          0.1, 0.3, 0.5]  # fmt: skip
EXTREMES = [
    (epsilon, delta)
    for epsilon in (5e-324, 1e-100, 1e-15, 100.0, 1e3, 1e6)
    for delta in (1e-100, 1e-12, 0.5, 1.0 - 2.0**-53)
] + [(5e-324, 5e-324), (1e-308, 1e-308), (1.0, 5e-324), (1e3, 1e-300)]


def exact_delta(mu: Any, epsilon: Any) -> Any:
    """Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2), to the digits in use."""
    m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)


def check(epsilon: float, delta: float, digits: int) -> None:
    mu = largest_mu(epsilon, delta)
    with mpmath.workdps(digits):
        assert exact_delta(mu, epsilon) <= delta
        above = max(mu * (1 + mpmath.mpf("1e-9")), mpmath.mpf(math.nextafter(mu, math.inf)))
        assert exact_delta(above, epsilon) > delta


def test_mu_is_rounded_down_and_by_little() -> None:
    pairs = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]
    assert len(pairs) >= 210
    for epsilon, delta in pairs:
        check(epsilon, delta, 60)


@pytest.mark.parametrize(("epsilon", "delta"), EXTREMES)
def test_mu_at_the_ends_of_the_floats(epsilon: float, delta: float) -> None:
    check(epsilon, delta, 800)


def test_bounds_hold_the_curve_and_are_near_each_other() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        mu = float(10.0 ** rng.uniform(-12.0, 1.5))
        epsilon = float(rng.choice([0.0, mu * mu, mu * 10.0 ** rng.uniform(-12.0, 1.3)]))
        low, high = gaussian_delta(mu, epsilon)
        assert 0 < low <= high <= low * (1 + Decimal("1e-17"))
        with mpmath.workdps(300):
            assert mpmath.mpf(str(low)) <= exact_delta(mu, epsilon) <= mpmath.mpf(str(high))


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e-9, 1.0, 1e9, 1e154, 1.7e308])
def test_bounds_of_any_doubles_come_to_an_end(size: float) -> None:
    for mu in (5e-324, 1e-9, 1.0, 1e154, 1.7e308):
        low, high = gaussian_delta(mu, size)
        assert 0 <= low <= high <= 1
        assert high > 0, "δ is positive, though no decimal may express it"


def test_the_logarithm_for_the_audit_is_not_below_the_curve() -> None:
    for mu in (1e-11, 1e-6, 1e-3, 0.3, 2.0, 40.0):
        for epsilon in (0.0, 1e-12, 1e-7, 0.2, 3.0):
            if epsilon / mu > 1e4:
                continue
            found = log_gaussian_delta(mu, epsilon)
            with mpmath.workdps(200):
                exact = mpmath.log(exact_delta(mu, epsilon)) if epsilon / mu < 20 else found
                assert exact <= found <= exact + 1e-15 * max(1.0, abs(exact))


def test_a_printed_budget_is_kept_as_well() -> None:
    """A ledger reads the decimals: 1e-6 is above the double of that name, 0.1 below it.

    Of the last four another μ would follow from the doubles alone.
    """
    plain = ((0.1, 1e-6), (0.3, 1e-7), (3e-8, 1e-9), (1.1, 0.1))
    for epsilon, delta in (*plain, (0.1, 3e-6), (0.05, 1e-6), (1.1, 1e-6), (5.7, 0.2)):
        mu = largest_mu(epsilon, delta)
        with mpmath.workdps(60):
            for number in (Fraction(repr(delta)), Fraction(delta)):
                for budget in (repr(epsilon), epsilon):
                    stated = mpmath.mpf(number.numerator) / number.denominator
                    assert exact_delta(mu, budget) <= stated
