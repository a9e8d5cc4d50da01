"""Selectors on data sets as recipes of `mipselect bench`: each repeat is one draw. Sensitive."""

from __future__ import annotations

import hashlib
import json
import math
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from statistics import fmean, median, stdev
from typing import Any

import numpy as np

from mipselect import Instance, mistake_levels
from mipselect.errors import MipselectError
from mipselect.mechanisms import Mechanism
from mipselect.mechanisms.supports.mistakes import GAP_CONDITION
from mipselect.mechanisms.supports.propose_test_release import exceeds_condition
from mipselect.problem.stored.files import StoredData, load_problem

from .arrays import Support
from .contestants import CONTESTANTS, Rules, in_words
from .experiment import DataSeed, Recipe
from .runner import DONE, Row, Trial, seed_of
from .sources import DataSource


@dataclass(frozen=True)
class DataSet:
    """Description of the data of a trial.

    Attributes
    ----------
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
    source : str
        What `load_problem` is called with.
    """

    instance: str
    n: int
    p: int
    n_features: int
    support_size: int
    data_seed: int | None
    loss: str
    fingerprint: str
    sensitive: bool
    source: str = field(repr=False)

    @classmethod
    def of(cls, source: str, problem: StoredData, instance: Instance) -> DataSet:
        """Describe a problem."""
        return cls(
            instance=problem.name,
            n=instance.n,
            p=instance.p,
            n_features=instance.n_features,
            support_size=instance.support_size,
            data_seed=problem.data_seed,
            loss=instance.loss,
            fingerprint=fingerprint(problem, instance),
            sensitive=not problem.synthetic,
            source=source,
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
    def facts(self) -> dict[str, Any]:
        """Facts of the data in every row."""
        facts = asdict(self)
        del facts["source"]
        return facts


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


@dataclass(frozen=True)
class Contest(Recipe):
    """One selector at one ε on one data set.

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
    rules : Rules
    """

    data: DataSet
    selector: str
    options: str
    epsilon: float
    base_seed: int
    rules: Rules = field(repr=False)

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return f"{self.data.title}, {self.selector}, ε = {self.epsilon:g}"

    @property
    def sensitive(self) -> bool:
        """Indicator that its data are about somebody."""
        return self.data.sensitive

    @property
    def facts(self) -> dict[str, Any]:
        """Facts of the contest in every row."""
        return {
            **self.data.facts,
            "selector": self.selector,
            "options": self.options,
            "epsilon": self.epsilon,
            "base_seed": self.base_seed,
        }

    def seed(self, what: int | str) -> int:
        """Return the seed of a trial, or of "fit"; the same whatever else is run."""
        return seed_of(self.base_seed, *self.data.identity, self.selector, self.epsilon, what)

    def measure(
        self, data: DataSeed, seed: int, source: DataSource | None
    ) -> Iterator[dict[str, Any]]:
        """Draw once, from a distribution that is built for the first repeat."""
        fit = _fit(self)
        guarantee, best = fit.mechanism.guarantee, fit.reference.support
        seed = self.seed(data.repeat - 1)
        start = time.perf_counter()
        support = sorted(int(j) for j in fit.mechanism.sample(seed))
        seconds_draw = time.perf_counter() - start
        gap = fit.instance.objective(support) - fit.reference.value
        conditional = GAP_CONDITION in guarantee.conditions
        yield {
            **self.facts,
            "status": DONE,
            "guarantee": guarantee.to_dict(),
            "relation": guarantee.relation,
            "condition_met": fit.reference.gap_proven if conditional else None,
            "trial": data.repeat - 1,
            "seed": seed,
            "support": support,
            "exact": best == set(support),
            "f1": len(best.intersection(support)) / fit.instance.support_size,
            "loss_gap": gap,
            "gap_in_sensitivities": gap / fit.instance.sensitivity,
            "seconds_fit": fit.seconds,
            "seconds_draw": seconds_draw,
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

    @classmethod
    def of(cls, instance: Instance, rules: Rules) -> Reference:
        """Find the optimum; `NotCertified` if that takes too long."""
        levels = mistake_levels(instance, solver=rules.solver, time_limit=rules.time_limit)
        return cls(
            support=frozenset(levels.supports[0].tolist()),
            value=instance.objective(levels.supports[0]),
            gap_proven=exceeds_condition(levels.gap, levels.sensitivity),
        )


@dataclass(frozen=True, eq=False)
class Fit:
    """The distribution of a contest, and what its draws are compared with."""

    mechanism: Mechanism[Support]
    instance: Instance
    reference: Reference
    seconds: float


def forget() -> None:
    """Drop the data and the distribution of the last contest."""
    _loaded.cache_clear()
    _tried.cache_clear()


def _fit(contest: Contest) -> Fit:
    found = _tried(contest)
    if isinstance(found, MipselectError):
        raise found
    return found


@lru_cache(maxsize=1)
def _loaded(data: DataSet, rules: Rules) -> tuple[StoredData, Instance, Reference | MipselectError]:
    n = None if data.data_seed is None else data.n
    problem = load_problem(data.source, n=n, seed=data.data_seed)
    instance = problem.instance()
    try:
        return problem, instance, Reference.of(instance, rules)
    except MipselectError as error:
        words = f"without the certified optimum nothing was run: {error}"
        return problem, instance, MipselectError(words)


@lru_cache(maxsize=1)
def _tried(contest: Contest) -> Fit | MipselectError:
    """Build the distribution once; a failure is one for all repeats.

    A first draw is thrown away: what a distribution puts off until it is used belongs to the
    time of the fit.
    """
    problem, instance, reference = _loaded(contest.data, contest.rules)
    if isinstance(reference, MipselectError):
        return reference
    contestant = CONTESTANTS[contest.selector]
    selector = contestant.build(instance, contest.epsilon, contest.rules)
    source = random.Random(contest.seed("fit"))
    selector.set_params(random_state=source)
    start = time.perf_counter()
    try:
        mechanism = selector.mechanism(problem.X, contestant.target(problem, instance))
        mechanism.sample(source)
    except MipselectError as error:
        return error
    return Fit(mechanism, instance, reference, time.perf_counter() - start)


def contests_of(
    data: DataSet,
    instance: Instance,
    selectors: Sequence[str],
    epsilons: Sequence[float],
    rules: Rules,
    base_seed: int,
) -> tuple[list[Contest], list[str]]:
    """List what is to be run on a data set, and why some selectors are not."""
    contests, skipped = [], []
    for name in selectors:
        contestant = CONTESTANTS[name]
        if reason := contestant.unfit(instance):
            skipped.append(f"{name} on {data.instance}: {reason}")
            continue
        for epsilon in epsilons:
            options = in_words(contestant.build(instance, epsilon, rules))
            contests.append(Contest(data, name, options, epsilon, base_seed, rules))
    return contests, skipped


def trials_of(contests: Iterable[Contest], trials: int) -> list[Trial]:
    """List the trials of contests: all of one, then all of the next."""
    return [
        Trial("bench", contest, repeat, contest.base_seed)
        for contest in contests
        for repeat in range(1, trials + 1)
    ]


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
            "n_features": group[0]["n_features"],
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
