"""Privacy as it is defined: from raw neighbouring rows through moments to the law of the draw."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect import ExponentialMechanism, Instance, TopR, top_supports
from mipselect.tables.moments import Moments
from tests.support.fields import listed, schema_of

UNIT = {"type": "number", "constraints": {"minimum": -1, "maximum": 1}}
SCHEMA = schema_of(
    listed("ward", "a", "b", "c"),
    {"name": "dose", **UNIT},
    {"name": "x", **UNIT},
    {"name": "y", **UNIT},
)
HOSTILE: tuple[tuple[Any, ...], ...] = (
    ("z", 1e300, "nan", "inf"),
    (None, None, None, None),
    ("a", -1, -1, -1),
    ("a", 1, -1, 1),
    ("b", 1, 1, -1e9),
    ("", 0.99999999, -1, 0.99999999),
    ("c", "1e-7", "-1e-7", "text"),
    (None, -1, 1, 1),
)


def moments_of(rows: list[tuple[Any, ...]], seed: int) -> Moments:
    """In two batches, in another order each time."""
    order = np.random.default_rng(seed).permutation(len(rows))
    cells = [[None if rows[k][j] is None else str(rows[k][j]) for k in order] for j in range(4)]
    table = pa.table(dict(zip(("ward", "dose", "x", "y"), map(pa.array, cells), strict=True)))
    return Moments.of(table.to_reader(max_chunksize=1 + len(rows) // 2), SCHEMA, target="y")


@cache
def pairs() -> tuple[tuple[Instance, Instance], ...]:
    rng = np.random.default_rng(5)
    found = []
    for k in range(10):
        n = (2, 5, 30)[k % 3]
        question = {
            "support_size": 1 + k % 2,
            "always": ["x"] if k % 5 == 4 else [],
            "coef_bound": (0.4, 1.5)[k % 2],
            "ridge": 1e-3,
            "intercept": k % 3 != 1,
        }
        rows = [HOSTILE[int(rng.integers(len(HOSTILE)))] for _ in range(n)]
        if k % 4 == 3:
            rows = [(rows[i][0], *rng.uniform(-1, 1, 3)) for i in range(n)]
        if question["always"]:
            question["support_size"] = 1
        first = Instance.from_moments(moments_of(rows, k), **question)
        for j, row in enumerate(HOSTILE):
            changed = [*rows]
            changed[j % n] = row
            found.append((first, Instance.from_moments(moments_of(changed, j), **question)))
    # Thirty columns that are right where the first is wrong, and the other way round.
    arrays = []
    for sign in (1.0, -1.0):
        X, y = np.ones((20, 31)), np.ones(20)
        X[0, 0], X[0, 1:] = sign, -sign
        moments = Moments.of((X, y), x_bound=1.0, y_bound=1.0)
        arrays.append(Instance.from_moments(moments, support_size=1, coef_bound=0.5, ridge=1e-3))
    found.append((arrays[0], arrays[1]))
    return tuple(found)


def worst(draws: Any) -> float:
    """The largest |log ratio| over all supports and pairs, in units of ε = 1."""
    largest = 0.0
    for one, other in pairs():
        laws = [draws(instance) for instance in (one, other)]
        for support in top_supports(one, "all").supports:
            logs = [law.log_probability(support) for law in laws]
            largest = max(largest, abs(logs[0] - logs[1]))
    return largest


DRAWS = {
    "exponential": lambda instance: ExponentialMechanism(instance, 1.0),
    "top-r": lambda instance: TopR(top_supports(instance, 2), 1.0),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_from_moments_is_private(name: str) -> None:
    assert worst(DRAWS[name]) <= 1.0 + 1e-9


def test_half_the_oscillation_would_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Instance.oscillation.fget
    half = property(lambda self: 0.5 * true(self))
    monkeypatch.setattr(Instance, "oscillation", half)
    for instance in {id(i): i for pair in pairs() for i in pair}.values():
        instance.__dict__.pop("prepared", None)
    assert worst(DRAWS["exponential"]) > 1.05


def test_rounding_to_the_nearest_would_pass_the_bound_of_a_group() -> None:
    """Why entries are cut towards zero: a row of length 1 must not become longer."""
    row = np.full(9990, 655.6 / 2**16)
    assert np.linalg.norm(row) <= 1.0
    nearest = np.rint(row * 2**16) / 2**16
    assert np.linalg.norm(nearest) > 1.0
    assert np.linalg.norm(np.trunc(row * 2**16) / 2**16) <= 1.0
