"""A fixed set of searches, and the work that each of them takes.

Easy and correlated columns, copies, fewer rows than columns, features of several columns, columns
that are always in, wide and narrow bounds, sizes up to 12, sums in place of rows, and every loss.
None takes more than a second or two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from mipselect import Instance, NotCertified
from mipselect.arrays import FloatArray
from mipselect.datasets import correlated_gaussian, logistic_gaussian
from mipselect.search.least_squares import closed_form
from mipselect.search.options import SearchOptions
from mipselect.search.progress import Deadline, Run, TimeUp
from mipselect.search.setup import Search, set_up
from mipselect.search.soft import LogWeight, Partition, space_of
from mipselect.search.supports import find_levels, find_supports, number_of_listed
from mipselect.search.tuning import TUNING, Tuning
from mipselect.tables.moments import Moments


@dataclass(frozen=True)
class Counts:
    """Work of one search.

    Attributes
    ----------
    nodes : int
        Subproblems that were bounded, or cells of a partition.
    values : int
        Supports whose restricted problem was solved.
    pairs : int
        Gains of pairs of additions that were computed in closed form.
    steps : int
        Looks at the clock: pieces of work, however much each of them does at once.
    """

    nodes: int
    values: int
    pairs: int = 0
    steps: int = 0


def spread(
    n: int, p: int, s: int, rho: float, snr: float, ridge: float, *, seed: int = 0, **given: Any
) -> Instance:
    """Columns of an autoregressive process, and s equal coefficients, equally spaced."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * X[:, j]
    signal = X[:, np.arange(s) * (p // s)].sum(axis=1)
    y = signal + np.sqrt(signal.var() / snr) * rng.standard_normal(n)
    bounds = {"x_bound": 6.0, "y_bound": 30.0, "coef_bound": 2.0 * np.sqrt(s), "ridge": ridge}
    return Instance(X, y, **{"support_size": s, **bounds, **given})


def with_factors(n: int, p: int, s: int, factors: int, ridge: float, noise: float) -> Instance:
    """Columns that a few factors have in common, as those of gene expression; few rows."""
    rng = np.random.default_rng(0)
    common = rng.standard_normal((n, factors)) @ rng.standard_normal((factors, p))
    X = common / np.sqrt(factors) + noise * rng.standard_normal((n, p))
    signal = X[:, np.arange(s) * (p // s)].sum(axis=1)
    y = signal / signal.std() + 0.7 * rng.standard_normal(n)
    return Instance(X, y, support_size=s, x_bound=6.0, y_bound=30.0, coef_bound=4.0, ridge=ridge)


def classes_of_factors() -> Instance:
    """Two classes that a factor decides, within bounds as tight as those of gene expression.

    The tolerance is a good part of the best value there, so that what certifies is far from exact.
    """
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((60, 5))
    X = factors @ rng.standard_normal((5, 300)) + 2.0 * rng.standard_normal((60, 300))
    y = 0.5 * np.sign(factors[:, 0] + 0.5 * rng.standard_normal(60))
    X -= X.mean(axis=0)
    X *= 0.5 / np.abs(X).max(axis=0)
    return Instance(X, y, support_size=6, x_bound=0.5, y_bound=0.5, coef_bound=1.1, ridge=1.44)


def grouped(
    n: int,
    p: int,
    s: int,
    ridge: float,
    *,
    rho: float = 0.5,
    always: int = 0,
    categories: bool = True,
) -> Instance:
    """Features of one to three columns, by turns with categories of four, and an intercept."""
    rng = np.random.default_rng(0)
    common = rng.standard_normal((n, 1))
    blocks = []
    for j in range(p):
        if j % 2 and categories:
            blocks.append(np.eye(4)[rng.integers(0, 4, n)])
        else:
            own = rng.standard_normal((n, 1 + j % 3))
            blocks.append(rho * common + np.sqrt(1.0 - rho**2) * own)
    fixed = rng.standard_normal((n, always))
    y = 0.5 * fixed.sum(axis=1) + rng.standard_normal(n)
    for block in blocks[:: p // s]:
        y += block @ rng.uniform(0.3, 1.0, block.shape[1])
    ends = np.cumsum([block.shape[1] for block in blocks]).tolist()
    places = [list(range(start, end)) for start, end in zip([0, *ends], ends, strict=False)]
    return Instance(
        np.hstack([*blocks, fixed]), y, support_size=s, x_bound=3.0, y_bound=6.0, coef_bound=4.0,
        ridge=ridge, groups=places, always=list(range(ends[-1], ends[-1] + fixed.shape[1])) or None,
        intercept=True,
    )  # fmt: skip


def copied(p: int, copies: int, s: int, rho: float, snr: float, apart: float) -> Instance:
    """Columns that all stand there several times, up to noise of this size."""
    one = spread(200, p, s, rho, snr, 5.0)
    X = np.repeat(one.X, copies, axis=1)
    X += apart * np.random.default_rng(0).standard_normal(X.shape)
    return Instance(X, one.y, support_size=s, x_bound=6.0, y_bound=30.0, coef_bound=4.0, ridge=5.0)


def decoys(count: int) -> Instance:
    """Pairs of columns, and one near the sum of each pair that forward selection takes first."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3 * count + 30))
    y = rng.standard_normal(300)
    for k in range(0, 3 * count, 3):
        both = X[:, k] + X[:, k + 1]
        X[:, k + 2] = both / np.sqrt(2.0) + 0.3 * rng.standard_normal(300)
        y += both
    return Instance(
        X, y, support_size=2 * count, x_bound=6.0, y_bound=30.0, coef_bound=10.0, ridge=1.0
    )


def with_loss(loss: str, rho: float, snr: float, bound: float, p: int) -> Instance:
    """The papers' generator, with everything bounded by the same number."""
    draw = logistic_gaussian if loss == "hinge" else correlated_gaussian
    X, y = draw(300, p, rho=rho, snr=snr, support_size=4, seed=1)
    return Instance(
        X, y, support_size=4, x_bound=bound, y_bound=bound, coef_bound=bound, ridge=3.0, loss=loss
    )


def from_moments() -> Instance:
    """Exact sums in place of rows."""
    rows = spread(300, 50, 5, 0.8, 1.0, 5.0)
    moments = Moments.of((rows.X, rows.y), x_bound=6.0, y_bound=30.0)
    return Instance.from_moments(moments, support_size=5, coef_bound=4.0, ridge=5.0)


PROBLEMS: dict[str, Callable[[], Instance]] = {
    "easy": partial(spread, 500, 60, 4, 0.1, 5.0, 10.0),
    "weak": partial(spread, 400, 60, 6, 0.5, 1.0, 10.0),
    "correlated": partial(spread, 400, 60, 6, 0.9, 1.0, 10.0),
    "correlated and weak": partial(spread, 300, 100, 5, 0.9, 0.5, 15.0),
    "ten of eighty": partial(spread, 300, 80, 10, 0.5, 5.0, 20.0),
    "twelve of forty": partial(spread, 300, 40, 12, 0.7, 3.0, 5.0),
    "fewer rows": partial(spread, 60, 120, 4, 0.5, 3.0, 2.0),
    "far fewer rows": partial(spread, 40, 200, 3, 0.5, 3.0, 1.0),
    "common factors": partial(with_factors, 40, 1200, 3, 3, 60.0, 0.3),
    "classes of factors": classes_of_factors,
    "wide bounds": partial(spread, 400, 60, 6, 0.6, 1.0, 1e-3, coef_bound=1e4),
    "narrow bounds": partial(spread, 400, 60, 5, 0.6, 1.0, 5.0, coef_bound=0.3),
    "always-columns": partial(
        spread, 400, 60, 5, 0.7, 1.0, 5.0, support_size=4, always=[0, 12], intercept=True
    ),
    "groups": partial(grouped, 400, 24, 6, 5.0),
    "groups and always-columns": partial(grouped, 300, 30, 4, 5.0, always=2),
    "correlated groups": partial(grouped, 300, 30, 5, 2.0, rho=0.9, categories=False),
    "moments": from_moments,
    "near copies": partial(copied, 20, 4, 5, 0.7, 1.0, 1e-7),
    "copies": partial(copied, 10, 6, 5, 0.3, 2.0, 0.0),
    "decoys": partial(decoys, 4),
    "many columns": partial(spread, 300, 1300, 4, 0.6, 0.2, 30.0),
    "more columns": partial(spread, 400, 1500, 4, 0.6, 0.2, 40.0),
    "many independent columns": partial(spread, 400, 900, 3, 0.1, 1.0, 10.0),
    "strong signals": partial(spread, 100, 60, 7, 0.3, 10.0, 1e-3),
    "as many rows": partial(spread, 80, 80, 8, 0.2, 20.0, 1e-3),
    "nearly as many rows": partial(spread, 300, 350, 8, 0.3, 20.0, 1.0),
    "nearly as many rows, again": partial(spread, 300, 350, 8, 0.3, 20.0, 1.0, seed=1),
    "correlated, nearly as many rows": partial(spread, 290, 300, 5, 0.9, 5.0, 1.0, seed=1),
    "two of sixty": partial(spread, 200, 60, 2, 0.9, 0.2, 5.0),
    "small": partial(spread, 100, 20, 3, 0.5, 1.0, 5.0),
    "huber": partial(with_loss, "huber(0.3)", 0.5, 2.0, 1.5, 30),
    "correlated huber": partial(with_loss, "huber(0.3)", 0.9, 1.0, 1.1, 40),
    "quantile": partial(with_loss, "quantile(0.5)", 0.5, 2.0, 1.5, 30),
    "correlated quantile": partial(with_loss, "quantile(0.5)", 0.9, 1.0, 1.1, 40),
    "hinge": partial(with_loss, "hinge", 0.5, 2.0, 1.5, 30),
    "correlated hinge": partial(with_loss, "hinge", 0.9, 1.0, 1.1, 40),
}


def _pool(search: Search, _: Tuning) -> None:
    find_supports(search, number_of_listed(search.instance, "one-swap"))


def _cells(search: Search, tuning: Tuning) -> None:
    """Refine the cells of an exact draw until their bounds are tight."""
    instance, run = search.instance, search.run
    size, count = instance.support_size, instance.n_features
    space, reference = space_of(instance.prepared, size, run, tuning)
    rate = 2.0 / instance.sensitivity
    target = LogWeight(rate, reference, {size: 0.0}, np.zeros(count))
    partition = Partition(space, target, [size], run.tick, tuning)
    while partition.log_upper - partition.log_guess > 0.05 and partition.refine():
        run.subproblems = len(partition)


SEARCHES: dict[str, Callable[[Search, Tuning], object]] = {
    "optimum": lambda search, _: find_supports(search, 1),
    "pool": _pool,
    "coarse pool": _pool,
    "levels": lambda search, _: find_levels(search),
    "cells": _cells,
}


TOLERANCES = {"coarse pool": 0.05}
"""Those that are not the default, of which hardly any search is shorter."""


def _pairs(H: FloatArray, *_: object) -> int:
    return H.size


@contextmanager
def calls(owner: object, name: str, size: Callable[..., int]) -> Iterator[list[int]]:
    """The sizes of all calls of a function, while it lasts."""
    original, seen = getattr(owner, name, None), list[int]()

    def counted(*given: Any) -> Any:
        seen.append(size(*given))
        return original(*given)

    with patch.object(owner, name, counted) if original else nullcontext():
        yield seen


class Unfinished(Exception):
    """The time limit passed first.

    Attributes
    ----------
    counts : Counts
        Until then.
    """

    def __init__(self, counts: Counts) -> None:
        super().__init__(f"not done in time: {counts}")
        self.counts = counts


def count(
    problem: str, search: str, tuning: Tuning = TUNING, *, time_limit: float | None = None
) -> Counts:
    """Search one of the problems, and count; see `count_of`."""
    return count_of(PROBLEMS[problem](), search, tuning, time_limit=time_limit)


def count_of(
    instance: Instance, search: str, tuning: Tuning = TUNING, *, time_limit: float | None = None
) -> Counts:
    """Search an instance, and count; the time limit is in CPU seconds of this process.

    Raises
    ------
    Unfinished
    """
    ended = True
    run = Run(Deadline(time_limit, time.process_time))
    law = type(instance.prepared)
    with (
        calls(law, "values", lambda _, supports, *near: len(supports)) as values,
        calls(law, "values_of_additions", lambda _, base, added: len(added)) as added,
        calls(closed_form, "better_pairs", _pairs) as pairs,
        calls(Run, "tick", lambda _: 1) as steps,
        np.errstate(all="ignore"),
    ):
        options = SearchOptions("native", tolerance=TOLERANCES.get(search), tuning=tuning)
        ready = replace(set_up(instance, options), run=run)
        try:
            SEARCHES[search](ready, tuning)
        except (NotCertified, TimeUp):
            ended = False
    counts = Counts(run.subproblems, sum(values) + sum(added), sum(pairs), len(steps))
    if not ended:
        raise Unfinished(counts)
    return counts


RECORDED = {
    ("easy", "pool"): Counts(11, 226, 4, 27),
    ("weak", "levels"): Counts(493, 336, 140885, 171),
    ("correlated", "pool"): Counts(4837, 2125, 2616559, 387),
    ("correlated", "levels"): Counts(11742, 691, 6308430, 775),
    ("correlated and weak", "pool"): Counts(5197, 6029, 10206906, 254),
    ("ten of eighty", "pool"): Counts(295, 905, 50296, 255),
    ("twelve of forty", "pool"): Counts(4098, 1318, 691133, 1343),
    ("fewer rows", "levels"): Counts(2196, 472, 5587180, 75),
    ("classes of factors", "coarse pool"): Counts(1945, 45033, 3273574, 251),
    ("far fewer rows", "pool"): Counts(145, 2405, 1429360, 17),
    ("common factors", "pool"): Counts(445, 34179, 888704, 84),
    ("wide bounds", "levels"): Counts(988, 335, 563627, 235),
    ("narrow bounds", "levels"): Counts(74, 280, 66, 99),
    ("always-columns", "levels"): Counts(282, 220, 216670, 45),
    ("groups", "levels"): Counts(704, 116, 0, 763),
    ("groups and always-columns", "levels"): Counts(129, 108, 0, 145),
    ("correlated groups", "pool"): Counts(794, 264, 0, 812),
    ("moments", "levels"): Counts(692, 236, 355453, 100),
    ("huber", "levels"): Counts(347, 32, 0, 114),
    ("correlated huber", "pool"): Counts(991, 322, 0, 228),
    ("quantile", "pool"): Counts(267, 148, 0, 87),
    ("correlated quantile", "optimum"): Counts(1294, 628, 0, 297),
    ("hinge", "pool"): Counts(323, 231, 0, 106),
    ("correlated hinge", "pool"): Counts(998, 702, 0, 213),
    ("weak", "cells"): Counts(160, 325, 0, 114),
    ("always-columns", "cells"): Counts(49, 217, 0, 38),
    ("huber", "cells"): Counts(193, 1, 0, 117),
    ("near copies", "pool"): Counts(5410, 4784, 7726591, 180),
    ("decoys", "optimum"): Counts(208, 1633, 31898, 319),
    ("many columns", "optimum"): Counts(1265, 10369, 25314418, 608),
    ("more columns", "pool"): Counts(605, 73624, 7071153, 429),
    ("many independent columns", "pool"): Counts(5, 2693, 6, 26),
    ("strong signals", "levels"): Counts(13056, 386, 8486502, 2723),
    ("as many rows", "pool"): Counts(400, 3155, 10201, 463),
    ("nearly as many rows", "optimum"): Counts(216, 2737, 0, 306),
    ("nearly as many rows, again", "optimum"): Counts(213, 2737, 0, 332),
    ("correlated, nearly as many rows", "optimum"): Counts(299, 2951, 8406419, 72),
    ("two of sixty", "cells"): Counts(16, 117, 0, 14),
    ("small", "optimum"): Counts(1, 1140, 0, 2),
    ("huber", "optimum"): Counts(19, 20, 0, 17),
}
"""Nodes, evaluated supports, pairs and Newton's steps of each search."""
