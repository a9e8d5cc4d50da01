"""Certificates of tables with 20,000 and 50,000 columns: CPU seconds, and memory.

    OMP_NUM_THREADS=1 python -m benchmarks.large_certificates [--shape N,P ...] [--json]

Optimum, one-swap pool and all levels are searched for in processes of their own, at s = 5, ρ = 0.1,
SNR 5 and λ = n/50; "product" is X.T @ X, its half above the diagonal. Memory is the largest peak of
the three searches, in GiB, with X in it (Linux).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.stored import Record, add_json_option, print_records
from benchmarks.timing import Setting, form_gram, instance_of
from mipselect import mistake_levels, top_supports

SHAPES = ((6_000, 20_000), (2_000, 50_000))
SEARCHES = {
    "optimum": lambda instance: top_supports(instance, 1, solver="native"),
    "pool": lambda instance: top_supports(instance, "one-swap", solver="native"),
    "levels": lambda instance: mistake_levels(instance, solver="native"),
    "product": lambda instance: form_gram(instance.X),
}
GIBIBYTE = 2**30


def run_part(n: int, p: int, part: str) -> None:
    """Print CPU seconds, peak memory and the size of X as JSON."""
    instance = instance_of(Setting(n, p, ridge=n / 50))
    started = time.process_time()
    SEARCHES[part](instance)
    taken = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIBIBYTE
    print(json.dumps({"seconds": taken, "gib": peak, "x_gib": instance.X.nbytes / GIBIBYTE}))


def measured(shapes: list[tuple[int, int]]) -> Iterator[Record]:
    for n, p in shapes:
        found = {}
        for part in SEARCHES:
            command = [sys.executable, "-m", "benchmarks.large_certificates", "--part", part]
            command += ["--shape", f"{n},{p}"]
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found[part] = json.loads(run.stdout)
            print(n, p, part, found[part], file=sys.stderr)
        yield {
            "n": n,
            "p": p,
            **{part: found[part]["seconds"] for part in SEARCHES},
            "gib": max(found[part]["gib"] for part in SEARCHES if part != "product"),
            "x_gib": found["optimum"]["x_gib"],
        }


def shape(text: str) -> tuple[int, int]:
    n, p = text.split(",")
    return int(n), int(p)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", type=shape, action="append", help="n,p")
    parser.add_argument("--part", choices=SEARCHES)
    add_json_option(parser)
    options = parser.parse_args()
    shapes = options.shape or list(SHAPES)
    if options.part is not None:
        run_part(*shapes[0], options.part)
        return
    print_records(measured(shapes), as_json=options.json)


if __name__ == "__main__":
    main()
