"""Noise in the norm of a product of balls: its law on hostile pairs, its ridge, two classes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma, kstest

from mipselect.errors import InvalidInput
from mipselect.regression import (
    AdaSSPRegressor,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
)
from mipselect.regression.noise import product_laplace
from mipselect.regression.perturbed_objective import (
    LogisticLoss,
    Perturbation,
    balanced_ridge,
    perturbed_minimiser,
    with_ridge,
)
from mipselect.regression.rows import Balls, RowMap
from mipselect.selectors import SISSelector
from tests.support.hockey_stick import MixedLaw, largest_delta
from tests.support.perturbed_laws import PerturbedMinimiser, norms_in
from tests.support.quadrature import Box, integral

RELATIONS = ["add-remove", "replace-one"]
LOSSES = ["logistic", "huber(0.25)", "huber(9)", "squared"]
Model = ObjectivePerturbationClassifier | ObjectivePerturbationRegressor
SHAPES: dict[str, tuple[int, dict[str, Any]]] = {
    "two numbers": (2, {"fit_intercept": False}),
    "a number and the one": (1, {}),
    "a field of two": (2, {"fit_intercept": False, "fields": (2,)}),
    "numbers of two lengths": (2, {"fit_intercept": False, "x_bound": [1.0, 0.2]}),
    "a short row": (2, {"fit_intercept": False, "row_bound": 0.5}),
}
Pair = tuple[np.ndarray, np.ndarray]
"""Two tables of mapped rows whose last entry is the target, in ± 1."""


def model_of(shape: str, loss: str = "logistic", **options: Any) -> tuple[int, Model]:
    size, own = SHAPES[shape]
    given = {"x_bound": 1.0, **own, **options}
    if loss == "logistic":
        return size, ObjectivePerturbationClassifier(**given)
    return size, ObjectivePerturbationRegressor(y_bound=1.0, loss=loss, **given)


def hostile_pairs(rows: RowMap, relation: str, n: int, seed: int) -> Iterator[Pair]:
    """Rows at the corners of what the map allows, and one of them changed."""
    rng = np.random.default_rng(seed)

    def row() -> np.ndarray:
        at = rng.choice([-9.0, 9.0, 0.0, 1e-3], rows.size, p=[0.4, 0.4, 0.1, 0.1])
        return np.append(rows(at[None])[0], rng.choice([-1.0, 1.0]))

    for _ in range(30):
        kept = np.array([row() for _ in range(n - 1)]).reshape(n - 1, rows.columns + 1)
        if n > 1 and rng.random() < 0.5:
            kept[:] = kept[0]
        whole = np.vstack([row(), kept])
        yield whole, np.vstack([row(), kept if relation == "replace-one" else whole])


def law(model: Model, size: int, table: np.ndarray, count: int | None,
        chosen: Perturbation | None = None) -> PerturbedMinimiser:  # fmt: skip
    return PerturbedMinimiser(
        model._loss(), table[:, :-1], table[:, -1],
        chosen or model._perturbation(size, count), model._radius(size), model._change(size)[0],
    )  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_exact_densities_keep_epsilon(loss: str, relation: str, shape: str) -> None:
    rng = np.random.default_rng(3)
    for epsilon, n, ridge in ((0.1, 1, None), (1.0, 4, None), (3.0, 400, None), (1.0, 5, 0.0)):
        size, model = model_of(
            shape, loss, relation=relation, epsilon=epsilon, ridge=ridge, coef_bound=8.0
        )
        count = n if relation == "replace-one" else None
        worst = 0.0
        for one, other in hostile_pairs(model._rows(size), relation, n, n):
            betas = rng.normal(size=(24, model._rows(size).columns))
            betas *= (8.0 * rng.random(24) ** 2 / np.linalg.norm(betas, axis=1))[:, None]
            logs = [law(model, size, table, count).log_density(betas) for table in (one, other)]
            worst = max(worst, float(np.abs(logs[0] - logs[1]).max()))
        assert 0.3 * epsilon < worst <= epsilon * (1.0 + 1e-9)


@pytest.mark.parametrize("shape", ["two numbers", "a number and the one"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", ["logistic", "huber(0.25)"])
def test_no_pair_needs_a_delta(loss: str, relation: str, shape: str) -> None:
    """The whole law, with the boundary of a small ball."""
    size, model = model_of(shape, loss, relation=relation, epsilon=1.0, coef_bound=0.7)
    count = 3 if relation == "replace-one" else None

    def law_of(chosen: Perturbation) -> Callable[[np.ndarray], MixedLaw]:
        return lambda table: law(model, size, table, count, chosen).law

    pairs = list(hostile_pairs(model._rows(size), relation, 3, 1))[:1]
    chosen = model._perturbation(size, count)
    whole = largest_delta(law_of(chosen), pairs, 1.0, tolerance=1e-2)
    assert whole.delta == 0.0
    assert whole.loss <= 1.0


def test_densities_are_those_of_the_draws() -> None:
    """Shares of sectors of a disc, inside and on its boundary, for noise in a square."""
    size, model = model_of("two numbers", epsilon=1.0, coef_bound=0.4)
    table = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [0.2, 1.0, 1.0]])
    found = law(model, size, table, 3)
    inside, boundary = found.law.densities
    source, chosen = random.Random(1), found.chosen
    draws = np.array([
        perturbed_minimiser(
            LogisticLoss(), table[:, :-1], table[:, -1], chosen.ridge,
            product_laplace(source, model._change(size)[0], chosen.noise_scale), 0.4,
        )
        for _ in range(1500)
    ])  # fmt: skip
    lengths = np.linalg.norm(draws, axis=1)
    angles = np.arctan2(draws[:, 1], draws[:, 0]) % (2.0 * math.pi)
    outside = lengths >= 0.4 * (1.0 - 1e-9)
    total = 0.0
    for low, high in pairwise(np.linspace(0.0, 2.0 * math.pi, 4)):
        here = (angles >= low) & (angles < high)
        for part, seen, box in (
            (boundary, here & outside, Box((low,), (high,))),
            (inside, here & ~outside, Box((0.0, low), (0.16, high))),
        ):
            share = integral(lambda x, part=part: np.exp(part.log_density(x)), box, 1e-4)[0]
            total += share
            assert abs(seen.mean() - share) <= 5.0 * math.sqrt(share / len(draws)) + 2e-4
    assert total == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize(
    "balls",
    [Balls((1, 1), (1.0, 1.0)), Balls((3,), (1.0,)), Balls((2, 1, 1), (1.0, 0.3, 2.0))],
    ids=str,
)
def test_the_noise_has_its_law(balls: Balls) -> None:
    source = random.Random(5)
    draws = np.array([product_laplace(source, balls, 2.0) for _ in range(4000)])
    norms = norms_in(balls, draws)
    assert kstest(norms, gamma(balls.size, scale=2.0).cdf).pvalue > 1e-4
    assert np.sqrt((draws**2).mean()) == pytest.approx(2.0 * balls.deviation, rel=0.05)
    # What is within the norm 1 after division is the surface: each part alone has its law there.
    ends = np.cumsum(balls.widths)[:-1]
    for part, radius in zip(np.split(draws, ends, axis=1), balls.radii, strict=True):
        share = np.linalg.norm(part, axis=1) / radius / norms
        width = part.shape[1]
        other = share < 1.0 - 1e-12
        if other.any():
            # A part that is not the longest is uniform in its ball.
            assert kstest(share[other] ** width, "uniform").pvalue > 1e-4
        assert (~other).mean() == pytest.approx(width / balls.size, abs=0.04)


def test_the_ridge_is_the_root_of_its_rule() -> None:
    balls = Balls((1, 1, 4, 1), (1.0,) * 4)
    for epsilon, n in product((0.05, 0.5, 4.0), (1, 50, 5_000, 10**7)):
        ridge = balanced_ridge(6.0, epsilon, 2.0, 1.0, balls, n)
        chosen = with_ridge(ridge, epsilon, 2.0, 1.0)
        assert 2.0 / chosen.noise_scale + chosen.jacobian <= epsilon
        deviation = balls.deviation * chosen.noise_scale
        assert ridge == pytest.approx(6.0 * deviation * math.sqrt(deviation / n), rel=1e-9)
        assert ridge > balanced_ridge(6.0, epsilon, 2.0, 1.0, balls, 2 * n)
        # In other units of the rows the same coefficients are shrunk by as much.
        scaled = Balls(balls.widths, (0.1,) * 4)
        again = balanced_ridge(6.0, epsilon, 2.0, 0.01, scaled, n)
        assert again == pytest.approx(0.01 * ridge, rel=1e-9)
    assert balanced_ridge(6.0, 1.0, 2.0, 1.0, balls, None) > 0.0


def test_the_number_of_rows_counts_where_it_is_public() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (600, 2))
    y = X[:, 0] > 0.0
    for relation, same in (("add-remove", True), ("replace-one", False)):
        model = ObjectivePerturbationClassifier(x_bound=1.0, relation=relation)
        ridges = {model.fit(X[:n], y[:n]).release_.bounds["ridge"] for n in (300, 600)}
        assert (len(ridges) == 1) == same


def test_rows_are_shortened_by_field() -> None:
    rows = RowMap(3, x_bound=(1.0,) * 3, fields=(2, 1))
    mapped = rows(np.array([[5.0, 5.0, 0.3], [0.6, 0.0, -7.0]]))
    np.testing.assert_allclose(mapped[0], [math.sqrt(0.5), math.sqrt(0.5), 0.3, 1.0])
    np.testing.assert_allclose(mapped[1], [0.6, 0.0, -1.0, 1.0])
    assert rows.norm == pytest.approx(math.sqrt(3.0))
    assert rows.parts == Balls((2, 1, 1), (1.0,) * 3)
    for wrong in ((2,), (2, 2), (3, 0), (1.5, 1.5)):
        with pytest.raises(InvalidInput, match="field"):
            RowMap(3, x_bound=(1.0,) * 3, fields=wrong)  # type: ignore[arg-type]


def test_noise_in_the_better_norm() -> None:
    """Of the fields, or of whole rows: where they are short, and where two gradients are near."""

    def deviation(**options: Any) -> tuple[tuple[int, ...], float]:
        bounds = {"x_bound": 1.0, "y_bound": 1.0, "relation": "replace-one", **options}
        balls, change = ObjectivePerturbationRegressor(**bounds)._change(8)
        return balls.widths, balls.deviation * change

    widths, least = deviation(loss="huber(0.25)")
    assert widths == (1,) * 9
    assert least < 0.65 * Balls((9,), (3.0,)).deviation * 0.5
    widths, least = deviation(loss="huber(0.25)", row_bound=0.5)
    assert widths == (9,)
    assert least == pytest.approx(Balls((9,), (0.5,)).deviation * 0.5)
    # A squared loss whose coefficients are long: D is hardly more than for a row that is added.
    widths, least = deviation(loss="squared", coef_bound=5.0)
    assert widths == (9,)
    assert least < 1.1 * Balls((9,), (3.0,)).deviation * (1.0 + 5.0 * 3.0)
    assert deviation(loss="squared", coef_bound=5.0, relation="add-remove")[0] == (1,) * 9


def test_coefficients_do_not_depend_on_the_unit_of_the_target() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (3000, 2))
    y = 0.4 * X[:, 0]
    found = [
        ObjectivePerturbationRegressor(
            x_bound=1.0, y_bound=scale, loss=f"huber({0.25 * scale!r})", random_state=0
        ).fit(X, scale * y)
        for scale in (1.0, 1024.0)
    ]
    np.testing.assert_allclose(1024.0 * found[0].coef_, found[1].coef_, rtol=1e-9)
    assert found[0].score(X, y) > 0.6


def noisy_classes(n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 4))
    likely = 1.0 / (1.0 + np.exp(1.5 - 4.0 * X[:, 2]))
    return X, np.where(rng.random(n) < likely, "ill", "healthy")


def test_probabilities_are_those_of_the_classes() -> None:
    X, y = noisy_classes()
    model = ObjectivePerturbationClassifier(x_bound=1.0, epsilon=4.0, random_state=0).fit(X, y)
    found = model.predict_proba(X)
    assert found.shape == (2000, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-15)
    u = model.decision_function(X)
    np.testing.assert_allclose(np.log(found[:, 1] / found[:, 0]), u, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[found.argmax(axis=1)])
    assert model.classes_.tolist() == ["healthy", "ill"]
    # The gradient of the intercept is what the noise is: probabilities add up to the rate.
    assert found[:, 1].mean() == pytest.approx((y == "ill").mean(), abs=0.02)
    release = model.release_
    np.testing.assert_array_equal(release.probabilities(X), found)
    few = release.predict(X, threshold=0.8)
    np.testing.assert_array_equal(few == "ill", found[:, 1] > 0.8)
    assert 0 < (few == "ill").sum() < (y == "ill").sum()
    for wrong in (0.0, 1.0, math.nan):
        with pytest.raises(InvalidInput, match="threshold"):
            release.predict(X, threshold=wrong)


def test_a_model_of_numbers_has_no_probabilities() -> None:
    X, _ = noisy_classes(200)
    model = AdaSSPRegressor(x_bound=1.0, y_bound=1.0).fit(X, X[:, 0])
    assert not hasattr(model, "predict_proba")
    for asked in (lambda: model.release_.probabilities(X),
                  lambda: model.release_.predict(X, threshold=0.2)):  # fmt: skip
        with pytest.raises(InvalidInput, match="logistic loss has probabilities"):
            asked()


def test_a_selection_before_probabilities() -> None:
    X, y = noisy_classes()
    selector = SISSelector(1, x_bound=1.0, y_bound=1.0, relation="replace-one")
    model = SelectThenRegress(selector, ObjectivePerturbationClassifier(x_bound=1.0), epsilon=20.0)
    assert hasattr(model, "predict_proba")
    model.set_params(regressor__classes=("healthy", "ill")).fit(X, y)
    found = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[found.argmax(axis=1)])
    np.testing.assert_array_equal(model.decision_function(X) > 0.0, found[:, 1] > 0.5)
    numbers = SelectThenRegress(selector, AdaSSPRegressor(x_bound=1.0, y_bound=1.0))
    assert not hasattr(numbers, "predict_proba")
    assert not hasattr(numbers, "decision_function")


def test_more_than_two_classes_are_refused_with_what_to_do() -> None:
    X, _ = noisy_classes(90)
    model = ObjectivePerturbationClassifier(x_bound=1.0)
    with pytest.raises(InvalidInput, match="one class against the rest"):
        model.fit(X, np.arange(90) % 3)


def test_coefficients_are_not_held_back_by_a_bound() -> None:
    """Of a field that is narrow in its range: a default of 3/√2 would say yes to nobody."""
    rng = np.random.default_rng(1)
    x = 0.05 * rng.normal(size=(20_000, 1))
    y = rng.random(20_000) < 1.0 / (1.0 + np.exp(1.8 - 30.0 * x[:, 0]))
    model = ObjectivePerturbationClassifier(x_bound=1.0, random_state=0).fit(x, y)
    assert model.coef_[0] > 15.0
    assert 0.5 < model.predict(x).mean() / 0.08 < 1.5
