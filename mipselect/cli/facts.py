"""Input that a method draws from, and what is public about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mipselect.data.files import Problem
from mipselect.data.outline import Outline
from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.layout import Layout
from mipselect.methods import (
    MCMCMethod,
    MistakesMethod,
    PrivateMethod,
    Rows,
    RowsMethod,
    SummedRows,
    SupportMethod,
    TopRMethod,
    rows_of,
)
from mipselect.search.supports import number_of_listed

OF_COLUMNS = ("groups", "always", "intercept", "always_bound")
"""Settings of an instance that say which columns make a feature, and what is always in."""


@dataclass(frozen=True)
class Facts:
    """Public numbers and names of a problem. None is what the method does not use, or hides.

    Attributes
    ----------
    n : int or None
        None under add-remove, where it is private, and where no row was read.
    p, n_features : int
        Columns, and the features that a support is chosen from.
    support_size : int
        The largest that may be drawn.
    feature_names : sequence of str or None
        None where no row was read and only the data say them.
    x_bound : float, sequence of float or None
        Several where features have bounds of their own.
    y_bound, coef_bound, ridge, target_shift : float or None
    loss : str or None
    sensitivity : float or None
        Δ of R, in units of the loss.
    pool_size : int or None
        How many supports top-R lists.
    mcmc_radius : float or None
        Bound on ‖β‖₁.
    table : mapping
        What else is public about a table with a schema, or about features of several columns, by
        the keys of a report.
    """

    n: int | None
    p: int
    n_features: int
    support_size: int
    feature_names: Sequence[str] | None
    target_shift: float
    x_bound: float | Sequence[float] | None = None
    y_bound: float | None = None
    coef_bound: float | None = None
    ridge: float | None = None
    loss: str | None = None
    sensitivity: float | None = None
    pool_size: int | None = None
    mcmc_radius: float | None = None
    table: Mapping[str, Any] = field(default_factory=dict)

    def without_n(self) -> Facts:
        """The same where n is private: without it, and without the sensitivity, which tells it."""
        return replace(self, n=None, sensitivity=None)

    def of(self, outline: Outline) -> Facts:
        """Those of an outline, from those of its blank: what only the rows would tell is None."""
        if outline.n is None or self.n is None:
            n, sensitivity = None, None
        else:
            n, blank = outline.n, self.sensitivity
            # nΔ does not depend on n.
            sensitivity = None if blank is None else blank * self.n / n
        names = None if outline.feature_names is None else self.feature_names
        return replace(self, n=n, sensitivity=sensitivity, feature_names=names)


def posed(problem: Problem, method: PrivateMethod) -> Instance | Rows | SummedRows:
    """Return the instance, the rows or the sums of rows that `method` draws from.

    Raises
    ------
    InvalidInput
        For a wrong setting, naming the file. Of the rows only that a target of classes does not
        have two, marked as sensitive.
    """
    if not isinstance(method, RowsMethod):
        return problem.instance()
    settings, made = dict(problem.settings), problem.made
    loss = settings.get("loss", "squared")
    if loss != "squared" and isinstance(method, MCMCMethod):
        raise InvalidInput(f"{problem.path}: --method mcmc is for the squared loss, not {loss}")
    if made is not None:
        return rows_of(made, method.bounds)
    y, bounds = problem.y, {name: settings[name] for name in method.bounds}
    if loss != "squared":
        instance = problem.instance()
        if instance.classes is not None:
            # Classes are -1 and +1, whatever they are called.
            y = instance.y
            bounds["y_bound"] = instance.y_bound
            bounds = {name: bounds[name] for name in method.bounds}
    columns = {name: settings[name] for name in OF_COLUMNS if name in settings}
    try:
        return Rows(
            problem.X, y, settings["support_size"], problem.feature_names or (), **bounds, **columns
        )
    except InvalidInput as error:
        raise InvalidInput(f"{problem.path}: {error}") from error


def facts_of(given: Instance | Rows | SummedRows, method: PrivateMethod, problem: Problem) -> Facts:
    """The public side of what is drawn from, which `posed` made of a problem."""
    target_shift = problem.target_shift
    if isinstance(given, Rows | SummedRows):
        hidden = method.guarantee.relation == "add-remove"
        return Facts(
            n=None if hidden else given.n,
            p=given.n_columns,
            n_features=given.n_features,
            support_size=given.support_size,
            feature_names=given.feature_names,
            target_shift=target_shift,
            x_bound=given.x_bound,
            y_bound=given.y_bound,
            coef_bound=given.coef_bound,
            mcmc_radius=method.radius_of(given) if isinstance(method, MCMCMethod) else None,
            table=_of_columns(given.layout, method)
            if problem.made is None
            else _of_a_table(problem.made, method),
        )
    instance = method.sized(given) if isinstance(method, SupportMethod) else given
    return Facts(
        n=instance.n,
        p=instance.p,
        n_features=instance.n_features,
        support_size=instance.support_size,
        feature_names=instance.feature_names,
        target_shift=target_shift,
        x_bound=_bounds(instance.feature_bounds.tolist()),
        y_bound=instance.y_bound,
        coef_bound=instance.coef_bound,
        ridge=instance.ridge,
        loss=instance.loss,
        sensitivity=instance.sensitivity,
        pool_size=_pool_size(instance, method),
        table=_of_columns(instance.layout, method)
        if instance.units is None
        else _of_a_table(instance, method),
    )


def _bounds(each: list[float]) -> float | list[float]:
    """One number where they are all alike."""
    return each[0] if min(each) == max(each) else each


def _of_columns(layout: Layout, method: PrivateMethod) -> Mapping[str, Any]:
    """Return what is public about features of several columns and columns that are always in."""
    if layout.features.plain:
        return {}
    names = layout.column_names
    return {
        "groups": [[names[c] for c in group] for group in layout.groups],
        "always": [names[c] for part in layout.always for c in part],
        "always_counts": method.looks_at_always,
        "intercept": layout.intercept,
    }


def _of_a_table(instance: Instance, method: PrivateMethod) -> Mapping[str, Any]:
    assert instance.units is not None
    return {
        "protected_unit": instance.units.unit,
        "always": list(instance.units.always_names),
        "always_counts": method.looks_at_always,
        "intercept": instance.intercept,
        "target_scale": instance.units.target_scale,
        "target_offset": instance.units.target_offset,
        "classes": None if instance.classes is None else list(instance.classes),
    }


def _pool_size(instance: Instance, method: PrivateMethod) -> int | None:
    match method:
        case TopRMethod():
            return number_of_listed(instance, method.search.pool_size)
        case MistakesMethod() if method.test_epsilon is not None:
            return number_of_listed(instance, method.search.pool_size)
        case _:
            return None
