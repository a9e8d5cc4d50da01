"""Start and end of a command: streams, signals, one line for every error, the exit code.

Before the handlers of signals are there nothing is imported that takes time.
"""

from __future__ import annotations

from collections.abc import Sequence

from mipselect.cli.interruptions import Interruptions
from mipselect.cli.streams import prepare, say

FAILED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: those of the process, which ends with the command.

    Returns
    -------
    int
        The exit code: 0 done, 1 failed or not certified, 2 bad usage or bad input,
        130 interrupted, 143 terminated, 129 the terminal was closed.
    """
    if not prepare():
        say("error: standard output is closed: there is nowhere to put the answer")
        return FAILED
    with Interruptions(ends_process=arguments is None) as interruptions:
        # It lets signals raise when the command, with NumPy and SciPy, is there too.
        from mipselect.cli.app import run

        return run(arguments, interruptions)
