"""Supports that a search found, and the report of `solve` on them, as JSON. It is sensitive."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mipselect.cli.agreement import Comparison
from mipselect.cli.inputs import TableToSolve
from mipselect.cli.output import BOUNDS, SENSITIVE, finite_or_none, picked
from mipselect.problem.instance import Instance
from mipselect.problem.stored.stored_data import StoredData
from mipselect.search import MistakeLevels, SupportPool
from mipselect.search.certificate import Effort

INTERCEPT = "(intercept)"


@dataclass(frozen=True, eq=False)
class Solved:
    """Supports that a search found, and what is known about them.

    Attributes
    ----------
    name : str
        Name of the instance.
    instance : Instance
    found : SupportPool or MistakeLevels
    clipping : Clipping or None
    comparison : Comparison or None
        With what the file of the instance expects.
    outside : Outside or None
        Supports outside of a certified pool.
    profile : bool
        Report what each strategy of the search did.
    table : TableToSolve or None
        The table that was given in place of an instance.
    """

    name: str
    instance: Instance
    found: SupportPool | MistakeLevels
    clipping: Clipping | None
    comparison: Comparison | None = None
    outside: Outside | None = None
    profile: bool = False
    table: TableToSolve | None = None

    @property
    def best(self) -> list[int]:
        """Features of the best support."""
        support: list[int] = self.found.supports[0].tolist()
        return support

    @property
    def always(self) -> list[str]:
        """Names of the columns that are always in, without the intercept."""
        instance = self.instance
        return [instance.column_names[c] for part in instance.always for c in part]

    @property
    def has_units(self) -> bool:
        """True of a table with a schema, but for blocks: their coefficients have no units."""
        return self.instance.units is not None and self.instance.problem.blocks is None

    def names(self, support: list[int]) -> list[str]:
        """Return the names of features."""
        return [self.instance.feature_names[j] for j in support]


def solved_report(solved: Solved) -> Mapping[str, Any]:
    """Return the JSON object of a pool or of mistake levels; what is infinite is null."""
    found = solved.found
    own = _of_pool(solved, found) if isinstance(found, SupportPool) else _of_levels(found)
    more: dict[str, Any] = {}
    if solved.profile:
        more["profile"] = [asdict(own) for own in found.effort.strategies]
    if solved.table is not None:
        more |= {"ranges": solved.table.ranges, "toml": solved.table.toml(solved.instance)}
    return {**_of_both(solved), **own, **more}


def effort_counts(effort: Effort) -> dict[str, Any]:
    """Return solver, seconds and counts of a search, without its strategies."""
    return {name: value for name, value in asdict(effort).items() if name != "strategies"}


def _of_pool(solved: Solved, pool: SupportPool) -> dict[str, Any]:
    return {
        "outside_pool": None if solved.outside is None else asdict(solved.outside),
        "method": "top-r",
        "pool_size": len(pool),
        "worst_listed_value": float(pool.values[-1]),
        "rest_bound": finite_or_none(pool.rest_bound),
        "supports": pool.supports.tolist(),
        "values": pool.values.tolist(),
    }


def _of_levels(levels: MistakeLevels) -> dict[str, Any]:
    return {
        "method": "mistakes",
        "levels": [
            {
                "level": i,
                "support": levels.supports[i].tolist(),
                "value": float(levels.values[i]),
                "bound": float(levels.bounds[i]),
                "size": levels.sizes[i],
            }
            for i in range(len(levels))
        ],
        "gap": finite_or_none(levels.gap),
        "gap_over_twice_sensitivity": finite_or_none(levels.gap / (2.0 * levels.sensitivity)),
    }


def _of_both(solved: Solved) -> dict[str, Any]:
    instance, found, best = solved.instance, solved.found, solved.best
    fit, public = instance.fit(best), instance.problem.public()
    return {
        "command": "solve",
        "sensitive": True,
        "warning": SENSITIVE,
        "instance": solved.name,
        **picked(instance, "n", "p", "n_features", "support_size", "number_of_supports"),
        **{name: public[name] for name in ("loss", *BOUNDS)},
        "intercept": instance.intercept,
        **picked(found, "sensitivity", "tolerance", "certified"),
        "best": {
            "support": best,
            "names": solved.names(best),
            "value": float(found.values[0]),
            "proven_optimal": found.proves_optimum,
            "columns": [instance.column_names[c] for j in best for c in instance.groups[j]],
            "coef": fit.coef.tolist(),
            "always": [*solved.always, *([INTERCEPT] if instance.intercept else [])],
            "always_coef": fit.always.tolist(),
            **(_in_units(instance, best) if solved.has_units else {}),
            "multiplier": fit.multiplier,
        },
        "expected": None
        if solved.comparison is None
        else picked(solved.comparison, "agrees", "exact"),
        "clipped": None if solved.clipping is None else asdict(solved.clipping),
        "effort": effort_counts(found.effort),
    }


def _in_units(instance: Instance, support: list[int]) -> dict[str, Any]:
    """Describe the coefficients in units of the table, as part of the JSON object."""
    rule = instance.fit_in_units(support)
    return {"in_units": {"intercept": rule.intercept, "by_column": dict(rule.by_column)}}


@dataclass(frozen=True)
class Clipping:
    """The shares of every column and of the target that the bounds change; sensitive."""

    columns: tuple[float, ...]
    target: float


@dataclass(frozen=True)
class Outside:
    """The probability that top-r at ε draws a support that is not in its pool; sensitive."""

    epsilon: float
    probability: float


def outside(pool: SupportPool, epsilon: float) -> Outside:
    """Return the probability that top-r at ε draws a support that is not listed in its pool."""
    if not pool.number_unlisted:
        return Outside(epsilon, 0.0)
    scale = 2.0 * pool.sensitivity * (1.0 + pool.tolerance)
    with np.errstate(over="ignore"):
        logs = -epsilon * ((pool.values - pool.values[0]) / scale)
    unlisted = math.log(pool.number_unlisted) + float(logs[-1])
    listed = float(np.logaddexp.reduce(logs))
    return Outside(epsilon, math.exp(unlisted - float(np.logaddexp(unlisted, listed))))


def clipped(stored: StoredData, instance: Instance) -> Clipping | None:
    """Return the shares of the data that the bounds clip; None for a table already mapped."""
    if stored.mapped:
        return None
    pairs = zip(stored.X.T, instance.X.T, strict=True)
    columns = tuple(float(np.mean(before != after)) for before, after in pairs)
    if instance.classes is not None:
        return Clipping(columns, 0.0)
    return Clipping(columns, float(np.mean(np.abs(stored.y) > instance.y_bound)))
