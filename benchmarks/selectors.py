"""How often every selector draws the certified optimum of the same data, at the same ε.

All are run under replace-one and get the rows before clipping. Draws are seeded, and compared with
what is sensitive: nothing here is private.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.declared import Record, benchmark
from mipselect import Instance, mistake_levels
from mipselect.problem.stored import load_problem
from mipselect.selectors import (
    ExponentialSelector,
    KendallSelector,
    MCMCSelector,
    MistakesSelector,
    SampleAggregateSelector,
    SISSelector,
    TopRSelector,
)

DELTA = 1e-6
WIDE_POOL = 100_000


def bounds(instance: Instance) -> dict[str, float]:
    return {name: getattr(instance, name) for name in ("x_bound", "y_bound", "coef_bound")}


def searched(law: Callable[..., Any], instance: Instance, epsilon: float, **options: Any) -> Any:
    """A selector that is defined by the restricted problem."""
    problem = {**bounds(instance), "ridge": instance.ridge, "loss": instance.loss}
    return law(instance.support_size, epsilon=epsilon, **problem, **options)


def screened(law: Callable[..., Any], instance: Instance, epsilon: float, **options: Any) -> Any:
    """A selector that looks at columns, or at blocks of rows."""
    return law(instance.support_size, epsilon=epsilon, relation="replace-one", **options)


def chain(instance: Instance, epsilon: float, radius: float) -> MCMCSelector:
    """The chain of 5,000 steps in an ℓ1 ball; 0 is r√s, which allows every β with ‖β‖₂ ≤ r."""
    ball = radius or instance.coef_bound * math.sqrt(instance.support_size)
    options = {**bounds(instance), "coef_bound": ball}
    return MCMCSelector(
        instance.support_size, epsilon=epsilon, n_steps=5000, delta=DELTA, **options
    )


SELECTORS: dict[str, Callable[[Instance, float], Any]] = {
    "top-r": lambda i, e: searched(TopRSelector, i, e),
    "top-r-wide": lambda i, e: searched(
        TopRSelector, i, e, pool_size=min(WIDE_POOL, i.number_of_supports)
    ),
    "mistakes": lambda i, e: searched(MistakesSelector, i, e),
    # Half of ε is for the test, and half for the draw.
    "mistakes-ptr": lambda i, e: searched(
        MistakesSelector, i, e / 2.0, test_epsilon=e / 2.0, delta=DELTA
    ),
    "exponential": lambda i, e: searched(ExponentialSelector, i, e),
    "sis": lambda i, e: screened(SISSelector, i, e, x_bound=i.x_bound, y_bound=i.y_bound),
    "kendall": lambda i, e: screened(KendallSelector, i, e),
    "sample-aggregate": lambda i, e: screened(SampleAggregateSelector, i, e, alpha=None),
}


@benchmark(
    {
        "instance": ("diabetes",),
        "rows": (0,),
        "epsilon": (0.5, 1.0, 2.0, 5.0, 10.0),
        "selector": (*SELECTORS, "mcmc"),
    },
    quick={"epsilon": (1.0,), "selector": ("top-r", "sis"), "draws": 2},
    seeds="0 of draws; 1, 2, ... of data from recipes",
)
def selectors(
    instance: str, rows: int, epsilon: float, selector: str, data_sets: int = 1, draws: int = 200,
    radius: float = 0.0,
) -> Iterator[Record]:  # fmt: skip
    """Share of draws by each selector that are the certified optimum.

    `rows` and several `data_sets` are for instances from a recipe, `radius` is that of the chain.
    """
    exact: list[bool] = []
    for data_seed in range(1, data_sets + 1):
        new = ({"n": rows} if rows else {}) | ({"seed": data_seed} if data_sets > 1 else {})
        stored = load_problem(instance, **new)
        clipped = stored.instance()
        best = set(mistake_levels(clipped).supports[0].tolist())
        source = random.Random(f"{instance} {data_seed} {selector} {epsilon}")
        build = {**SELECTORS, "mcmc": partial(chain, radius=radius)}[selector]
        built = build(clipped, epsilon).set_params(random_state=source)
        rows = stored.rows()
        mechanism = built.mechanism(rows.X, rows.y)
        exact += [set(mechanism.sample(source)) == best for _ in range(draws)]
    named = {"instance": instance, "n": clipped.n, "selector": selector, "epsilon": epsilon}
    yield {**named, "exact": float(np.mean(exact))}
