"""Moments of a table that is larger than memory, beside reading it alone and multiplying alone.

python -m benchmarks.moments                       # 10,000,000 rows of 100 fields, 8 GB of Parquet
python -m benchmarks.moments --rows 1000000        # a tenth
python -m benchmarks.moments --cores 1

Files are made once in a folder of their own and removed afterwards. Each part runs in a process of
its own: microseconds a row, by the clock and of CPU, and the peak of its memory in MiB (Linux).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import dataset, parquet

from benchmarks.stored import Record, add_json_option, print_records

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


def multiply_alone(folder: Path, columns: int) -> int:
    X = np.random.default_rng(0).random((IN_MEMORY, columns + 2))
    global started
    started = clock()
    X.T @ X
    return IN_MEMORY


def moments(folder: Path, columns: int) -> int:
    from mipselect.tables import TableSchema
    from mipselect.tables.moments import Moments

    between = {"type": "number", "constraints": {"minimum": 0, "maximum": 10, "required": True}}
    fields = [{"name": name, **between} for name in (*names(columns), "y")]
    found = Moments.of(folder, TableSchema.of({"fields": fields}), target="y")
    return found.n


PARTS = {
    "reading, file by file": read_alone,
    "reading, as a dataset": scan_alone,
    "X.T @ X in memory": multiply_alone,
    "Moments.of": moments,
}


def clock() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


started = clock()


def measured(part: str, folder: Path, columns: int, cores: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.moments", "--part", part, "--folder", str(folder)]
    command += ["--columns", str(columns), "--cores", str(cores)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(cores), "OPENBLAS_NUM_THREADS": str(cores)}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def best_of(options: argparse.Namespace) -> Iterator[Record]:
    best: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        write(Path(folder), options.rows, options.columns)
        for _ in range(options.repeat):
            for part in PARTS:
                run = measured(part, Path(folder), options.columns, options.cores)
                if part not in best or per_row(run) < per_row(best[part]):
                    best[part] = run
    for part, run in best.items():
        yield {
            "part": part,
            "cores": options.cores,
            "rows": run["rows"],
            "wall": per_row(run),
            "cpu": 1e6 * run["cpu"] / run["rows"],
            "mib": run["mebibytes"],
        }


def per_row(run: dict[str, Any]) -> float:
    """Microseconds by the clock."""
    return float(1e6 * run["wall"] / run["rows"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--part", choices=list(PARTS))
    parser.add_argument("--folder", type=Path)
    add_json_option(parser)
    options = parser.parse_args()
    if options.part:
        global started
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
        pa.set_cpu_count(options.cores)
        started = clock()
        rows = PARTS[options.part](options.folder, options.columns)
        wall, cpu = (after - before for after, before in zip(clock(), started, strict=True))
        status = Path("/proc/self/status").read_text()
        peak = int(re.search(r"VmHWM:\s*(\d+)", status)[1]) / 2**10
        print(json.dumps({"rows": rows, "wall": wall, "cpu": cpu, "mebibytes": peak}))
        return
    print_records(best_of(options), as_json=options.json)


if __name__ == "__main__":
    main()
