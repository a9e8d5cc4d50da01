"""Selection and regression as one private release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from mipselect.errors import InvalidInput, RelationMismatch
from mipselect.mechanisms.base import Mechanism
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.guarantee import Guarantee, compose
from mipselect.privacy.ledger import Ledger
from mipselect.regression.base import (
    NumberPredictor,
    PrivateRegressor,
    checked_ledger,
    paid,
    released,
    source_of,
)
from mipselect.selectors.base import PrivateSelector
from mipselect.validation import checked_budget, checked_share


class SelectThenRegress(NumberPredictor):
    """Draw columns with one estimator, then a model on them with another: one release.

    Parameters
    ----------
    selector : PrivateSelector
        With its own ε, bounds and options.
    regressor : PrivateRegressor
        With its own ε, δ, bounds and options. A parameter with one number for each column of X
        is cut to the columns that were drawn.
    epsilon : float, optional
        ε of both together. It takes the place of their own: `selection_share` of it goes to the
        selector's `epsilon`, and the rest to the regressor's.
    selection_share : float
        Between 0 and 1; counts with `epsilon` only.
    ledger : Ledger, optional
        Pays for each fit, once for both. Those of the two estimators must be None.

    Attributes
    ----------
    support_ : ndarray of bool, shape (p,)
        True for the columns that were drawn.
    coef_ : ndarray of shape (p,)
        Zeros for the columns that were not drawn.

    Raises
    ------
    RelationMismatch
        If the selector does not state its guarantee under the relation of the regressor; nothing
        is charged or drawn.

    Notes
    -----
    The columns are a private release, and the model on them one more for any columns: ε and δ add
    up (basic composition, both under one relation). The intercept is no column and is never
    drawn. The draws are seeded if one of the two estimators has a `random_state`.
    """

    def __init__(
        self,
        selector: PrivateSelector,
        regressor: PrivateRegressor,
        *,
        epsilon: float | None = None,
        selection_share: float = 0.5,
        ledger: Ledger | None = None,
    ) -> None:
        self.selector = selector
        self.regressor = regressor
        self.epsilon = epsilon
        self.selection_share = selection_share
        self.ledger = ledger

    support_: np.ndarray[Any, np.dtype[np.bool_]]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge the ledger once, draw the columns, then the coefficients.

        Takes and raises what `PrivateLinearModel.fit` does.
        """
        checked_ledger(self.ledger)
        selector, regressor = self._parts()
        source, of_columns = source_of(selector.random_state)
        model_source, of_model = source_of(regressor.random_state)
        table, target = self._validated(X, y)
        names, size = self._names(), table.shape[1]
        # Before the search for a law, which may take long.
        selector._check_number(size)
        model = _promise_on_some_columns(selector, regressor, size)
        selection: Mechanism[Any] = selector._silent_mechanism(X, y, source)
        relation = regressor.relation
        stated = selection.guarantees.get(relation)
        if stated is None:
            raise RelationMismatch(
                f"the regressor is private under {relation}, the selector under "
                f"{', '.join(selection.guarantees)} only: give both the same relation"
            )
        together = compose([stated, model], relation)
        if self.epsilon is not None and exact(together.epsilon) > exact(self.epsilon):
            raise InvalidInput(
                f"selector and regressor cost {together.epsilon:.15g} together, more than "
                f"epsilon = {self.epsilon:.15g}: options of the selector have an ε of their own"
            )
        guarantee = replace(together, private=of_columns and of_model)
        what = f"{selection.name}, then {type(regressor).__name__}"
        with paid(self.ledger, guarantee, what) as promised, np.errstate(all="ignore"):
            support = _columns(selection.sample(source))
            chosen = regressor.for_columns(support, size)
            drawn = chosen._draw(table[:, list(support)], target, model_source, of_model)
        guarantee = replace(guarantee, conditions=promised.conditions)
        drawn = replace(drawn, mechanism=f"{selection.name}, then {drawn.mechanism}")
        self._keep(released(drawn, support, tuple(names[j] for j in support), guarantee))
        self.support_ = np.zeros(size, dtype=bool)
        self.support_[list(support)] = True
        return self

    def _seeded(self) -> bool:
        return self.selector.random_state is not None and self.regressor.random_state is not None

    def _parts(self) -> tuple[Any, Any]:
        """Copies of the two estimators, with their shares of ε if there is one to divide."""
        for part, kind, name in (
            (self.selector, PrivateSelector, "selector"),
            (self.regressor, PrivateRegressor, "regressor"),
        ):
            if not isinstance(part, kind):
                raise InvalidInput(f"{name} must be a {kind.__name__}, got {part!r}")
            if part.ledger is not None:
                raise InvalidInput(f"the {name} has a ledger; give it to SelectThenRegress")
        selector, regressor = clone(self.selector), clone(self.regressor)
        # A clone copies a generator, and so would draw the same again at each fit.
        selector.random_state = self.selector.random_state
        regressor.random_state = self.regressor.random_state
        if self.epsilon is None:
            return selector, regressor
        share = checked_share(self.selection_share, "selection_share", closed=False)
        whole = exact(checked_budget(self.epsilon))
        first = round_down(whole * exact(share))
        return (
            selector.set_params(epsilon=first),
            regressor.set_params(epsilon=round_down(whole - exact(first))),
        )


def _promise_on_some_columns(
    selector: PrivateSelector, regressor: PrivateRegressor, size: int
) -> Guarantee:
    """What the regressor promises on as many columns as are drawn at most.

    Its parameters are checked for every column of X: after the draw it would be too late.
    """
    sizes = getattr(selector, "sizes", None)
    largest = int(selector.n_features_to_select) if sizes is None else max(map(int, sizes))
    width = min(largest, size)
    for start in range(0, size, width):
        support = tuple(range(min(start, size - width), min(start + width, size)))
        promised = regressor.for_columns(support, size).promise(width)
        if not regressor.has_columns(size):
            break
    return promised


def _columns(outcome: Any) -> tuple[int, ...]:
    return (outcome,) if isinstance(outcome, int) else tuple(sorted(outcome))
