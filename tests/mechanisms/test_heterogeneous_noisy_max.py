"""What noise of scales of their own costs: exact laws on hostile neighbours, by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from mipselect.mechanisms import HeterogeneousNoisyMax
from mipselect.mechanisms.noise.noise import NOISES

Function = Callable[[np.ndarray], np.ndarray]


def logistic(z: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * z))


DENSITIES: dict[str, Function] = {
    "exponential": lambda z: np.where(z >= 0.0, np.exp(-np.abs(z)), 0.0),
    "gumbel": lambda z: np.exp(-z - np.exp(-z)),
    "laplace": lambda z: 0.5 * np.exp(-np.abs(z)),
    "logistic": lambda z: logistic(z) * logistic(-z),
    "half-logistic": lambda z: np.where(z >= 0.0, 2.0 * logistic(z) * logistic(-z), 0.0),
}
DISTRIBUTIONS: dict[str, Function] = {
    "exponential": lambda z: np.where(z >= 0.0, -np.expm1(-np.abs(z)), 0.0),
    "gumbel": lambda z: np.exp(-np.exp(-z)),
    "laplace": lambda z: np.where(z < 0.0, 0.5 * np.exp(-np.abs(z)), 1 - 0.5 * np.exp(-np.abs(z))),
    "logistic": logistic,
    "half-logistic": lambda z: np.where(z >= 0.0, np.tanh(0.5 * np.abs(z)), 0.0),
}
LOWEST = {"gumbel": -6.0, "laplace": -45.0, "logistic": -45.0}
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def log_law(scores: np.ndarray, widths: np.ndarray, epsilon: float, noise: str) -> np.ndarray:
    """Log of every item's probability to have the largest ε q/2 + Δ Z, for positive Δ."""
    utilities = 0.5 * epsilon * scores
    logs = []
    for a, width in enumerate(widths):
        kinks = (utilities - utilities[a]) / width
        top = 45.0 + max(0.0, float(kinks.max()))
        cuts = np.arange(LOWEST.get(noise, 0.0), top, 1.0)
        cuts = np.unique(np.concatenate([cuts, [0.0, top], kinks[(kinks > cuts[0])]]))
        half = 0.5 * np.diff(cuts)[:, None]
        z = cuts[:-1, None] + half * (1.0 + NODES)
        values = DENSITIES[noise](z)
        for b in range(scores.size):
            if b != a:
                argument = (utilities[a] - utilities[b] + width * z) / widths[b]
                values = values * DISTRIBUTIONS[noise](argument)
        logs.append(math.log(float((half * WEIGHTS * values).sum())))
    return np.array(logs)


def loss(
    one: np.ndarray, other: np.ndarray, widths: np.ndarray, epsilon: float, noise: str
) -> float:
    logs = log_law(one, widths, epsilon, noise) - log_law(other, widths, epsilon, noise)
    return float(np.abs(logs).max())


@pytest.mark.parametrize("noise", NOISES)
def test_the_quadrature_adds_up_to_one_and_agrees_with_the_draws(noise: str) -> None:
    scores, widths = np.array([1.0, -0.5, 0.0]), np.array([0.4, 2.0, 1.0])
    law = log_law(scores, widths, 1.5, noise)
    assert np.exp(law).sum() == pytest.approx(1.0, rel=1e-9)
    mechanism = HeterogeneousNoisyMax(scores, widths, 1.5, noise=noise)
    for index in range(3):
        estimate = mechanism.estimate(index)
        assert abs(estimate.log_probability - law[index]) < 2.0 * estimate.error


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("widths", [[1.0, 1.8], [0.5, 1.0, 3.0], [1.0, 1.0, 4.0]])
def test_no_pair_of_neighbours_costs_more(noise: str, widths: list[float]) -> None:
    """Every corner of the moves that the sensitivities allow, from near and far scores."""
    rng, moves = np.random.default_rng(1), np.array(widths)
    for epsilon, spread in ((0.3, 1.0), (2.0, 1.0), (2.0, 8.0)):
        scores = spread * rng.normal(size=moves.size)
        promised = HeterogeneousNoisyMax(scores, moves, epsilon, noise=noise).privacy_loss
        for corner in product((-1.0, 0.0, 1.0), repeat=moves.size):
            found = loss(scores, scores + moves * corner, moves, epsilon, noise)
            assert found <= promised * (1.0 + 1e-9) + 1e-9, (epsilon, scores, corner)


@pytest.mark.parametrize("noise", ["exponential", "gumbel", "half-logistic"])
def test_two_items_reach_it(noise: str) -> None:
    """The item with the smaller Δ, far behind: 1.4 ε with the paper's 1.8 and 1."""
    widths, epsilon = np.array([1.8, 1.0]), 1.0
    one = np.array([0.0, 0.0 if noise == "exponential" else -20.0])
    other = one + widths * [1.0, -1.0]
    promised = HeterogeneousNoisyMax(one, widths, epsilon, noise=noise).privacy_loss
    assert promised == pytest.approx(1.4)
    assert loss(one, other, widths, epsilon, noise) == pytest.approx(promised, rel=1e-3)


@pytest.mark.parametrize("noise", ["laplace", "logistic"])
def test_with_noise_on_both_sides_many_items_reach_it(noise: str) -> None:
    """Two items cost one ε/2 each; where there are many the quotient of the Δ decides."""
    two = HeterogeneousNoisyMax([0.0, 0.0], [1.0, 9.0], 1.0, noise=noise)
    assert two.privacy_loss == 1.0
    widths, epsilon = np.array([1.0, *[2.0] * 12]), 1.0
    one = np.zeros(13)
    one[0] = -30.0
    other = one + widths
    other[0] = one[0] - 1.0
    promised = HeterogeneousNoisyMax(one, widths, epsilon, noise=noise).privacy_loss
    assert promised == pytest.approx(1.5)
    assert loss(one, other, widths, epsilon, noise) > 0.99 * promised


@pytest.mark.parametrize("noise", NOISES)
def test_items_that_cannot_move(noise: str) -> None:
    def cost(widths: list[float]) -> float:
        return HeterogeneousNoisyMax(np.zeros(len(widths)), widths, 2.0, noise=noise).privacy_loss

    some = 3.0 if noise in ("laplace", "logistic") else math.inf
    assert cost([0.0, 1.0, 1.0, 1.0]) == some
    assert cost([0.0, 0.0]) == 0.0
    assert cost([3.0]) == 0.0
    # Item 1 has no noise: it wins with probability F(x), and x moves by ε/2 = 1.
    with np.errstate(divide="ignore", invalid="ignore"):
        here, there = (
            np.log(DISTRIBUTIONS[noise](np.array([0.5, -4.0]) - step)) for step in (0, 1)
        )
        losses = here - there
    assert (np.nanmax(losses) > 50.0) == (some == math.inf)
