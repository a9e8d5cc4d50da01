"""The file of trials: one JSON object a line, appended trial by trial."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from mipselect.cli.extension import regular_file, shown, unreadable
from mipselect.errors import InvalidInput, MipselectError

FORMAT = "mipselect-bench-1"
DONE, NOT_CERTIFIED, FAILED = "done", "not certified", "failed"

Row = Mapping[str, Any]
Types = Mapping[str, tuple[type, ...]]

LARGEST_INTEGER = 2**63

NOTHING = type(None)
ASKED: Types = {
    "status": (str,),
    "instance": (str,),
    "n": (int,),
    "data_seed": (int, NOTHING),
    "fingerprint": (str,),
    "p": (int,),
    "support_size": (int,),
    "loss": (str,),
    "selector": (str,),
    "options": (str,),
    "epsilon": (float,),
    "base_seed": (int,),
    "sensitive": (bool,),
}
"""Keys of every line."""

ANSWERED: Types = {
    "trial": (int,),
    "relation": (str,),
    "condition_met": (bool, NOTHING),
    "exact": (bool,),
    "f1": (float,),
    "loss_gap": (float,),
    "gap_in_sensitivities": (float,),
    "seconds_fit": (float,),
    "seconds_draw": (float,),
}
"""Further keys of the line of a trial."""

REFUSED: Types = {"remark": (str,), "time_limit": (float, NOTHING)}
"""Further keys of the line of a selector that could not be run."""


def _wanted(row: Row) -> Types:
    return {**ASKED, **(ANSWERED if row.get("status") == DONE else REFUSED)}


@dataclass(frozen=True)
class Kind:
    """Kind of the lines of a file.

    Attributes
    ----------
    format : str
        The first thing in every line.
    command : str
        What writes them.
    wanted : callable
        From a row to what it must have.
    """

    format: str
    command: str
    wanted: Callable[[Row], Types]

    @property
    def start(self) -> bytes:
        """Beginning of every line."""
        return f'{{"format": "{self.format}", "'.encode()


BENCH = Kind(FORMAT, "mipselect bench", _wanted)
START = BENCH.start


class TrialFile:
    """The rows of a file, and the way to append to them; a context manager.

    Parameters
    ----------
    path : Path
        Need not exist; it is made when the first row is appended.
    kind : Kind

    Attributes
    ----------
    rows : list of (int, mapping)
        The whole lines: their numbers, from 1, and what they hold.
    rest : int
        Bytes of a half-written last line. They are cut off before a row is appended.

    Raises
    ------
    InvalidInput
        Naming the line that is not of this kind, and why; the file is left as it is.
    """

    def __init__(self, path: Path, kind: Kind = BENCH) -> None:
        self.path = path
        self.kind = kind
        try:
            content = regular_file(path).read_bytes() if path.exists() else b""
        except OSError as error:
            raise unreadable(path, error) from error
        *lines, rest = content.split(b"\n")
        self.rows = [(number, self._parsed(number, line)) for number, line in enumerate(lines, 1)]
        start = kind.start
        if rest[: len(start)] != start[: len(rest)]:
            raise self._foreign(len(lines) + 1, "it is cut off and begins like no other")
        self.rest = len(rest)
        self._read = len(content)
        self._size = 0
        self._closed_to_others = False
        self._descriptor: int | None = None

    def __enter__(self) -> TrialFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def append(self, row: Row) -> None:
        """Write one whole line at the end, at once.

        From the first sensitive row on the file can be read by its owner only.

        Parameters
        ----------
        row : mapping
            JSON-ready, without the format.

        Raises
        ------
        MipselectError
            If it cannot be written, or if there was a half-written line and another run has
            written since. The lines before it are kept.
        """
        line = json.dumps({"format": self.kind.format, **row}, allow_nan=False).encode() + b"\n"
        try:
            if self._descriptor is None:
                self._descriptor = self._opened()
            self._check_still_there(self._descriptor)
            if row["sensitive"] and not self._closed_to_others:
                if hasattr(os, "fchmod"):
                    os.fchmod(self._descriptor, 0o600)
                self._closed_to_others = True
            written = os.write(self._descriptor, line)
            # Not less than before, even if the file was cut since it was looked at.
            self._size = max(self._size + written, os.fstat(self._descriptor).st_size)
        except OSError as error:
            raise MipselectError(f"{self.path} could not be written: {error}") from error
        if written < len(line):
            raise MipselectError(f"{self.path} could not be written: no space is left")

    def _opened(self) -> int:
        as_it_is = getattr(os, "O_BINARY", 0)  # Windows would write other ends of lines.
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | as_it_is, 0o666)
        if self.rest:
            if os.fstat(descriptor).st_size != self._read:
                os.close(descriptor)
                raise MipselectError(
                    f"{self.path} has changed since it was read: another run writes to it; "
                    "start this one again"
                )
            os.ftruncate(descriptor, self._read - self.rest)
        return descriptor

    def _check_still_there(self, descriptor: int) -> None:
        """Raise if the file was deleted, replaced or cut: what is appended would be lost."""
        mine = os.fstat(descriptor)
        try:
            there = os.path.samestat(mine, self.path.stat())
        except FileNotFoundError:
            there = False
        if not there:
            raise MipselectError(f"{self.path} was deleted or replaced while this run wrote to it")
        if mine.st_size < self._size:
            raise MipselectError(f"{self.path} was cut off by somebody while this run wrote to it")

    def _parsed(self, number: int, line: bytes) -> Row:
        try:
            row = json.loads(line, parse_constant=_refused, parse_float=_finite, parse_int=_small)
        except ValueError:
            raise self._foreign(number, "it is not JSON, or has numbers that are none") from None
        except RecursionError:
            raise self._foreign(number, "it is nested too deeply") from None
        if not isinstance(row, dict) or "format" not in row:
            raise self._foreign(number, f"it has no format {self.kind.format!r}")
        if row["format"] != self.kind.format:
            raise self._foreign(
                number, f"its format is {shown(row['format'])}, not {self.kind.format!r}"
            )
        for key, kinds in self.kind.wanted(row).items():
            if key not in row:
                raise self._foreign(number, f"it lacks {key!r}")
            if type(row[key]) not in kinds:
                raise self._foreign(number, f"{key!r} cannot be {shown(row[key])}")
        return row

    def _foreign(self, number: int, why: str) -> InvalidInput:
        return InvalidInput(
            f"{self.path}, line {number}, is no line of {self.kind.command!r}: {why}; "
            "nothing was written to it"
        )


def _refused(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text)


def _small(text: str) -> int:
    number = int(text)
    if abs(number) >= LARGEST_INTEGER:
        raise ValueError(f"{text} is too large")
    return number
