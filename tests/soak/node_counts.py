"""Print the table of `tests/support/counted_searches.py` anew, with CPU seconds of every search.

python -m tests.soak.node_counts
"""

from __future__ import annotations

import time

from tests.support.counted_searches import RECORDED, count


def main() -> None:
    total = 0.0
    for problem, search in RECORDED:
        started = time.process_time()
        found = count(problem, search)
        seconds = time.process_time() - started
        total += seconds
        numbers = f"{found.nodes}, {found.values}, {found.pairs}, {found.steps}"
        line = f'    ("{problem}", "{search}"): Counts({numbers}),'
        print(f"{line:<76}  # {seconds:.2f} s", flush=True)
    print(f"# {total:.1f} s in all")


if __name__ == "__main__":
    main()
