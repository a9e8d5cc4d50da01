"""Moments of blocks of a table that is larger than memory, beside the plain moments of the same.

python benchmarks/block_moments.py                  # 10,000,000 rows of 100 fields, 8 GB of Parquet
python benchmarks/block_moments.py --rows 1000000   # a tenth
python benchmarks/block_moments.py --block-rows 2 4 8 --partitions 2

Files are made once in a folder of their own and removed afterwards. Each part runs in a process of
its own, in turns: its seconds of wall and of CPU, as shares of those of the plain moments too, and
the peak of its memory (Linux).
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
from pathlib import Path
from typing import Any

import pyarrow as pa
from moments import names, write
from rich.console import Console
from rich.table import Table

PLAIN = 0
"""In place of the rows of a block: no blocks."""


def moments(folder: Path, columns: int, block_rows: int, partitions: int) -> int:
    """Add up all files, and return how many rows they have."""
    from mipselect.blocks.partitions import Blocks
    from mipselect.tables import TableSchema
    from mipselect.tables.moments import Moments
    from mipselect.tables.moments.block_columns import TableBlockColumns

    between = {"type": "number", "constraints": {"minimum": 0, "maximum": 10, "required": True}}
    schema = TableSchema.of({"fields": [{"name": name, **between} for name in names(columns)]
                             + [{"name": "y", **between}]})  # fmt: skip
    if block_rows == PLAIN:
        return Moments.of(folder, schema, target="y").n
    blocks = TableBlockColumns(schema, "y", (), Blocks(block_rows, partitions))
    return Moments.of_blocks(folder, blocks).n


def measured(options: argparse.Namespace, folder: Path, block_rows: int) -> dict[str, Any]:
    """Run one part in a process of its own."""
    command = [sys.executable, __file__, "--part", str(block_rows), "--folder", str(folder)]
    for name in ("columns", "cores", "partitions"):
        command += [f"--{name}", str(getattr(options, name))]
    cores = str(options.cores)
    environment = {**os.environ, "OMP_NUM_THREADS": cores, "OPENBLAS_NUM_THREADS": cores}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def run_part(options: argparse.Namespace) -> None:
    """Print the seconds and the memory of one part as JSON."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    pa.set_cpu_count(options.cores)
    wall, cpu = time.perf_counter(), time.process_time()
    rows = moments(options.folder, options.columns, options.part, options.partitions)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1]) / 2**10
    print(json.dumps({"rows": rows, "wall": wall, "cpu": cpu, "mebibytes": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--block-rows", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--part", type=int)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.part is not None:
        run_part(options)
        return
    best: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        write(Path(folder), options.rows, options.columns)
        for _ in range(options.repeat):
            for part in (PLAIN, *options.block_rows):
                run = measured(options, Path(folder), part)
                if part not in best or run["cpu"] < best[part]["cpu"]:
                    best[part] = run
    title = f"{options.rows:,} rows, {options.columns} fields, {options.partitions} partitions"
    table = Table(title=f"{title}, {options.cores} cores")
    for column in ("", "µs a row", "CPU µs a row", "of plain", "CPU of plain", "peak MiB"):
        table.add_column(column, justify="right")
    plain = best[PLAIN]
    for part, run in best.items():
        table.add_row(
            "Moments.of" if part == PLAIN else f"of blocks of {part} rows",
            f"{1e6 * run['wall'] / run['rows']:.3g}", f"{1e6 * run['cpu'] / run['rows']:.3g}",
            f"{run['wall'] / plain['wall']:.2f}", f"{run['cpu'] / plain['cpu']:.2f}",
            f"{run['mebibytes']:.0f}",
        )  # fmt: skip
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
