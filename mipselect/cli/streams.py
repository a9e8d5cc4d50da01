"""Standard streams that may be closed, full or poor in letters. Imports nothing that takes time."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

LONGEST_LINE = 2_000
"""Letters of one message: a name in it may be longer than anybody reads."""


def prepare() -> bool:
    """Make the standard streams fit for use; return whether there is a standard output.

    A closed stream gets the null device: else the first file that is opened takes its number,
    and what a solver prints goes into that file.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    # Python has None for a stream that was closed when it started.
    is_open = sys.stdout is not None
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show an ε must not turn an answer into a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    return is_open


def say(message: str) -> None:
    """Print one line on standard error, or nothing where that cannot be written."""
    try:
        print(f"mipselect: {one_line(message)}", file=sys.stderr, flush=True)
    except OSError:
        abandon(sys.stderr)


def one_line(message: str) -> str:
    """Write the message without line breaks and control characters, which may come from names."""
    words = " ".join(message.split())
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..."


def abandon(stream: TextIO) -> None:
    """Send what is left in a broken stream to nowhere.

    Else Python tries to write it when it ends, complains in two lines of its own and changes the
    exit code.
    """
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
