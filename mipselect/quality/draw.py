"""Rows that are kept apart from a fit, and the one private draw of the quality of predictions."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.privacy.concentrated import largest_pure_epsilon
from mipselect.privacy.decimals import exact
from mipselect.privacy.guarantee import Guarantee
from mipselect.quality.classes import quality_of_classes
from mipselect.quality.measures import Quality
from mipselect.quality.numbers import r2_of_numbers


def size_held_out(units: int, share: float) -> int:
    """Return how many of so many rows, or people, are kept apart under replace-one."""
    return min(max(round(units * exact(share)), 1), max(units - 1, 0))


def held_out(units: int, share: float, relation: str, source: random.Random) -> NDArray[np.bool_]:
    """Draw which of so many rows, or people, are kept apart; shape (units,).

    Parameters
    ----------
    units : int
    share : float
        Between 0 and 1.
    relation : {"replace-one", "add-remove"}
        Under replace-one a subset of a public size is drawn, each as likely. Under add-remove
        each row is kept apart with this probability, whatever the others are.
    source : random.Random

    Notes
    -----
    A row is in one part only, and which part does not depend on any row. So the fit on one part
    and the measures on the other together are as private as the weaker of the two: see
    docs/mathematics/quality.md, (1).
    """
    part = exact(share)
    apart = np.zeros(units, dtype=bool)
    if relation == "replace-one":
        apart[source.sample(range(units), size_held_out(units, share))] = True
    else:
        draws = (source.randrange(part.denominator) for _ in range(units))
        apart[:] = np.fromiter((draw < part.numerator for draw in draws), bool, units)
    return apart


@dataclass(frozen=True, eq=False)
class Predictions:
    """Targets of rows and what a model says of them; sensitive.

    Attributes
    ----------
    target : float array, shape (n,)
        Numbers, NaN where there is none; or classes as -1 and +1, 0 where there is none.
    decisions : float array, shape (n,)
        Linear predictors, in the units of the target.
    of_classes : bool
    bound : float or None
        For numbers: targets are clipped to ± this.
    scale : float
        Units of the user in one unit of the target.
    complete : bool
        True if it is public that every row has a target.
    weights : float array, shape (n,), or None
        How much each row counts, in [0, 1]; None where all count the same.
    log_odds : bool
        True for classes if linear predictors are the log-odds; else nothing is said of
        probabilities.
    second_class : str or None
        The second class in words.
    """

    target: FloatArray = field(repr=False)
    decisions: FloatArray = field(repr=False)
    of_classes: bool
    bound: float | None
    complete: bool
    scale: float = 1.0
    weights: FloatArray | None = field(default=None, repr=False)
    log_odds: bool = True
    second_class: str | None = None


def quality_of(
    predictions: Predictions,
    guarantee: Guarantee,
    source: random.Random,
    share: float | None = None,
) -> Quality:
    """Draw the quality of predictions, ε-private for the rows that they are of.

    Parameters
    ----------
    predictions : Predictions
    guarantee : Guarantee
        With ε and the relation; pure.
    source : random.Random
    share : float, optional
        Share of the rows that was kept apart, for the record.

    Raises
    ------
    InvalidInput
        By `require_measurable`.
    """
    relation, epsilon = guarantee.relation, exact(guarantee.epsilon)
    require_measurable(predictions.of_classes, predictions.bound)
    y, found = predictions.target, predictions.decisions
    weights, rows = predictions.weights, len(y) if relation == "replace-one" else None
    of_the_rows: dict[str, Any] = {"guarantee": guarantee, "rows": rows, "share": share}
    with np.errstate(all="ignore"):
        if predictions.of_classes:
            of_classes = quality_of_classes(y, found, relation, epsilon, source, weights)
            known = predictions.log_odds
            return Quality(
                measures=of_classes.measures,
                bins=of_classes.bins if known else (),
                matching_threshold=of_classes.matching_threshold if known else None,
                second_class=predictions.second_class,
                **of_the_rows,
            )
        assert predictions.bound is not None
        bound, known = predictions.bound, predictions.complete and weights is None
        r2, clip = r2_of_numbers(
            np.clip(y / bound, -1.0, 1.0),
            found / bound,
            ~np.isnan(y),
            rows if known else None,
            relation,
            epsilon,
            source,
            weights,
        )
    return Quality(measures=(r2,), clip=clip * bound * predictions.scale, **of_the_rows)


def require_measurable(of_classes: bool, bound: float | None) -> None:
    """Raise `InvalidInput` for numbers without a public range, whose squares nothing bounds."""
    if not of_classes and bound is None:
        raise InvalidInput("the quality of a model needs a public range of the target: y_bound")


def within(guarantee: Guarantee) -> Guarantee:
    """Return the largest pure guarantee that costs no more than another, in ε and in ρ.

    Disjoint rows, one part under each of the two, are together as private as the other alone.
    """
    epsilon = guarantee.epsilon
    if guarantee.rho is not None:
        epsilon = min(epsilon, largest_pure_epsilon(exact(guarantee.rho)))
    return Guarantee(epsilon, relation=guarantee.relation, private=guarantee.private)
