"""Privacy as it is defined, from raw rows with survey weights to the law of every outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect import ExponentialMechanism, Instance, PermuteAndFlip, TopR, top_supports
from mipselect.mechanisms import SupportMechanism
from mipselect.tables import TableSchema, public_map, values
from mipselect.tables.fields import Field
from mipselect.tables.moments import Moments
from tests.support.exact_audit import Data, loss_of
from tests.support.weighted_tables import (
    HOSTILE_ROWS,
    HOSTILE_WEIGHTS,
    MOST,
    WEIGHTED,
    Row,
    drawn,
    table_of,
)

EPSILON, ROUNDING = 1.0, 1.0 + 1e-9
Pair = tuple[Data, Data]
Made = Callable[[list[Row], dict[str, Any]], Data]
Build = Callable[[Data], SupportMechanism]


def of_rows(rows: list[Row], asked: dict[str, Any]) -> Data:
    table = table_of(rows)
    return Data(Instance.from_table(table, WEIGHTED, target="y", ridge=1e-3, **asked))


def of_moments(rows: list[Row], asked: dict[str, Any]) -> Data:
    moments = Moments.of(table_of(rows), WEIGHTED, target="y")
    known = {key: value for key, value in asked.items() if key != "loss"}
    return Data(Instance.from_moments(moments, ridge=1e-3, **known))


def of_blocks(rows: list[Row], asked: dict[str, Any]) -> Data:
    options = {"block_rows": asked["support_size"] + 1, "partitions": 3, "partition_seed": 1}
    return Data(
        Instance.from_table(
            table_of(rows), WEIGHTED, target="y", support_size=asked["support_size"],
            always=asked["always"], **options, score="blocks")
    )  # fmt: skip


MADE: dict[str, Made] = {"rows": of_rows, "moments": of_moments, "blocks": of_blocks}


def others(row: Row, rng: np.random.Generator) -> Iterator[Row]:
    """The same row with other weights, and other rows with every weight."""
    yield from ((*row[:-1], weight) for weight in HOSTILE_WEIGHTS)
    for k, hostile in enumerate(HOSTILE_ROWS):
        yield (*hostile, HOSTILE_WEIGHTS[k % len(HOSTILE_WEIGHTS)])
        yield (*hostile, MOST)
    yield from drawn(4, rng, hostile=0.0)


@cache
def pairs(made: str) -> tuple[Pair, ...]:
    rng = np.random.default_rng(1)
    found = []
    for k in range(8):
        rows = drawn((6, 25)[k % 2], rng)
        asked: dict[str, Any] = {
            "support_size": 1 + k // 2 % 2,
            "always": ["smoker"] if k % 4 == 1 else [],
            "intercept": k % 3 != 1,
            "coef_bound": (0.4, 1.5)[k // 4],
            "loss": ("squared", "quantile(0.7)")[k % 3 == 2],
        }
        data, place = MADE[made](rows, asked), int(rng.integers(len(rows)))
        for other in others(rows[place], rng):
            found.append((data, MADE[made]([*rows[:place], other, *rows[place + 1 :]], asked)))
    return tuple(found)


NUMBERS = 12
TIGHT = TableSchema.of(
    {
        "fields": [
            *({"name": f"x{k}", "type": "number",
               "constraints": {"minimum": -1, "maximum": 1, "required": True}}
              for k in range(NUMBERS)),
            {"name": "y", "type": "number",
             "constraints": {"minimum": -1, "maximum": 1, "required": True}},
            {"name": "w", "type": "number", "mipselect:role": "weight",
             "constraints": {"maximum": MOST}},
        ]
    }
)  # fmt: skip


def tight_table(rows: list[list[float]], weights: list[float]) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)]
    names = [field.name for field in TIGHT.fields]
    return pa.table(dict(zip(names, [*columns, weights], strict=True)))


def mirrored(weight: float, *, moments: bool = False) -> Pair:
    """Every number predicts y as well as the others, coefficients at their bound, s = 1.

    One row of this weight is right about the first number and wrong about the others, or reverse.
    """
    rest = [[1.0] * (NUMBERS + 1)] * 40
    found = []
    for sign in (1.0, -1.0):
        table = tight_table([*rest, [sign, *[-sign] * (NUMBERS - 1), 1.0]], [MOST] * 40 + [weight])
        asked: dict[str, Any] = {"support_size": 1, "coef_bound": 0.6, "ridge": 1e-3}
        if moments:
            made = Instance.from_moments(
                Moments.of(table, TIGHT, target="y"), intercept=False, **asked
            )
        else:
            made = Instance.from_table(table, TIGHT, target="y", intercept=False, **asked)
        found.append(Data(made))
    return found[0], found[1]


def mirrored_blocks(weight: float) -> Pair:
    """The same of pairs: one row is far from all others, and decides every pair that it is in."""
    y = np.random.default_rng(7).standard_normal(40)
    rows = np.repeat(y[:, None], NUMBERS + 1, axis=1)
    found = []
    for sign in (1.0, -1.0):
        rows[0], rows[0, 0], rows[0, -1] = -1e17 * sign, 1e17 * sign, 1e17
        table = tight_table(rows.tolist(), [weight, *[MOST] * 39])
        found.append(Data(Instance.from_table(
            table, TIGHT, target="y", support_size=1, partition_seed=1, partitions=3,
            ridge=1e-3, score="blocks",
        )))  # fmt: skip
    return found[0], found[1]


WORST: dict[str, Callable[[float], Pair]] = {
    "rows": mirrored,
    "moments": lambda weight: mirrored(weight, moments=True),
    "blocks": mirrored_blocks,
}


def exponential(data: Data) -> SupportMechanism:
    return ExponentialMechanism(data.instance, EPSILON)


def flipped(data: Data) -> SupportMechanism:
    return PermuteAndFlip(data.instance, EPSILON)


def searched(data: Data) -> SupportMechanism:
    size = max(1, data.instance.number_of_supports // 2)
    return TopR(top_supports(data.instance, size, tolerance=1e-6), EPSILON)


@pytest.mark.parametrize("build", [exponential, flipped, searched])
@pytest.mark.parametrize("made", MADE)
def test_no_raw_row_tells_more_than_epsilon(made: str, build: Build) -> None:
    assert len(pairs(made)) > 200
    assert loss_of(build, pairs(made)) <= EPSILON * ROUNDING
    worst = [WORST[made](weight) for weight in (MOST, 1e300, 0.5 * MOST, 0.0)]
    assert loss_of(build, worst) <= EPSILON * ROUNDING


@pytest.mark.parametrize("made", MADE)
def test_a_weight_at_its_maximum_uses_most_of_epsilon(made: str) -> None:
    assert loss_of(exponential, [WORST[made](MOST)]) > 0.8 * EPSILON
    assert loss_of(exponential, [WORST[made](0.0)]) == 0.0


@pytest.mark.parametrize("made", MADE)
def test_without_the_clip_a_weight_tells_more(made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(column: pa.Array, weight: Field) -> np.ndarray:
        return values.numbers(column, weight) / weight.maximum

    clipped = loss_of(exponential, [WORST[made](4.0 * MOST)])
    assert clipped <= EPSILON * ROUNDING
    monkeypatch.setattr(public_map, "weight_shares", careless)
    assert loss_of(exponential, [WORST[made](4.0 * MOST)]) > 1.5 * EPSILON


def test_changes_lie_in_the_stated_interval() -> None:
    """R'(S) - R(S) over all supports: no more than 2w apart, and |R'(S) - R(S)| at most Δ."""
    for made in MADE:
        used = []
        for data, other in (*pairs(made), WORST[made](MOST)):
            change = other.values - data.values
            used.append(np.ptp(change) / (2.0 * data.instance.oscillation))
            assert np.abs(change).max() <= data.instance.sensitivity * ROUNDING
        assert 0.8 < max(used) <= ROUNDING
