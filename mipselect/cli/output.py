"""Delivery of a report: one JSON object or readable text on standard output, a file written whole.

Whatever is delivered from left of a mechanism carries the mark `SENSITIVE`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from mipselect.cli.declared import option, options
from mipselect.cli.start import abandon, ignore_signals, let_signals_raise, say
from mipselect.disk import save
from mipselect.errors import InvalidInput, MipselectError, about

SENSITIVE = (
    "SENSITIVE: computed from the data without any privacy. Do not publish, share or store it "
    "where the data themselves must not be."
)
NOT_PRIVATE = (
    "NOT PRIVATE: --seed makes the draws reproducible, so they protect nobody. For tests and "
    "experiments only."
)
PLAIN_WIDTH = 110
"""Columns of a frame or a rule at most."""

ENDLESS = 100_000
"""Columns of text that does not go to a terminal: a name is as long as it is."""

ANYBODY_WRITES = 0o222

NO_FILE = ("--output", "--replace")
"""Options of a delivery that a command without an output has not."""

Report = Mapping[str, Any]


class Interrupted(MipselectError):
    """An interrupt came, and the message says what of the command stays."""


def check_output(
    path: Path | None,
    inputs: Iterable[Path] = (),
    option: str = "--output",
    *,
    endings: Collection[str] = (),
    replace: bool,
) -> None:
    """Raise `InvalidInput` before any work unless `path` can become a file, or replace one.

    Parameters
    ----------
    path : Path or None
        What --output says.
    inputs : iterable of Path
        What the command reads; none of them may be replaced.
    option : str
        Option or argument that names the path.
    endings : collection of str
        Endings that a name may have; empty for any.
    replace : bool
        What --replace says; without it a file is kept, unless it is empty.
    """
    if path is None:
        return
    if endings and path.suffix not in endings:
        raise InvalidInput(f"{option} must end in {' or '.join(endings)}, got {str(path)!r}")
    check_writable(path, option)
    with about_output(path, option):
        for given in inputs:
            if path.exists() and given.exists() and path.samefile(given):
                raise InvalidInput("is what is read, and would be replaced")
        if is_kept(path, replace=replace):
            raise InvalidInput("exists; give another name, or --replace to replace it")


def is_kept(path: Path, *, replace: bool) -> bool:
    """Return whether what is there may not be replaced."""
    return not replace and path.exists() and path.stat().st_size > 0


def check_writable(path: Path, option: str = "--output") -> None:
    """Raise `InvalidInput` unless there is a regular file to write to, or could be one."""
    folder = path.parent
    with about_output(path, option):
        if path.is_symlink():
            raise InvalidInput("is a symbolic link; name the file itself")
        if not folder.is_dir():
            raise InvalidInput(f"the folder {folder} does not exist")
        if path.exists():
            if not path.is_file():
                raise InvalidInput("exists and is not a regular file")
            # To the owner of the machine everything is writable, so the mode is asked too.
            if not (os.access(path, os.W_OK) and path.stat().st_mode & ANYBODY_WRITES):
                raise InvalidInput("is read-only and cannot be written to")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise InvalidInput(f"the folder {folder} is not writable")


@contextmanager
def about_output(path: Path, option: str) -> Iterator[None]:
    """Name the output in errors, of the system too, such as that its name is too long."""
    with about(f"{option} {path}"):
        try:
            yield
        except OSError as error:
            raise InvalidInput(str(error.strerror or error)) from error


@options
class Delivery:
    """Form of a report, and the file that it is written to."""

    as_json: bool = option(
        "--json", "Print one JSON object and nothing else on standard output.", default=False
    )
    output: Path | None = option("--output", "Also write the JSON object to FILE.", metavar="FILE")
    replace: bool = option(
        "--replace",
        "Replace a file, whatever it holds. Without it none is replaced but an empty one.",
        default=False,
    )

    def deliver(
        self, report: Report, render: Callable[[Console], None], content: bytes | None = None
    ) -> None:
        """Write a report to its file, if any, and then to standard output.

        The file is there whole or not at all; of a sensitive report only its owner reads it.

        Parameters
        ----------
        report : mapping
            JSON-ready; with the key "sensitive". No NaN and no infinity.
        render : callable
            Prints the same as text to the console it is given.
        content : bytes, optional
            What the file receives in place of the JSON object; the text says so.

        Raises
        ------
        MipselectError
            If standard output cannot be written, or the file: then nothing was printed.
        Interrupted
        """
        text, output = json.dumps(report, allow_nan=False) + "\n", self.output
        written = text.encode() if content is None else content
        let_signals_raise()
        try:
            if output is not None:
                sensitive = report["sensitive"]
                output = write_beside(output, written, sensitive=sensitive, replace=self.replace)
            if self.as_json:
                sys.stdout.write(text)
            else:
                console = text_console()
                render(console)
                if content is not None:
                    line(console, f"Written to {output}.")
            sys.stdout.flush()
            # No signal ends the command from now on: its answer is out.
            ignore_signals()
        except KeyboardInterrupt:
            whole = "" if output is None else f"; {output} has all of it, if it is there"
            raise Interrupted(
                "interrupted while the answer was being written: count it as seen, its budget as "
                f"spent{whole}"
            ) from None
        except OSError as error:
            abandon(sys.stdout)
            raise MipselectError(
                f"the answer could not be written to standard output: {error}; count what was "
                "written of it as seen, its budget as spent"
            ) from error


def text_console() -> Console:
    """Open a console on standard output; without a terminal nothing is cut or broken."""
    width = None if sys.stdout.isatty() else ENDLESS
    return Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False)


def banner(console: Console, message: str) -> None:
    """Print a warning that cannot be overlooked."""
    text = Text(message, style="bold red")
    console.print(Panel(text, border_style="red", width=min(console.width, PLAIN_WIDTH)))


def line(console: Console, text: str) -> None:
    """Print a line of plain text, which no terminal cuts: names may have brackets in them."""
    console.print(text, markup=False, soft_wrap=True)


def print_table(
    console: Console,
    titles: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    left: Collection[str] = (),
) -> None:
    """Print a table; of the columns `left` the cells are texts, which are folded.

    A whole number gets its commas, and None is an empty cell.
    """
    table = Table()
    for title in titles:
        if title in left:
            table.add_column(title, overflow="fold")
        else:
            table.add_column(title, justify="right")
    for row in rows:
        cells = ("" if x is None else f"{x:,}" if isinstance(x, int) else str(x) for x in row)
        table.add_row(*map(escape, cells))
    console.print(table)


def table_named(asked: Mapping[str, Any]) -> str:
    """Return the name of the table, or instance, of a question; empty where it has none."""
    data = asked.get("data")
    return Path(data).name if data else str(asked.get("instance") or "")


def picked(one: object, *names: str) -> dict[str, Any]:
    """Return attributes by their names, as part of a JSON object."""
    return {name: getattr(one, name) for name in names}


def heading(console: Console, text: str) -> None:
    """Print the line above a table; a table's own title would be wrapped to the table's width."""
    console.print(Text(text, style="bold"))


def write_beside(path: Path, content: bytes, *, sensitive: bool, replace: bool) -> Path:
    """Write a file whole or not at all, and return its path: `path`, or a free name beside it.

    What another command has written there in the meantime may have been paid for, as this was.
    """
    place = path
    for number in count(2):
        if not is_kept(place, replace=replace and place == path):
            break
        place = path.with_name(f"{path.stem}-{number}{path.suffix}")
    write_whole(place, content, sensitive=sensitive)
    if place != path:
        say(f"warning: {path}: another command has written it meanwhile; this one is in {place}")
    return place


def write_whole(path: Path, content: bytes, *, sensitive: bool) -> None:
    """Write a file whole or not at all; raise `MipselectError` if it cannot be written.

    A file that is replaced hands its mode on; a sensitive one is for its owner only.
    """
    let_signals_raise()
    save(path, content, sensitive=sensitive)
