"""Data sets, cells, trials and summary of `mipselect bench`. Sensitive."""

from __future__ import annotations

import hashlib
import json
import math
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Any

import numpy as np

from mipselect import Instance, mistake_levels
from mipselect.errors import InvalidInput, MipselectError, NotCertified, SolverFailure
from mipselect.mechanisms.supports.mistakes import GAP_CONDITION
from mipselect.mechanisms.supports.propose_test_release import exceeds_condition
from mipselect.problem.stored.files import StoredData, load_problem

from .contestants import CONTESTANTS, Rules, in_words
from .runner import DONE, FAILED, Kind, Row, TrialFile, seed_of

NOT_CERTIFIED = "not certified"
LINES = Kind(
    "mipselect-bench-1",
    "mipselect bench",
    (
        *("status", "instance", "n", "data_seed", "fingerprint", "p", "support_size", "loss"),
        *("selector", "options", "epsilon", "base_seed", "sensitive"),
    ),
)


@dataclass(frozen=True)
class DataSet:
    """Description of the data of a trial.

    Attributes
    ----------
    source : str
        What `load_problem` is called with.
    instance : str
        Its name.
    n, p, n_features, support_size : int
        Rows, columns, features to choose from, features of a support.
    data_seed : int or None
        Seed of a recipe.
    loss : str
    fingerprint : str
        Hash of the settings and of every number in the data.
    sensitive : bool
        Whether the data are about somebody.
    """

    source: str
    instance: str
    n: int
    p: int
    n_features: int
    support_size: int
    data_seed: int | None
    loss: str
    fingerprint: str
    sensitive: bool

    @classmethod
    def of(cls, source: str, problem: StoredData, instance: Instance) -> DataSet:
        """Describe a problem."""
        return cls(
            source=source,
            instance=problem.name,
            n=instance.n,
            p=instance.p,
            n_features=instance.n_features,
            support_size=instance.support_size,
            data_seed=problem.data_seed,
            loss=instance.loss,
            fingerprint=fingerprint(problem, instance),
            sensitive=not problem.synthetic,
        )

    @property
    def identity(self) -> tuple[str, int | None, int | None]:
        """Key of the data; n is part of the name where it can be chosen."""
        return self.instance, None if self.data_seed is None else self.n, self.data_seed

    @property
    def title(self) -> str:
        """Name of the data, for people."""
        if self.data_seed is None:
            return self.instance
        return f"{self.instance} with n = {self.n:,} and data seed {self.data_seed}"

    @property
    def mark(self) -> str:
        """Words before a message about sensitive data."""
        return "(sensitive) " if self.sensitive else ""

    def load(self) -> StoredData:
        """Load the data, again."""
        if self.data_seed is None:
            return load_problem(self.source)
        return load_problem(self.source, n=self.n, seed=self.data_seed)


@dataclass(frozen=True)
class Cell:
    """One selector at one ε on one data set, and its trials.

    Attributes
    ----------
    data : DataSet
    selector : str
        A key of `CONTESTANTS`.
    options : str
        Its arguments in words.
    epsilon : float
    base_seed : int
        What all seeds are derived from.
    trials : int
    """

    data: DataSet
    selector: str
    options: str
    epsilon: float
    base_seed: int
    trials: int

    def seed(self, what: int | str) -> int:
        """Return the seed of a trial, or of "fit"; the same whatever else is run."""
        return seed_of(self.base_seed, *self.data.identity, self.selector, self.epsilon, what)

    def row(self, status: str, **facts: Any) -> Row:
        """Make a row of the file."""
        data = self.data
        return {
            "status": status,
            "instance": data.instance,
            "n": data.n,
            "data_seed": data.data_seed,
            "fingerprint": data.fingerprint,
            "p": data.p,
            "n_features": data.n_features,
            "support_size": data.support_size,
            "loss": data.loss,
            "selector": self.selector,
            "options": self.options,
            "epsilon": self.epsilon,
            "base_seed": self.base_seed,
            **facts,
            "sensitive": data.sensitive,
            "private": False,
            "randomness": "seeded",
        }


@dataclass(frozen=True)
class Reference:
    """Certified optimum that trials are compared with. Sensitive.

    Attributes
    ----------
    support : frozenset of int
    value : float
        R of it.
    gap_proven : bool
        Whether the condition of mistakes is proven to hold.
    """

    support: frozenset[int]
    value: float
    gap_proven: bool


def fingerprint(problem: StoredData, instance: Instance) -> str:
    """Hash the settings and the data, before clipping."""
    facts = {**problem.settings, "shape": problem.X.shape, "type": str(problem.X.dtype)}
    if problem.mapped:
        # Its settings do not say what follows from the schema and the question.
        facts |= {"features": instance.feature_names, "groups": instance.groups}
        facts |= {"always": instance.always, "intercept": instance.intercept}
        facts |= {"coef_bound": instance.coef_bound, "ridge": instance.ridge}
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for column in (*problem.X.T, problem.y):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:32]


def certified_reference(instance: Instance, rules: Rules) -> Reference:
    """Find the optimum; `NotCertified` if that takes too long."""
    levels = mistake_levels(instance, solver=rules.solver, time_limit=rules.time_limit)
    return Reference(
        support=frozenset(levels.supports[0].tolist()),
        value=instance.objective(levels.supports[0]),
        gap_proven=exceeds_condition(levels.gap, levels.sensitivity),
    )


def cells_of(
    data: DataSet,
    instance: Instance,
    selectors: Sequence[str],
    epsilons: Sequence[float],
    rules: Rules,
    *,
    base_seed: int,
    trials: int,
) -> tuple[list[Cell], list[str]]:
    """List what is to be run on a data set, and why some selectors are not."""
    cells, skipped = [], []
    for name in selectors:
        contestant = CONTESTANTS[name]
        if reason := contestant.unfit(instance):
            skipped.append(f"{name} on {data.instance}: {reason}")
            continue
        for epsilon in epsilons:
            options = in_words(contestant.build(instance, epsilon, rules))
            cells.append(Cell(data, name, options, epsilon, base_seed, trials))
    return cells, skipped


def run(
    cell: Cell,
    trials: Iterable[int],
    problem: StoredData,
    instance: Instance,
    reference: Reference,
    rules: Rules,
) -> Iterator[Row]:
    """Build the distribution once, draw from it once for each trial, and yield a row for each.

    A first draw is thrown away: what a distribution puts off until it is used belongs to the
    time of the fit. If there is no distribution, the one row says why.
    """
    contestant = CONTESTANTS[cell.selector]
    selector = contestant.build(instance, cell.epsilon, rules)
    source = random.Random(cell.seed("fit"))
    selector.set_params(random_state=source)
    start = time.perf_counter()
    try:
        mechanism = selector.mechanism(problem.X, contestant.target(problem, instance))
        mechanism.sample(source)
    except MipselectError as error:
        certain = isinstance(error, NotCertified) and not isinstance(error, SolverFailure)
        yield cell.row(
            NOT_CERTIFIED if certain else FAILED,
            remark=" ".join(str(error).split()),
            time_limit=rules.time_limit,
        )
        return
    seconds_fit = time.perf_counter() - start
    guarantee = mechanism.guarantee
    conditional = GAP_CONDITION in guarantee.conditions
    for trial in trials:
        seed = cell.seed(trial)
        start = time.perf_counter()
        support = sorted(int(j) for j in mechanism.sample(seed))
        seconds_draw = time.perf_counter() - start
        gap = instance.objective(support) - reference.value
        yield cell.row(
            DONE,
            guarantee=guarantee.to_dict(),
            relation=guarantee.relation,
            condition_met=reference.gap_proven if conditional else None,
            trial=trial,
            seed=seed,
            support=support,
            exact=reference.support == set(support),
            f1=len(reference.support.intersection(support)) / instance.support_size,
            loss_gap=gap,
            gap_in_sensitivities=gap / instance.sensitivity,
            seconds_fit=seconds_fit,
            seconds_draw=seconds_draw,
        )


class Record:
    """The rows of a file that belong to certain cells.

    Parameters
    ----------
    file : TrialFile
        Rows about other things are left alone.
    cells : sequence of Cell

    Raises
    ------
    InvalidInput
        Naming the first line about one of the cells that was made from other data or settings.
    """

    def __init__(self, file: TrialFile, cells: Sequence[Cell]) -> None:
        self._file = file
        self._done: dict[Cell, dict[int, Row]] = {cell: {} for cell in cells}
        self._refused: dict[Cell, Row] = {}
        prints = {cell.data.identity: cell.data.fingerprint for cell in cells}
        known = {(cell.data.identity, cell.selector, cell.epsilon): cell for cell in cells}
        for number, row in file.rows:
            n = None if row["data_seed"] is None else row["n"]
            identity = (row["instance"], n, row["data_seed"])
            if prints.get(identity, row["fingerprint"]) != row["fingerprint"]:
                raise self._other(number, f"{row['instance']} had other data or settings")
            cell = known.get((identity, row["selector"], row["epsilon"]))
            if cell is None:
                continue
            if row["options"] != cell.options:
                raise self._other(
                    number,
                    f"{cell.selector} had the options {row['options']!r}, now {cell.options!r}",
                )
            if row["base_seed"] != cell.base_seed:
                raise self._other(
                    number, f"--seed was {row['base_seed']}, now it is {cell.base_seed}"
                )
            self._keep(cell, row)

    def add(self, cell: Cell, row: Row) -> None:
        """Append a row to the file."""
        self._file.append(row)
        self._keep(cell, row)

    def missing(self, cell: Cell, time_limit: float | None) -> list[int]:
        """Return the trials that are to be run.

        None if the search was not certified with as much time; a selector that failed is tried
        again.
        """
        missing = [trial for trial in range(cell.trials) if trial not in self._done[cell]]
        refused = self._refused.get(cell)
        if refused is not None and refused["status"] == NOT_CERTIFIED:
            had = refused["time_limit"]
            if had is None or (time_limit is not None and time_limit <= had):
                return []
        return missing

    def count(self, cell: Cell) -> int:
        """Count the trials of a cell."""
        return sum(trial < cell.trials for trial in self._done[cell])

    def refused(self, cell: Cell) -> Row | None:
        """Return the row that says why there are no trials, if there are none."""
        return None if self.count(cell) else self._refused.get(cell)

    def rows(self, cell: Cell) -> list[Row]:
        """Return the trials of a cell, in order, or else the row that says why there are none."""
        if refused := self.refused(cell):
            return [refused]
        done = self._done[cell]
        return [done[trial] for trial in range(cell.trials) if trial in done]

    def _keep(self, cell: Cell, row: Row) -> None:
        if row["status"] == DONE:
            self._done[cell][row["trial"]] = row
        else:
            self._refused[cell] = row

    def _other(self, number: int, why: str) -> InvalidInput:
        return InvalidInput(
            f"{self._file.path}, line {number}, is of another run: {why}; give another --output"
        )


def mean_and_error(rows: Sequence[Row], key: str) -> tuple[float, float | None]:
    """Compute the mean of `key` over trials, and its standard error.

    With several data sets both are taken over the means of the data sets: trials on the same
    data are not independent of them. One number has no standard error.
    """
    by_data: dict[int | None, list[float]] = {}
    for row in rows:
        by_data.setdefault(row["data_seed"], []).append(float(row[key]))
    values = [fmean(group) for group in by_data.values()]
    if len(values) == 1:
        (values,) = by_data.values()
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return fmean(values), error


def summarise(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Sum up every instance and n, with a line for every selector and ε; ready for JSON."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["instance"], row["n"]), []).append(row)
    return [
        {
            "instance": name,
            "n": n,
            "p": group[0]["p"],
            # Lines from before there were features of several columns do not say it.
            "n_features": group[0].get("n_features", group[0]["p"]),
            "support_size": group[0]["support_size"],
            "loss": group[0]["loss"],
            "data_seeds": sorted({row["data_seed"] for row in group} - {None}),
            "sensitive": any(row["sensitive"] for row in group),
            "relation": " and ".join(
                sorted({row["relation"] for row in group if row["status"] == DONE})
            ),
            "selectors": _lines(group),
        }
        for (name, n), group in groups.items()
    ]


def _lines(group: Sequence[Row]) -> list[dict[str, Any]]:
    cells: dict[tuple[str, float], list[Row]] = {}
    for row in group:
        cells.setdefault((row["selector"], row["epsilon"]), []).append(row)
    return [
        {"selector": selector, "epsilon": epsilon, **_line(rows)}
        for (selector, epsilon), rows in cells.items()
    ]


def _line(rows: Sequence[Row]) -> dict[str, Any]:
    trials = [row for row in rows if row["status"] == DONE]
    refused = [row for row in rows if row["status"] != DONE]
    status = refused[0]["status"] if refused else DONE
    remark = refused[0]["remark"] if refused else ""
    if not trials:
        return {"status": status, "remark": remark, "trials": 0}
    exact, exact_error = mean_and_error(trials, "exact")
    f1, f1_error = mean_and_error(trials, "f1")
    unmet = {row["data_seed"] for row in trials if row["condition_met"] is False}
    return {
        "status": status,
        "remark": remark,
        "trials": len(trials),
        "data_sets": len({row["data_seed"] for row in trials}),
        "exact": exact,
        "exact_standard_error": exact_error,
        "f1": f1,
        "f1_standard_error": f1_error,
        "median_loss_gap": median(row["loss_gap"] for row in trials),
        "median_gap_in_sensitivities": median(row["gap_in_sensitivities"] for row in trials),
        "seconds_per_draw": fmean(row["seconds_draw"] for row in trials),
        "seconds_per_fit": fmean(row["seconds_fit"] for row in trials),
        "relation": trials[0]["relation"],
        "data_sets_without_its_condition": len(unmet),
    }
