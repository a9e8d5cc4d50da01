"""The trials of `mipselect bench`: data, seeds, and what comes out. Sensitive."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mipselect import Instance, mistake_levels
from mipselect.errors import MipselectError, NotCertified, SolverFailure
from mipselect.mechanisms.supports.mistakes import GAP_CONDITION
from mipselect.mechanisms.supports.propose_test_release import exceeds_condition
from mipselect.problem.stored.files import StoredData, load_problem

from .contestants import CONTESTANTS, Rules, in_words
from .trial_file import DONE, FAILED, NOT_CERTIFIED, Row

SEED_BITS = 48
"""So few that every reader of JSON keeps them."""


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
        facts = (self.base_seed, *self.data.identity, self.selector, self.epsilon, what)
        digest = hashlib.sha256(json.dumps(facts).encode()).digest()
        return int.from_bytes(digest) >> (8 * len(digest) - SEED_BITS)

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
