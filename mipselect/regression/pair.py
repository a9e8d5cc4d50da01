"""A selection and a regression on the same rows: one relation, one charge, one release."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mipselect.errors import InvalidInput, RelationMismatch
from mipselect.losses.classes import Classes
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.privacy.decimals import exact
from mipselect.privacy.guarantee import Guarantee, compose
from mipselect.privacy.ledger import Ledger, paid
from mipselect.problem.layout import Layout
from mipselect.regression.base import PrivateLinearModel
from mipselect.regression.drawn import ModelRows, released
from mipselect.regression.release import ModelRelease
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import asked_sizes


@dataclass(frozen=True, eq=False)
class ArrayPlan:
    """Plan of what is drawn from X and y, as `TablePlan` is one of a table; all of it is public.

    Attributes
    ----------
    layout : Layout
        Which columns of X make a feature, and which are always in.
    method : PrivateSelector
        How features are selected.
    regressor : PrivateLinearModel
        Not fitted; its parameters may hold one number for each column of X.
    """

    layout: Layout
    method: PrivateSelector
    regressor: PrivateLinearModel

    def model_on(self, columns: tuple[int, ...]) -> PrivateLinearModel:
        """Make the estimator of the coefficients of some columns."""
        return self.regressor.for_columns(columns, len(self.layout.column_names))

    @property
    def narrowest(self) -> tuple[int, ...]:
        """The columns of a support that has as few as any that may be drawn."""
        groups = self.layout.groups
        by_width = sorted(range(len(groups)), key=lambda j: len(groups[j]))
        size = min(asked_sizes(self.method) or (self.method.n_features_to_select,))
        return columns_of(self.layout, tuple(sorted(by_width[:size])))

    @property
    def model_promise(self) -> Guarantee:
        """Guarantee of the regressor on as many columns as are drawn at most.

        Its parameters are checked for every column of X: after the draw it would be too late.
        """
        layout, size = self.layout, len(self.layout.column_names)
        features = min(most_features(self.method), len(layout.groups))
        width = layout.features.most_columns(features)
        for start in range(0, size, width):
            columns = tuple(range(min(start, size - width), min(start + width, size)))
            promised = self.model_on(columns).promise(width)
            if not self.regressor.has_columns(size):
                break
        return promised


ModelOn = Callable[[Support, tuple[int, ...]], PrivateLinearModel]
"""Function from the drawn features, and all columns of the model, to its estimator."""


RowsOf = Callable[[Support, tuple[int, ...], random.Random], ModelRows]
"""Function from a support to its rows. It may draw; the pair pays for that."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A law of supports, and what is fitted to the columns of what it draws.

    Attributes
    ----------
    selection : Mechanism
    layout : Layout
        Which columns make a feature, and which are always in.
    model_on : callable
    guarantee : Guarantee
        Guarantee of both together; see `promised_together`.
    name : str
        What a ledger is told of the model.
    """

    selection: Mechanism[Any]
    layout: Layout
    model_on: ModelOn
    guarantee: Guarantee
    name: str

    def release(
        self,
        rows_of: RowsOf,
        ledger: Ledger | None,
        sources: tuple[random.Random, random.Random],
        classes: Classes | None = None,
    ) -> tuple[ModelRelease, tuple[int, ...]]:
        """Charge the ledger once, draw the features, then the coefficients.

        Parameters
        ----------
        rows_of : callable
        ledger : Ledger or None
        sources : (random.Random, random.Random)
            For the selection and for the model.
        classes : tuple, optional
            The two classes.

        Returns
        -------
        release : ModelRelease
        columns : tuple of int
            The columns of its coefficients.
        """
        source, model_source = sources
        self.selection.prepare()
        what = f"{self.selection.name}, then {self.name}"
        # A warning would tell about the data. NumPy's state is that of the thread.
        with paid(ledger, self.guarantee, what), np.errstate(all="ignore"):
            support = features_of(self.selection.sample(source))
            columns = columns_of(self.layout, support)
            model = self.model_on(support, columns)
            rows = rows_of(support, columns, model_source)
            drawn = model._draw(rows, model_source, self.guarantee.private).in_units_of(rows)
        drawn = replace(drawn, mechanism=f"{self.selection.name}, then {drawn.mechanism}")
        names = self.layout.feature_names
        release = released(
            drawn,
            support,
            tuple(names[j] for j in support),
            self.guarantee,
            classes,
            columns=self._named(columns) if rows.table is None else self._all_named(columns),
            table=rows.table,
        )
        return release, columns

    def _named(self, columns: tuple[int, ...]) -> tuple[str, ...]:
        plain = not self.layout.always and all(len(group) == 1 for group in self.layout.groups)
        return () if plain else self._all_named(columns)

    def _all_named(self, columns: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self.layout.column_names[c] for c in columns)


def promised_together(
    stated: Mapping[str, Guarantee], model: Guarantee, *more: Guarantee
) -> Guarantee:
    """Add up the guarantees of a draw of columns and a model on them, under the model's relation.

    Parameters
    ----------
    stated : mapping of str to Guarantee
        Guarantees of the selection, by relation.
    model : Guarantee
        Guarantee of the model, whatever columns were drawn.
    *more : Guarantee
        Of what else is drawn of them.

    Raises
    ------
    RelationMismatch
        If the selection is not stated under the relation of the model.

    Notes
    -----
    The support is a release, and the model is one for every support: ε, δ and ρ add up. Released
    is the pair; columns that differ between the supports of two neighbours make no difference, for
    the sum holds given any support.
    """
    selection = stated.get(model.relation)
    if selection is None:
        raise RelationMismatch(
            f"the regressor is private under {model.relation}, the selector under "
            f"{', '.join(stated)} only: give both the same relation"
        )
    return compose([selection, *more, model], model.relation)


def require_within(together: Guarantee, epsilon: float) -> None:
    """Raise `InvalidInput` if both together cost more than ε."""
    if exact(together.epsilon) > exact(epsilon):
        raise InvalidInput(
            f"selector and regressor cost {together.epsilon:.15g} together, more than "
            f"epsilon = {epsilon:.15g}: options of the selector have an ε of their own"
        )


def most_features(selector: PrivateSelector) -> int:
    """Return the most features that a selector may draw."""
    sizes = asked_sizes(selector)
    return int(selector.n_features_to_select) if sizes is None else max(map(int, sizes))


def features_of(outcome: Any) -> Support:
    """Return what was drawn as sorted features."""
    return (outcome,) if isinstance(outcome, int) else tuple(sorted(outcome))


def columns_of(layout: Layout, support: Support) -> tuple[int, ...]:
    """Return the columns of some features, and those that are always in."""
    parts = (*(layout.groups[j] for j in support), *layout.always)
    return tuple(c for part in parts for c in part)
