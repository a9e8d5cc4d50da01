"""Moments of a table that is larger than memory, beside reading it alone and multiplying alone.

Files of 10,000,000 rows of 100 fields, 8 GB of Parquet, are made for every cell in a folder of
their own, and removed. Measured are microseconds a row, by the clock and of CPU, and the peak of
the memory of the process in MiB (Linux).
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import dataset, parquet

from benchmarks.declared import Record, benchmark
from benchmarks.searches import peak_mib

ROWS_A_FILE = 1_000_000
IN_MEMORY = 1_000_000
"""Rows of the product alone, which takes as long for each row whatever their number is."""


def names(columns: int) -> list[str]:
    return [f"x{j}" for j in range(columns)]


def write(folder: Path, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    for number, start in enumerate(range(0, rows, ROWS_A_FILE)):
        n = min(ROWS_A_FILE, rows - start)
        cells = {name: rng.uniform(-2.0, 12.0, n) for name in names(columns)}
        cells["y"] = 0.5 * cells["x0"] - 0.3 * cells["x3"] + rng.normal(3.0, 2.0, n)
        parquet.write_table(pa.table(cells), folder / f"{number:03}.parquet")


def write_apart(folder: Path, rows: int, columns: int) -> None:
    """Write the files in another process, whose memory does not count."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        pool.submit(write, folder, rows, columns).result()


def read_alone(folder: Path, columns: int) -> int:
    """All columns as Arrow batches, file after file, in this process's threads."""
    rows = 0
    for path in sorted(folder.glob("*.parquet")):
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 18) as file:
            for batch in file.iter_batches(batch_size=1 << 16):
                rows += batch.num_rows
    return rows


def scan_alone(folder: Path, columns: int) -> int:
    """The same by a dataset, which reads several files at a time."""
    return sum(batch.num_rows for batch in dataset.dataset(folder).to_batches(batch_size=1 << 16))


def schema_of(columns: int) -> Any:
    from mipselect.tables import TableSchema

    between = {"type": "number", "constraints": {"minimum": 0, "maximum": 10, "required": True}}
    fields = [{"name": name, **between} for name in (*names(columns), "y")]
    return TableSchema.of({"fields": fields})


def moments_of(folder: Path, columns: int) -> int:
    """Add up all files, and return how many rows they have."""
    from mipselect.tables.moments import Moments

    return Moments.of(folder, schema_of(columns), target="y").n


READINGS = {"reading, file by file": read_alone, "reading, as a dataset": scan_alone}
PRODUCT, MOMENTS = "X.T @ X in memory", "Moments.of"


def measured(work: Any, cores: int) -> Record:
    """Rows, microseconds a row by the clock and of CPU, and the peak of the memory."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    pa.set_cpu_count(cores)
    wall, cpu = time.perf_counter(), time.process_time()
    rows = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"rows": rows, "wall": 1e6 * wall / rows, "cpu": 1e6 * cpu / rows, "mib": peak_mib()}


def best_of(records: list[Record]) -> list[Record]:
    """Of the repeats of a part the one that took least."""
    best: dict[Any, Record] = {}
    for record in records:
        key = record["part"], record["cores"]
        if key not in best or record["wall"] < best[key]["wall"]:
            best[key] = record
    return list(best.values())


@benchmark(
    {"repeat": (1, 2, 3), "part": (*READINGS, PRODUCT, MOMENTS)},
    quick={"repeat": (1,), "rows": 20_000, "columns": 10},
    seeds="0",
    summary=best_of,
)
def moments(
    repeat: int, part: str, rows: int = 10_000_000, columns: int = 100, cores: int = 2
) -> Iterator[Record]:
    """One pass over a table: reading alone, multiplying alone, and `Moments.of`."""
    if part == PRODUCT:
        X = np.random.default_rng(0).random((min(rows, IN_MEMORY), columns + 2))
        yield {"part": part, "cores": cores, **measured(lambda: (X.T @ X, len(X))[1], cores)}
        return
    with tempfile.TemporaryDirectory() as folder:
        write_apart(Path(folder), rows, columns)
        work = READINGS.get(part, moments_of)
        yield {"part": part, "cores": cores, **measured(lambda: work(Path(folder), columns), cores)}
