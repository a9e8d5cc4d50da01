"""Running what an experiment declares: trial by trial into a file, here or in other processes."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from queue import SimpleQueue
from typing import Any

from mipselect.errors import MipselectError

from ..bench.trial_file import DONE, FAILED, Kind, Row, TrialFile, Types
from .declared import DataSeed, Experiment, Reading, Recipe
from .results import Place, Results
from .sources import DataSource

SEED_BITS = 48
"""So few that every reader of JSON keeps them."""

Identity = tuple[str, str, int, int, int]
"""Experiment, recipe, repeat, the seed of the draws and that of the data."""

ALWAYS: Types = {
    "status": (str,),
    "experiment": (str,),
    "recipe": (str,),
    "repeat": (int,),
    "base_seed": (int,),
    "data_seed": (int,),
    "sensitive": (bool,),
}


def _wanted(row: Row) -> Types:
    if row.get("status") == DONE:
        return {**ALWAYS, "readings": (list,), "seconds": (float,)}
    return {**ALWAYS, "remark": (str,)}


LINES = Kind("mipselect-reproduce-2", "mipselect reproduce", _wanted)


@dataclass(frozen=True)
class Trial:
    """One run of a recipe.

    Attributes
    ----------
    experiment : str
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
    repeat: int
    base_seed: int
    data_seed: int
    source: DataSource | None

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
        drawn = self.experiment, repr(self.recipe), self.repeat, self.base_seed
        digest = hashlib.sha256(json.dumps(drawn).encode()).digest()
        return int.from_bytes(digest) >> (8 * len(digest) - SEED_BITS)

    def row(self, status: str, **facts: Any) -> Row:
        """Make a line of the file."""
        experiment, recipe, repeat, base_seed, data_seed = self.identity
        return {
            "status": status,
            "experiment": experiment,
            "recipe": recipe,
            "repeat": repeat,
            "base_seed": base_seed,
            "data_seed": data_seed,
            **facts,
            "sensitive": self.source is not None,
            "private": False,
            "randomness": "seeded",
        }


def trials_of(
    experiment: Experiment,
    source: DataSource | None,
    *,
    quick: bool,
    base_seed: int,
    data_seed: int,
    most_repeats: int | None = None,
) -> list[Trial]:
    """List every trial of an experiment: all recipes for the first repeat, then for the second."""
    tables = [] if source is None else list(source.files)
    recipes = experiment.recipes(tables, quick=quick)
    repeats = experiment.scale(quick=quick).repeats
    repeats = repeats if most_repeats is None else min(repeats, most_repeats)
    return [
        Trial(experiment.name, recipe, repeat, base_seed, data_seed, source)
        for repeat in range(1, repeats + 1)
        for recipe in recipes
    ]


def done_already(file: TrialFile) -> dict[Identity, Row]:
    """Return the trials that a file has, by their identities."""
    return {
        (row["experiment"], row["recipe"], row["repeat"], row["base_seed"], row["data_seed"]): row
        for _, row in file.rows
        if row["status"] == DONE
    }


def measured(trial: Trial) -> Row:
    """Run a trial; the row says why, if there is nothing to read."""
    start = time.perf_counter()
    try:
        readings = list(trial.recipe.measure(trial.data, trial.seed, trial.source))
    except MipselectError as error:
        return trial.row(FAILED, remark=" ".join(str(error).split()))
    return trial.row(
        DONE,
        readings=[[r.panel, r.method, float(r.x), r.metric, _number(r)] for r in readings],
        seconds=time.perf_counter() - start,
    )


def all_measured(trials: Sequence[Trial], processes: int) -> Iterator[tuple[Trial, Row]]:
    """Run trials, in order in this process, or as they come in several others.

    A run that stops early, by an interrupt or an error, ends the others.
    """
    if processes == 1 or len(trials) < 2:
        for trial in trials:
            yield trial, measured(trial)
        return
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


def results_of(experiment: Experiment, rows: Sequence[Row]) -> Results:
    """Sum up the rows of trials, in this order."""
    readings = (
        (Place(panel, method, metric, x), value)
        for row in rows
        for panel, method, x, metric, value in row["readings"]
    )
    results = Results.of(readings, [metric.key for metric in experiment.metrics if metric.median])
    if experiment.derive is None:
        return results
    return Results({**results.middles, **experiment.derive(results)})


def _number(reading: Reading) -> float | None:
    return None if reading.value is None else float(reading.value)


@contextmanager
def _pool_of(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Open a pool, whose processes end with the block, whether they are done or not."""
    context = multiprocessing.get_context("spawn")
    with _signals_held_back():
        pool = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_leave_signals_to_parent
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
