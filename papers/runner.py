"""The runner of experiments and benchmarks: trials, of which each is a line of a file.

A file grows trial by trial. After an interruption the same trials go on where they stopped.
"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from mipselect.cli.extension import (
    CountedProgress,
    InterruptedRun,
    regular_file,
    say,
    unreadable,
)
from mipselect.errors import InvalidInput, MipselectError

from .experiment import DataSeed, Reading, Recipe
from .sources import DataSource

Row = Mapping[str, Any]
Identity = tuple[str, str, int, int, int]
"""Experiment, recipe, repeat, the seed of the draws and that of the data."""

DONE, FAILED = "done", "failed"
EXPERIMENT = "NOT PRIVATE: an experiment. Its draws are seeded, so they protect nobody."
SEED_BITS = 48
"""So few that every reader of JSON keeps them."""


def seed_of(*facts: Any) -> int:
    """Return the seed that belongs to these facts."""
    digest = hashlib.sha256(json.dumps(facts).encode()).digest()
    return int.from_bytes(digest) >> (8 * len(digest) - SEED_BITS)


FORMAT = "mipselect-trials-1"
START = f'{{"format": "{FORMAT}", "'.encode()
KEYS = ("status", "experiment", "recipe", "repeat", "base_seed", "data_seed")
"""Keys of every line."""


class TrialFile:
    """The rows of a file, and the way to append to them; a context manager.

    Parameters
    ----------
    path : Path
        Need not exist; it is made when the first row is appended.

    Attributes
    ----------
    rows : list of mapping
        What the whole lines hold.
    rest : int
        Bytes of a half-written last line. They are cut off before a row is appended.

    Raises
    ------
    InvalidInput
        Naming the line that is no trial, and why; the file is left as it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            content = regular_file(path).read_bytes() if path.exists() else b""
        except OSError as error:
            raise unreadable(path, error) from error
        *lines, rest = content.split(b"\n")
        self.rows = [self._parsed(number, line) for number, line in enumerate(lines, 1)]
        if rest[: len(START)] != START[: len(rest)]:
            raise self._foreign(len(lines) + 1, "it is cut off and begins like no other")
        self.rest = len(rest)
        self._read = len(content)
        self._size = 0
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
        line = json.dumps({"format": FORMAT, **row}, allow_nan=False).encode() + b"\n"
        try:
            if self._descriptor is None:
                self._descriptor = self._opened()
            self._check_still_there(self._descriptor)
            if row["sensitive"] and hasattr(os, "fchmod"):
                os.fchmod(self._descriptor, 0o600)
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
            row = json.loads(line, parse_constant=_finite, parse_float=_finite, parse_int=_small)
        except ValueError:
            raise self._foreign(number, "it is not JSON, or has numbers that are none") from None
        except RecursionError:
            raise self._foreign(number, "it is nested too deeply") from None
        if not isinstance(row, dict) or row.get("format") != FORMAT:
            raise self._foreign(number, f"its format is not {FORMAT!r}")
        for key in KEYS:
            if key not in row:
                raise self._foreign(number, f"it lacks {key!r}")
        return row

    def _foreign(self, number: int, why: str) -> InvalidInput:
        return InvalidInput(
            f"{self.path}, line {number}, is no trial: {why}; nothing was written to it"
        )


def _finite(text: str) -> float:
    """Read a number of a line; raise `ValueError` for one beyond all floats, and for NaN."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number")
    return number


def _small(text: str) -> int:
    """Read an integer of a line; raise `ValueError` for one that 64 bits do not hold."""
    number = int(text)
    if abs(number) > 2**63:
        raise ValueError(f"{text} is too large")
    return number


@dataclass(frozen=True)
class Trial:
    """One run of a recipe.

    Attributes
    ----------
    experiment : str
        Name of the experiment or benchmark.
    recipe : Recipe
    repeat : int
        From 1.
    base_seed : int
        Seed of the draws.
    data_seed : int
        Seed of the data.
    source : DataSource or None
    """

    experiment: str
    recipe: Recipe
    repeat: int = 1
    base_seed: int = 0
    data_seed: int = 0
    source: DataSource | None = None

    @property
    def identity(self) -> Identity:
        """Key by which two trials are the same."""
        return self.experiment, repr(self.recipe), self.repeat, self.base_seed, self.data_seed

    @property
    def data(self) -> DataSeed:
        """The seed of its data; the same for every seed of the draws."""
        return DataSeed(self.data_seed, self.repeat)

    @property
    def seed(self) -> int:
        """The seed of its draws; the same whatever else is run, and on whatever data."""
        return seed_of(self.experiment, repr(self.recipe), self.repeat, self.base_seed)

    def row(self, status: str, **facts: Any) -> Row:
        """Make a line of the file."""
        return {
            "status": status,
            **dict(zip(KEYS[1:], self.identity, strict=True)),
            **facts,
            "sensitive": self.source is not None,
            "private": False,
            "randomness": "seeded",
        }


def done_already(file: TrialFile) -> dict[Identity, Row]:
    """Return the trials that a file has, by their identities."""
    return {
        (row["experiment"], row["recipe"], row["repeat"], row["base_seed"], row["data_seed"]): row
        for row in file.rows
        if row["status"] == DONE
    }


def run(
    trials: Sequence[Trial], path: Path, processes: int = 1, *, apart: bool = False
) -> tuple[list[Row], list[tuple[Trial, Row]]]:
    """Run the trials that a file does not have, and append them to it.

    Parameters
    ----------
    trials : sequence of Trial
        All belong to one experiment.
    path : Path
    processes : int
    apart : bool
        Whether every trial has a process of its own, whose memory and time are measured.

    Returns
    -------
    rows : list of mapping
        In the order of the trials, without those that failed.
    failed : list of (Trial, mapping)
        What failed, and the row that says why; it is in no file, and is tried again.
    """
    failed: list[tuple[Trial, Row]] = []
    with TrialFile(path) as file:
        done = done_already(file)
        todo = [trial for trial in trials if trial.identity not in done]
        kept, total = len(trials) - len(todo), len(trials)
        if kept:
            say(f"{kept:,} of {total:,} trials are done already, in {path}")
        if todo and file.rest:
            say(f"the last line of {path} was half-written and is cut off")
        try:
            with CountedProgress(kept, total) as watch:
                for trial, row in all_measured(todo, processes, apart=apart):
                    watch.begin(f"{trial.experiment}: {trial.recipe.title}")
                    watch.advance()
                    if row["status"] == DONE:
                        file.append(row)
                        done[trial.identity] = row
                    else:
                        failed.append((trial, row))
        except KeyboardInterrupt:
            kept = sum(trial.identity in done for trial in trials)
            raise InterruptedRun(
                f"interrupted: {kept:,} of {total:,} trials of {trials[0].experiment} are kept in "
                f"{path}; the same command goes on from there"
            ) from None
    return [done[trial.identity] for trial in trials if trial.identity in done], failed


def first_of(failures: Sequence[str]) -> MipselectError:
    """Make the error of a run in which something failed."""
    more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
    return MipselectError(failures[0] + more)


def measured(trial: Trial) -> Row:
    """Run a trial; the row says why, if there is nothing to read."""
    start = time.perf_counter()
    try:
        found = trial.recipe.measure(trial.data, trial.seed, trial.source)
        readings = [one.stored if isinstance(one, Reading) else one for one in found]
    except MipselectError as error:
        return trial.row(FAILED, remark=" ".join(str(error).split()))
    return trial.row(DONE, readings=readings, seconds=time.perf_counter() - start)


def all_measured(
    trials: Sequence[Trial], processes: int, *, apart: bool = False
) -> Iterator[tuple[Trial, Row]]:
    """Run trials, in order in this process, or as they come in several others.

    A run that stops early, by an interrupt or an error, ends the others.
    """
    if apart:
        for trial in trials:
            yield from _measured_elsewhere([trial], 1)
    elif processes == 1 or len(trials) < 2:
        for trial in trials:
            yield trial, measured(trial)
    else:
        yield from _measured_elsewhere(trials, processes)


def _measured_elsewhere(trials: Sequence[Trial], processes: int) -> Iterator[tuple[Trial, Row]]:
    finished: SimpleQueue[Future[Row]] = SimpleQueue()
    try:
        with _pool_of(min(processes, len(trials))) as pool:
            with _signals_held_back(), _interrupts_kept_from_children():
                running = {pool.submit(measured, trial): trial for trial in trials}
                for future in running:
                    future.add_done_callback(finished.put)
            for _ in trials:
                future = finished.get()
                yield running[future], future.result()
    except BrokenProcessPool as error:
        raise MipselectError(
            "a process was ended from outside, perhaps for want of memory: the same command goes "
            "on from there, with fewer --jobs"
        ) from error


@contextmanager
def _pool_of(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Open a pool, whose processes end with the block, whether they are done or not."""
    with _signals_held_back():
        pool = ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_leave_signals_to_parent,
        )
    try:
        yield pool
    finally:
        with _signals_held_back():
            for child in multiprocessing.active_children():
                child.kill()
            pool.shutdown(cancel_futures=True)


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Let signals wait for the end.

    A `KeyboardInterrupt` within `concurrent.futures` can leave a lock that its thread then waits
    for at the end of the program.
    """
    held: list[int] = []
    in_main = threading.current_thread() is threading.main_thread()
    numbers = signal.valid_signals() if in_main else ()
    handled = [number for number in numbers if callable(signal.getsignal(number))]
    before = {number: signal.signal(number, lambda n, _: held.append(n)) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for signalled in held:
            signal.raise_signal(signalled)


@contextmanager
def _interrupts_kept_from_children() -> Iterator[None]:
    """Block interrupts in processes that begin in here, so that none prints a traceback."""
    if sys.platform == "win32":  # It cannot block them.
        yield
        return
    # When it starts, it would unblock what is blocked next.
    resource_tracker.ensure_running()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _leave_signals_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
