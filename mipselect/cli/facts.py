"""What a method draws from, and what is public about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mipselect.data.files import Problem
from mipselect.data.outline import Outline
from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.methods import (
    MCMCMethod,
    MistakesMethod,
    PrivateMethod,
    Rows,
    RowsMethod,
    SupportMethod,
    TopRMethod,
)
from mipselect.search.supports import number_of_listed


@dataclass(frozen=True)
class Facts:
    """What is public about a problem. None is what the method does not use, or hides.

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
    x_bound, y_bound, coef_bound, ridge, target_shift : float or None
    loss : str or None
    sensitivity : float or None
        Δ of R, in units of the loss.
    pool_size : int or None
        How many supports top-R lists.
    mcmc_radius : float or None
        Bound on ‖β‖₁.
    table : mapping
        What else is public about a table with a schema, by the keys of a report.
    """

    n: int | None
    p: int
    n_features: int
    support_size: int
    feature_names: Sequence[str] | None
    target_shift: float
    x_bound: float | None = None
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
        return replace(self, n=n, sensitivity=sensitivity, feature_names=outline.feature_names)


def posed(problem: Problem, method: PrivateMethod) -> Instance | Rows:
    """What `method` draws from; raise `InvalidInput`, naming the file, for a wrong setting.

    Raises
    ------
    InvalidInput
        Of the rows only that a target of classes does not have two, marked as sensitive.
    """
    if not isinstance(method, RowsMethod):
        return problem.instance()
    if problem.made is not None:
        raise InvalidInput(
            f"{problem.path}: --method exponential, top-r and mistakes know features of several "
            "columns, which a table with a schema has; the others do not"
        )
    settings = dict(problem.settings)
    loss = settings.get("loss", "squared")
    y, bounds = problem.y, {name: settings[name] for name in method.bounds}
    if loss != "squared":
        if isinstance(method, MCMCMethod):
            raise InvalidInput(f"{problem.path}: --method mcmc is for the squared loss, not {loss}")
        instance = problem.instance()
        if instance.classes is not None:
            # Classes are -1 and +1, whatever they are called.
            y = instance.y
            bounds = {name: getattr(instance, name) for name in bounds}
    try:
        return Rows(problem.X, y, settings["support_size"], problem.feature_names or (), **bounds)
    except InvalidInput as error:
        raise InvalidInput(f"{problem.path}: {error}") from error


def facts_of(given: Instance | Rows, method: PrivateMethod, target_shift: float) -> Facts:
    """The public side of what is drawn from."""
    if isinstance(given, Rows):
        hidden = method.guarantee.relation == "add-remove"
        return Facts(
            n=None if hidden else given.n,
            p=given.n_features,
            n_features=given.n_features,
            support_size=given.support_size,
            feature_names=given.feature_names,
            target_shift=target_shift,
            x_bound=given.x_bound,
            y_bound=given.y_bound,
            coef_bound=given.coef_bound,
            mcmc_radius=method.radius_of(given) if isinstance(method, MCMCMethod) else None,
        )
    instance = method.sized(given) if isinstance(method, SupportMethod) else given
    return Facts(
        n=instance.n,
        p=instance.p,
        n_features=instance.n_features,
        support_size=instance.support_size,
        feature_names=instance.feature_names,
        target_shift=target_shift,
        x_bound=instance.x_bound,
        y_bound=instance.y_bound,
        coef_bound=instance.coef_bound,
        ridge=instance.ridge,
        loss=instance.loss,
        sensitivity=instance.sensitivity,
        pool_size=_pool_size(instance, method),
        table=_of_a_table(instance),
    )


def _of_a_table(instance: Instance) -> Mapping[str, Any]:
    if instance.units is None:
        return {}
    return {
        "protected_unit": instance.units.unit,
        "always": list(instance.units.always_names),
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
