"""AdaSSP from moments: least squares on a few features, without the rows; (ε, δ)."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.grid import rounded
from mipselect.privacy.guarantee import Guarantee, checked_relation
from mipselect.privacy.ledger import Ledger, checked_ledger, paid
from mipselect.privacy.randomness import Rng, generator
from mipselect.problem.data import ExactSums
from mipselect.problem.instance import Instance
from mipselect.problem.scores import LOSS
from mipselect.regression.adassp import Deviations, NoisyGram, deviations
from mipselect.regression.drawn import Drawn, released
from mipselect.regression.noise import plus_gaussian
from mipselect.regression.release import ModelRelease
from mipselect.regression.rows import RowMap
from mipselect.tables.moments import Moments
from mipselect.validation import checked_budget, checked_delta


def adassp_from_moments(
    instance: Instance,
    support: ArrayLike,
    *,
    epsilon: float,
    delta: float,
    relation: str = "replace-one",
    ledger: Ledger | None = None,
    rng: Rng = None,
) -> ModelRelease:
    """Draw least squares on the features of a support by AdaSSP.

    Parameters
    ----------
    instance : Instance
        From moments of rows, and not of blocks of them. Columns that are always in and its
        intercept are in the model; its r and λ are not used.
    support : array_like of int, shape (s,)
        Features: public, such as those of a release from the same moments.
    epsilon, delta : float
        ε > 0 and 0 < δ < 1, under `relation`; they come on top of what drew the support.
    relation : {"replace-one", "add-remove"}
    ledger : Ledger, optional
        Pays before anything is drawn.
    rng : optional
        None is the operating system's generator. Anything else marks the release as not private.

    Returns
    -------
    ModelRelease
        With the statistics of `AdaSSPRegressor`. Its support are columns: of every feature, then
        those that are always in. With a table coefficients are those of columns in [-1, 1]; see
        `mipselect.tables.equation.equation`.

    Raises
    ------
    InvalidInput, BudgetExceeded, RelationMismatch

    Notes
    -----
    Rows z of columns in [-1, 1] have a length of at most c, c² the number of fields and the one,
    or of columns where they are no fields. Sums of squares and products are exact, so they have
    the sensitivities of `AdaSSPRegressor` times c² and c, with what doubles round.

    References
    ----------
    Wang, "Revisiting differentially private linear regression", 2018, algorithm 2 (AdaSSP).

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect import Instance
    >>> from mipselect.tables.moments import Moments
    >>> from mipselect.regression import adassp_from_moments
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 3))
    >>> moments = Moments.of((X, 0.5 * X[:, 1]), x_bound=1.0, y_bound=1.0)
    >>> instance = Instance.from_moments(moments, support_size=1, coef_bound=1.0, ridge=1.0)
    >>> release = adassp_from_moments(instance, [1], epsilon=2.0, delta=1e-6)
    >>> release.feature_names, abs(release.coefficients[0] - 0.5) < 0.1
    (('x1',), True)
    """
    checked_ledger(ledger)
    if not isinstance(instance, Instance):
        raise InvalidInput(
            f"a model needs sums of rows, which a {type(instance).__name__} has none of: "
            "Instance.from_moments"
        )
    if instance.moments is None:
        raise InvalidInput("the instance has rows; AdaSSPRegressor takes them")
    if instance.problem.score != LOSS:
        raise InvalidInput(
            "the instance has sums over blocks of rows, where a row counts once in each partition; "
            "a model needs sums of the rows themselves: Moments.of, and Instance.from_moments"
        )
    budget, small = checked_budget(epsilon), checked_delta(delta)
    checked_relation(relation)
    source, private = generator(rng)
    chosen = instance.check_support(support)
    columns = _columns(instance, chosen.tolist())
    rows = _row_map(instance, instance.moments, columns, len(chosen))
    sigma = deviations(budget, small, relation, 1, columns=rows.columns)
    guarantee = Guarantee(budget, small, relation=relation, private=private)
    with paid(ledger, guarantee, "adassp from moments"), np.errstate(all="ignore"):
        sums = _sums(instance, instance.moments, columns)
        drawn = _drawn(*sums, rows, instance.y_bound, sigma, source, private=private)
    names = tuple(instance.column_names[j] for j in columns)
    return released(drawn, columns, names, guarantee)


def _drawn(
    gram: FloatArray,
    moment: FloatArray,
    rows: RowMap,
    y_bound: float,
    sigma: Deviations,
    source: random.Random,
    *,
    private: bool,
) -> Drawn:
    """Draw the model from Σ zzᵀ and Σ zy; σ are those for rows within 1."""
    square = rows.norm**2
    of_rows = replace(sigma, gram=square * sigma.gram, eigenvalue=square * sigma.eigenvalue)
    squares = NoisyGram.draw(gram, of_rows, source, private=private)
    noisy = plus_gaussian(moment, rows.norm * sigma.gradient, source, private=private)
    return Drawn(
        squares.inverse @ noisy * y_bound,
        rows,
        "adassp",
        bounds={
            "y_bound": y_bound,
            "residual_bound": y_bound,
            "rounds": 1.0,
            "row_norm": rows.norm,
            **sigma.stated(y_bound),
        },
        statistics={**squares.stated(square), "gradients": [noisy / rows.norm * y_bound]},
    )


def _columns(instance: Instance, support: list[int]) -> tuple[int, ...]:
    parts = [*(instance.groups[j] for j in support), *instance.always]
    return tuple(j for part in parts for j in part)


def _row_map(
    instance: Instance, moments: Moments, columns: tuple[int, ...], features: int
) -> RowMap:
    place = {name: k for k, name in enumerate(moments.columns.names)}
    units = tuple(moments.columns.x_bounds[place[instance.column_names[j]]] for j in columns)
    parts = len(columns) if instance.units is None else features + len(instance.always)
    length = math.sqrt(parts + instance.intercept)
    return RowMap(len(columns), instance.intercept, x_bound=units, unit=units, row_bound=length)


def _sums(
    instance: Instance, moments: Moments, columns: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Return Σ zzᵀ and Σ zy of rows in [-1, 1], the one last; each entry is rounded once."""
    order = {j: k for k, j in enumerate(instance.layout.order.tolist())}
    places = ExactSums(moments, instance.layout).places
    entries = [int(places[order[j]]) for j in columns] + [moments.columns.ones] * instance.intercept
    matrix = moments.matrix
    return rounded(matrix[np.ix_(entries, entries)]), rounded(matrix[entries, -1])
