"""What a draw can be worth: from public numbers for `release`, and from the data for `solve`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mipselect.data.files import Problem
from mipselect.instance import Instance
from mipselect.losses import checked_loss
from mipselect.search import SupportPool


@dataclass(frozen=True)
class Clipping:
    """The shares of every column and of the target that the bounds clip; sensitive."""

    columns: tuple[float, ...]
    target: float


@dataclass(frozen=True)
class Outside:
    """The probability that top-r at ε draws a support that is not in its pool; sensitive."""

    epsilon: float
    probability: float


def largest_range(instance: Instance) -> float:
    """The most that R can differ between two supports on any data; public.

    No support is worse than β = 0. As a loss is convex, ℓ(y, 0) - ℓ(y, u) is at most half of
    ℓ(y, -u) - ℓ(y, u), and so no support is better than that by more than half of nΔ. Where
    ℓ(y, y) = 0, for all losses but that of classes, it cannot be better by more than ℓ(y, 0).
    """
    half = 0.5 * instance.n * instance.sensitivity
    if instance.classes is not None:
        return half
    return min(half, checked_loss(instance.loss).spread(instance.y_bound, 0.0))


def blindness(instance: Instance, epsilon: float, tolerance: float) -> str:
    """A sentence if no data can make a draw much better than a blind one, else ""; public.

    The noise in R of a draw from N supports is up to 2(Δ + τ)/ε · ln N, with τ = tolerance · Δ.
    """
    noise = 2.0 * instance.sensitivity * (1.0 + tolerance) / epsilon
    noise *= math.log(instance.number_of_supports)
    most = largest_range(instance)
    if noise < most or instance.number_of_supports == 1:
        return ""
    return (
        f"on no data is a draw much better than a blind one: its noise 2(Δ + τ)/ε · ln C(p, s) = "
        f"{noise:.3g} is not below the largest possible range of the objective, {most:.3g}; more "
        "rows, a larger ε or smaller bounds would help"
    )


def outside(pool: SupportPool, epsilon: float) -> Outside:
    """What is left to chance among the supports that are not listed."""
    if not pool.number_unlisted:
        return Outside(epsilon, 0.0)
    scale = 2.0 * pool.sensitivity * (1.0 + pool.tolerance)
    with np.errstate(over="ignore"):
        logs = -epsilon * ((pool.values - pool.values[0]) / scale)
    unlisted = math.log(pool.number_unlisted) + float(logs[-1])
    listed = float(np.logaddexp.reduce(logs))
    return Outside(epsilon, math.exp(unlisted - float(np.logaddexp(unlisted, listed))))


def clipped(problem: Problem, instance: Instance) -> Clipping:
    """What the bounds of an instance do to its data."""
    columns = tuple(float(np.mean(np.abs(x) > instance.x_bound)) for x in problem.X.T)
    if instance.classes is not None:
        return Clipping(columns, 0.0)
    return Clipping(columns, float(np.mean(np.abs(problem.y) > instance.y_bound)))
