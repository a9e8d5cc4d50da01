"""Every case of bad input and hostile surroundings on the command line.

    python -m tests.soak.hostile_commands

Prints which fall short, and how many hold.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.hostile_cases import CASES, call_falls_short, from_python
from tests.support.hostile_processes import PROCESSES


def checks() -> Iterator[tuple[str, Callable[[Path], str]]]:
    for case in CASES:
        yield case.name, case.falls_short
    for name, call in from_python().items():
        yield name, lambda _, call=call: call_falls_short(call)
    yield from PROCESSES.items()


def main() -> int:
    count = held = 0
    for name, falls_short in checks():
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            reason = falls_short(Path(folder))
        count += 1
        held += not reason
        if reason:
            print(f"falls short: {name}: {reason}", flush=True)
    print(f"{held} of {count} hold")
    return int(held < count)


if __name__ == "__main__":
    sys.exit(main())
