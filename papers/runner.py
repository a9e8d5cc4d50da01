"""The runner of experiments and benchmarks: trials, of which each is a line of a file.

A file grows trial by trial. After an interruption the same trials go on where they stopped.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from mipselect.cli.output import Interrupted
from mipselect.cli.progress import Spinner
from mipselect.cli.start import say
from mipselect.disk import regular_file, unreadable
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
        self._file: FileIO | None = None

    def __enter__(self) -> TrialFile:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._file is not None:
            self._file.close()

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
        try:
            if self._file is None:
                self._file = self._opened()
            if row["sensitive"]:
                self.path.chmod(0o600)
            line = json.dumps({"format": FORMAT, **row}, allow_nan=False).encode() + b"\n"
            if self._file.write(line) < len(line):
                raise OSError("no space is left")
        except OSError as error:
            raise MipselectError(f"{self.path} could not be written: {error}") from error

    def _opened(self) -> FileIO:
        file = self.path.open("ab", buffering=0)
        if self.rest:
            if file.tell() != self._read:
                file.close()
                raise MipselectError(
                    f"{self.path} has changed since it was read: another run writes to it; "
                    "start this one again"
                )
            file.truncate(self._read - self.rest)
        return file

    def _parsed(self, number: int, line: bytes) -> Row:
        try:
            row = json.loads(line)
        except ValueError:
            raise self._foreign(number, "it is not JSON") from None
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
            with Spinner(f"{kept:,} of {total:,} trials") as watch:
                found = all_measured(todo, processes, apart=apart)
                for number, (trial, row) in enumerate(found, start=kept + 1):
                    watch.tick(f"{number:,} of {total:,}, {trial.experiment}: {trial.recipe.title}")
                    if row["status"] == DONE:
                        file.append(row)
                        done[trial.identity] = row
                    else:
                        failed.append((trial, row))
        except KeyboardInterrupt:
            kept = sum(trial.identity in done for trial in trials)
            raise Interrupted(
                f"interrupted: {kept:,} of {total:,} trials of {trials[0].experiment} are kept in "
                f"{path}; the same command goes on from there"
            ) from None
    return [done[trial.identity] for trial in trials if trial.identity in done], failed


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
    with _signals_held_back():
        pool = ProcessPoolExecutor(
            min(processes, len(trials)), mp_context=multiprocessing.get_context("spawn")
        )
        running = {pool.submit(measured, trial): trial for trial in trials}
    try:
        for future in as_completed(running):
            yield running[future], future.result()
    except BrokenProcessPool as error:
        raise MipselectError(
            "a process was ended from outside, perhaps for want of memory: the same command goes "
            "on from there, with fewer --jobs"
        ) from error
    finally:
        with _signals_held_back():
            for child in multiprocessing.active_children():
                child.kill()
            pool.shutdown(cancel_futures=True)


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Let signals wait for the end, and keep them from processes that begin in here.

    A `KeyboardInterrupt` within `concurrent.futures` can leave a lock that its thread then waits
    for at the end of the program, and one in a child prints a traceback.
    """
    if sys.platform == "win32":  # It cannot block them.
        yield
        return
    # When it starts, it would unblock what is blocked next.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
