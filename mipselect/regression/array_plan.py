"""`ArrayPlan`: a selection and a regression on the columns of X, before a row is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from mipselect.privacy.guarantee import Guarantee
from mipselect.problem.layout import Layout
from mipselect.regression.base import PrivateLinearModel
from mipselect.regression.pair import columns_of, most_features
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
