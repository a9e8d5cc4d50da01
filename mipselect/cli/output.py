"""Delivering a report: one JSON object or readable text on standard output, a file written whole.

Whatever is delivered from left of a mechanism carries the mark `SENSITIVE`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from mipselect.errors import InvalidInput, MipselectError

SENSITIVE = (
    "SENSITIVE: computed from the data without any privacy. Do not publish, share or store it "
    "where the data themselves must not be."
)
NOT_PRIVATE = (
    "NOT PRIVATE: --seed makes the draws reproducible, so they protect nobody. For tests and "
    "experiments only."
)
PLAIN_WIDTH = 110
"""Columns of text that does not go to a terminal."""

Report = Mapping[str, Any]


class InterruptedDelivery(MipselectError):
    """An interrupt came while an answer was being written: it may have been seen."""


def check_output(path: Path | None) -> None:
    """Raise `InvalidInput` before any work if `path` cannot become a file."""
    if path is None:
        return
    folder = path.parent
    if not folder.is_dir():
        raise InvalidInput(f"--output {path}: the folder {folder} does not exist")
    if path.exists() and not path.is_file():
        raise InvalidInput(f"--output {path}: exists and is not a regular file")
    if not os.access(folder, os.W_OK):
        raise InvalidInput(f"--output {path}: the folder {folder} is not writable")


def deliver(
    report: Report, render: Callable[[Console], None], *, as_json: bool, output: Path | None
) -> None:
    """Write `report` to `output`, if any, and then to standard output.

    Parameters
    ----------
    report : mapping
        JSON-ready; with the key "sensitive". No NaN and no infinity.
    render : callable
        Prints the same as text to the console it is given.
    as_json : bool
        Print the one JSON object instead of text.
    output : Path or None
        Receives the JSON object, whole or not at all; for a sensitive report readable by its
        owner only.

    Raises
    ------
    MipselectError
        If the file cannot be written; then nothing was printed. Or if standard output cannot.
    InterruptedDelivery
    """
    text = json.dumps(report, allow_nan=False) + "\n"
    try:
        if output is not None:
            write_whole(output, text.encode(), mode=0o600 if report["sensitive"] else 0o666)
        if as_json:
            sys.stdout.write(text)
        else:
            render(text_console())
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise InterruptedDelivery(
            "interrupted while the answer was being written: count it as seen, its budget as spent"
        ) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        raise MipselectError(
            f"the answer could not be written to standard output: {error}; count what was written "
            "of it as seen, its budget as spent"
        ) from error


def text_console() -> Console:
    """A console on standard output; without a terminal it has a fixed width."""
    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False)


def banner(console: Console, message: str) -> None:
    """Print a warning that cannot be overlooked."""
    console.print(Panel(Text(message, style="bold red"), border_style="red"))


def heading(console: Console, text: str) -> None:
    """Print the line above a table; a table's own title would be wrapped to the table's width."""
    console.print(Text(text, style="bold"))


def warn(message: str) -> None:
    """One line on standard error."""
    print(f"mipselect: {message}", file=sys.stderr)


def write_whole(path: Path, content: bytes, *, mode: int) -> None:
    """Write a file whole or not at all; raise `MipselectError` if it cannot be written."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise MipselectError(
            f"{path} could not be written, nothing was released: {error}"
        ) from error
