"""Usefulness of a draw and of bounds, from the data, for `solve`; sensitive."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mipselect.problem.instance import Instance
from mipselect.problem.stored.files import StoredData
from mipselect.search import SupportPool


@dataclass(frozen=True)
class Clipping:
    """The shares of every column and of the target that the bounds change; sensitive."""

    columns: tuple[float, ...]
    target: float


@dataclass(frozen=True)
class Outside:
    """The probability that top-r at ε draws a support that is not in its pool; sensitive."""

    epsilon: float
    probability: float


def outside(pool: SupportPool, epsilon: float) -> Outside:
    """Return the probability that top-r at ε draws a support that is not listed in its pool."""
    if not pool.number_unlisted:
        return Outside(epsilon, 0.0)
    scale = 2.0 * pool.sensitivity * (1.0 + pool.tolerance)
    with np.errstate(over="ignore"):
        logs = -epsilon * ((pool.values - pool.values[0]) / scale)
    unlisted = math.log(pool.number_unlisted) + float(logs[-1])
    listed = float(np.logaddexp.reduce(logs))
    return Outside(epsilon, math.exp(unlisted - float(np.logaddexp(unlisted, listed))))


def clipped(stored: StoredData, instance: Instance) -> Clipping | None:
    """Return the shares of the data that the bounds clip; None for a table already mapped."""
    if stored.mapped:
        return None
    pairs = zip(stored.X.T, instance.X.T, strict=True)
    columns = tuple(float(np.mean(before != after)) for before, after in pairs)
    if instance.classes is not None:
        return Clipping(columns, 0.0)
    return Clipping(columns, float(np.mean(np.abs(stored.y) > instance.y_bound)))
