"""Start and end of a command: streams, signals, one line for every error, the exit code.

Before the handlers of signals are there nothing is imported that takes time.
"""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, TextIO

WORDS = {
    getattr(signal, name): word
    for name, word in {
        "SIGINT": "interrupted",
        "SIGTERM": "terminated",
        "SIGHUP": "terminated, the terminal was closed",
    }.items()
    if hasattr(signal, name)
}
NOTHING = "nothing was released, nothing was written, no budget is spent"


HANDLED: dict[signal.Signals, Any] = {}
"""Signals that are handled while a command runs in the main thread, and their handlers before."""

RECEIVED = [signal.SIGINT]
"""The signal that came last."""


@contextmanager
def signals_handled(*, ends_process: bool = False) -> Iterator[None]:
    """Answer interrupts, SIGTERM and SIGHUP in the block by one line, in the main thread.

    At first a signal ends the process at once, for modules that are being loaded cannot be relied
    upon to pass an exception on. After `let_signals_raise` it raises `KeyboardInterrupt`. After
    `ignore_signals` it does nothing: the answer is out, and a run that is complete ends as one.
    A signal that is ignored, as under nohup, stays ignored.

    Parameters
    ----------
    ends_process : bool
        Whether the process ends with the command: then signals do nothing behind the block.
    """
    RECEIVED[:] = [signal.SIGINT]
    if threading.current_thread() is threading.main_thread():
        for number in WORDS:
            # None is a handler that was not installed by Python.
            if (before := signal.getsignal(number)) not in (signal.SIG_IGN, None):
                HANDLED[number] = before
        _answer_by(_end)
    try:
        yield
    finally:
        for number, handler in HANDLED.items():
            signal.signal(number, signal.SIG_IGN if ends_process else handler)
        HANDLED.clear()


def let_signals_raise() -> None:
    """Let signals raise from now on: all is imported, and something would be left behind."""
    _answer_by(_raise)


def ignore_signals() -> None:
    """Let signals do nothing from now on: the answer is out, and the rest takes no time."""
    _answer_by(signal.SIG_IGN)


def interruption() -> tuple[str, int]:
    """Return a message about the signal that came, for use if nothing more is known, and its code.

    The exit code is 128 and the number of the signal: 130 for an interrupt.
    """
    return f"{WORDS[RECEIVED[-1]]}: {NOTHING}", 128 + RECEIVED[-1]


def _answer_by(handler: Any) -> None:
    if threading.current_thread() is threading.main_thread():
        for number in HANDLED:
            signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> NoReturn:
    RECEIVED[:] = [signal.Signals(number)]
    message, code = interruption()
    try:
        os.write(2, f"mipselect: error: {message}\n".encode())
    finally:
        os._exit(code)


def _raise(number: int, _: FrameType | None) -> NoReturn:
    RECEIVED[:] = [signal.Signals(number)]
    raise KeyboardInterrupt


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
    ends_process = arguments is None
    codes: list[int] = []
    if ends_process:
        # What is registered first is called last.
        atexit.register(leave, codes)
    if not prepare():
        say("error: standard output is closed: there is nowhere to put the answer")
        return FAILED
    with signals_handled(ends_process=ends_process):
        # Signals raise when the command, with NumPy and SciPy, is there too.
        from mipselect.cli.commands import run

        codes.append(run(arguments))
    return codes[-1]


def leave(codes: Sequence[int]) -> None:
    """Leave the process with the last of these codes, if there is one, at once.

    A library whose threads still start or stop while its static objects go ends the process by
    SIGABRT, with a line of its own after the answer. Nothing of ours is left to do then.
    """
    if codes:
        os._exit(codes[-1])


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
