"""The same bits from Dask: threads, and processes of which one is killed in the middle."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

import dask
import dask.array
import dask.dataframe
import pytest

from mipselect.errors import InvalidInput
from mipselect.selectors import ExponentialSelector, SISSelector
from mipselect.tables import TableSchema
from mipselect.tables.moments import Moments
from tests.support.one_table import CONTENT, SCHEMA, numbers, of_table, table

TABLE = table(300)


def frame(parts: int) -> Any:
    return dask.dataframe.from_pandas(TABLE.to_pandas(), npartitions=parts)


@pytest.mark.parametrize("folds", [1, 3])
@pytest.mark.parametrize("parts", [1, 20])
def test_threads_give_the_same_bits(parts: int, folds: int) -> None:
    wanted = Moments.of(TABLE, SCHEMA, target="stay", folds=folds)
    with dask.config.set(scheduler="threads"):
        found = Moments.of(frame(parts), SCHEMA, target="stay", folds=folds)
    assert (found.folds == wanted.folds).all()
    assert (found.matrix == of_table(TABLE)).all()


def test_arrays_and_frames_of_numbers() -> None:
    X, y = numbers(200)
    wanted = Moments.of((X, y), x_bound=2.0, y_bound=1.0)
    pair = dask.array.from_array(X, chunks=(30, 2)), dask.array.from_array(y, chunks=30)
    assert (Moments.of(pair, x_bound=2.0, y_bound=1.0).matrix == wanted.matrix).all()


def slow_once(frame: Any, marker: str) -> Any:
    """The first worker that has this partition ends in the middle of it."""
    if len(frame) and frame.index[0] == 150:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return frame
        time.sleep(0.2)
        os._exit(1)
    return frame


@pytest.mark.deep
def test_processes_with_a_killed_worker_give_the_same_bits(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    marker = tmp_path / "killed"
    source = frame(20).map_partitions(slow_once, str(marker), meta=TABLE.to_pandas().iloc[:0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            dask.config.set({"distributed.worker.memory.terminate": False}),
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster),
        ):
            found = Moments.of(source, SCHEMA, target="stay")
    assert marker.exists()
    assert (found.matrix == of_table(TABLE)).all()


def test_what_is_wrong_is_one_line() -> None:
    fields = [{"name": "who", "type": "string"}, *CONTENT["fields"]]
    people = TableSchema.of({**CONTENT, "csvw-eo:privacyUnit": "who", "fields": fields})
    arrays = dask.array.zeros((9, 2)), dask.array.zeros(9)
    for wrong, message in (
        (lambda: Moments.of(frame(2), people, target="stay"), "several partitions"),
        (lambda: Moments.of(frame(2)[["age"]], SCHEMA, target="stay"), "no column ward"),
        (lambda: Moments.of(frame(2), x_bound=1.0, y_bound=1.0), "a pair"),
        (lambda: Moments.of(arrays, SCHEMA, target="stay"), "one Dask data frame"),
        (lambda: Moments.of(arrays, y_bound=1.0), "x_bound must be given"),
    ):
        with pytest.raises(InvalidInput, match=message):
            wrong()


def test_selectors_refuse_what_is_lazy() -> None:
    arrays = dask.array.zeros((9, 2)), dask.array.zeros(9)
    for selector in (ExponentialSelector(1), SISSelector(1, x_bound=1.0, y_bound=1.0)):
        with pytest.raises(InvalidInput, match=r"X is lazy, a Array; give X.compute\(\)"):
            selector.fit(*arrays)
