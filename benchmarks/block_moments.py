"""Moments of blocks of a table that is larger than memory, beside the plain moments of the same.

python -m benchmarks.block_moments                  # 10,000,000 rows of 100 fields, 8 GB of Parquet
python -m benchmarks.block_moments --rows 1000000   # a tenth
python -m benchmarks.block_moments --rows 1000000 10000000 --block-rows 2 4 8 --json

Files are made once in a folder of their own and removed afterwards. Each part runs in a process of
its own, in turns: microseconds a row, by the clock and of CPU, both by those of the plain moments
too, and the peak of its memory in MiB (Linux). The plain moments have no rows of a block: 0.
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

import pyarrow as pa

from benchmarks.moments import names, write
from benchmarks.stored import Record, add_json_option, print_records

PLAIN = 0
"""In place of the rows of a block: no blocks."""


def moments(folder: Path, columns: int, block_rows: int, partitions: int) -> int:
    """Add up all files, and return how many rows they have."""
    from mipselect.blocks.partitions import Blocks
    from mipselect.tables import TableSchema
    from mipselect.tables.moments import Moments
    from mipselect.tables.moments.columns import TableBlockColumns
    from mipselect.tables.question import TableQuestion

    between = {"type": "number", "constraints": {"minimum": 0, "maximum": 10, "required": True}}
    schema = TableSchema.of({"fields": [{"name": name, **between} for name in names(columns)]
                             + [{"name": "y", **between}]})  # fmt: skip
    if block_rows == PLAIN:
        return Moments.of(folder, schema, target="y").n
    blocks = TableBlockColumns(TableQuestion(schema, "y"), Blocks(block_rows, partitions))
    return Moments.of_blocks(folder, blocks).n


def measured(options: argparse.Namespace, folder: Path, block_rows: int) -> dict[str, Any]:
    """Run one part in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.block_moments", "--part", str(block_rows)]
    command += ["--folder", str(folder)]
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


def best_of(options: argparse.Namespace, rows: int) -> Iterator[Record]:
    best: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        write(Path(folder), rows, options.columns)
        for _ in range(options.repeat):
            for part in (PLAIN, *options.block_rows):
                run = measured(options, Path(folder), part)
                if part not in best or run["cpu"] < best[part]["cpu"]:
                    best[part] = run
    for part, run in best.items():
        yield {
            "rows": rows,
            "fields": options.columns,
            "partitions": options.partitions,
            "cores": options.cores,
            "block_rows": part,
            "wall": 1e6 * run["wall"] / run["rows"],
            "cpu": 1e6 * run["cpu"] / run["rows"],
            "wall_of_plain": run["wall"] / best[PLAIN]["wall"],
            "cpu_of_plain": run["cpu"] / best[PLAIN]["cpu"],
            "mib": run["mebibytes"],
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000_000])
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--block-rows", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--part", type=int)
    parser.add_argument("--folder", type=Path)
    add_json_option(parser)
    options = parser.parse_args()
    if options.part is not None:
        run_part(options)
        return
    found = (each for rows in options.rows for each in best_of(options, rows))
    print_records(found, as_json=options.json)


if __name__ == "__main__":
    main()
