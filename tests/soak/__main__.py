"""Long checks, run by hand; the suite has a few seeds of each.

    python -m tests.soak NAME --count 1000 --seed 7

A check is a module here with `failures(seed)`: what does not hold of what it makes of a seed. All
of it is printed, and the exit code is 1 if there is any.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

CHECKS = (
    "certificates",
    "exact_values",
    "hostile_pairs",
    "squared_values",
)
REPORTED = 500
"""Seeds between two lines of counts, so that a run that is ended has said something."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.soak")
    parser.add_argument("name", choices=CHECKS)
    parser.add_argument("--count", type=int, default=200, help="seeds")
    parser.add_argument("--seed", type=int, default=1000, help="the first one")
    given = parser.parse_args()
    failures, failed = import_module(f"tests.soak.{given.name}").failures, 0
    for done in range(1, given.count + 1):
        for line in failures(given.seed + done - 1):
            failed += 1
            print(line, flush=True)
        if done % REPORTED == 0 or done == given.count:
            print(f"{done} seeds, {failed} failures", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
