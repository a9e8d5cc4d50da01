"""A lazy frame may give its rows in another order each time; a fit that reads it twice must not."""

from __future__ import annotations

import random
from itertools import count

import numpy as np
import polars as pl
import pytest

from mipselect.errors import InvalidInput
from mipselect.regression.evaluation import HeldOut
from mipselect.regression.ranges import PrivateRanges
from mipselect.tables import TableSchema
from mipselect.tables.mapping import read_rows
from mipselect.tables.public_map import TableQuestion
from mipselect.tables.sources import read_again

N = 400
STATED = {"constraints": {"minimum": 0, "maximum": N}}


def shuffled() -> pl.LazyFrame:
    """Rows in another order each time, as Polars gives them after a join or a group."""
    frame = pl.DataFrame({"a": np.arange(N), "b": np.arange(N) % 7, "y": np.arange(N)})
    turns = count()
    return frame.lazy().map_batches(lambda df: df.sample(N, shuffle=True, seed=next(turns)))


def question(**constraints: object) -> TableQuestion:
    fields = [{"name": name, "type": "number", **constraints} for name in "aby"]
    return TableQuestion(TableSchema.of({"fields": fields}), "y", (), (), {}, "first")


def values(parts: object, asked: TableQuestion) -> list[int]:
    X, _, _ = read_rows(parts, asked.public)  # type: ignore[arg-type]
    found: list[int] = np.rint((X[:, 0] + 1.0) * N / 2.0).astype(int).tolist()
    return found


def test_no_row_is_both_in_a_fit_and_in_its_quality() -> None:
    """Else the two would cost ε each, and not together."""
    asked = question(**STATED)
    held = HeldOut.of_table(shuffled(), asked, 0.3, "replace-one", random.Random(1))
    apart, fitted = values((~held.fitted).opened(), asked), values(held.fitted.opened(), asked)
    assert sorted(apart + fitted) == list(range(N))


def test_private_ranges_keep_a_row_with_its_target() -> None:
    """Else one person would be in two rows of the fit."""
    drawn = PrivateRanges(question(), 400.0)
    rows, *_ = drawn.rows(read_again(shuffled()), (0,), random.Random(2))
    assert abs(np.corrcoef(rows.X[:, 0], rows.y)[0, 1]) > 0.9


def test_a_lazy_frame_that_fails_says_nothing_of_a_row() -> None:
    def fails(frame: pl.DataFrame) -> pl.DataFrame:
        raise pl.exceptions.ComputeError("the value SECRET")

    with pytest.raises(InvalidInput, match="could not be computed") as told:
        read_again(shuffled().map_batches(fails))
    assert "SECRET" not in str(told.value)
