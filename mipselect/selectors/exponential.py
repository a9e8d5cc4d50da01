"""The exponential mechanism over all supports as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from mipselect.losses import Loss
from mipselect.methods import ExponentialMethod
from mipselect.privacy.ledger import Ledger
from mipselect.selectors.problem import Always, Groups, ProblemSelector


class ExponentialSelector(ProblemSelector):
    """Select columns by the exponential mechanism over all supports: pure ε, without conditions.

    The draw is exact for any number of columns. With `sizes` it chooses their number too, at no
    further ε.

    Parameters
    ----------
    n_features_to_select : int
        s, how many features: the `support_size` of an `Instance`. Not used where `sizes` are given.
    epsilon : float
        ε > 0, under replace-one; pure.
    x_bound, y_bound, coef_bound, ridge : float
        As for `TopRSelector`; λ may be 0 where there are few supports. Public; required.
    loss : str or Loss
        See `Instance`.
    groups, always, intercept, always_bound : optional
        As for `TopRSelector`.
    sizes : sequence of int, optional
        Public numbers of features, such as range(1, 9), from which one is drawn together with the
        features. The sensitivity is that of the largest.
    complexity : float
        a between 0 and 100: with several sizes, how strongly smaller ones are preferred. See
        `ExponentialMechanism`.
    prior_weights : array_like of shape (n_features,), optional
        ω_j > 0, public: feature j is preferred by so much before the data are seen. Default: equal.
    time_limit : float, optional
        Seconds; `NotCertified` is raised if no draw is made by then.
    ledger : Ledger, optional
        Pays for each fit.
    random_state : None, int or RandomState
        None is the operating system's generator. Anything else is for tests and experiments, and
        marks the release as not private.

    References
    ----------
    McSherry and Talwar, "Mechanism design via differential privacy", 2007, theorem 6.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import ExponentialSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 12))
    >>> y = X[:, 3] - X[:, 8]
    >>> bounds = {"x_bound": 1.0, "y_bound": 2.0, "coef_bound": 1.5, "ridge": 1.0}
    >>> selector = ExponentialSelector(2, epsilon=5.0, **bounds).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [3, 8]
    >>> selector.transform(X).shape, selector.release_.private
    ((2000, 2), True)
    """

    def __init__(
        self,
        n_features_to_select: int = 5,
        *,
        epsilon: float = 1.0,
        x_bound: float | Sequence[float] | None = None,
        y_bound: float | None = None,
        coef_bound: float | None = None,
        ridge: float | None = None,
        loss: str | Loss = "squared",
        groups: Groups = None,
        always: Always = None,
        intercept: bool = False,
        always_bound: float | None = None,
        sizes: Sequence[int] | None = None,
        complexity: float = 1.0,
        prior_weights: ArrayLike | None = None,
        time_limit: float | None = None,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_features_to_select,
            epsilon=epsilon,
            x_bound=x_bound,
            y_bound=y_bound,
            coef_bound=coef_bound,
            ridge=ridge,
            loss=loss,
            groups=groups,
            always=always,
            intercept=intercept,
            always_bound=always_bound,
            ledger=ledger,
            random_state=random_state,
        )
        self.sizes = sizes
        self.complexity = complexity
        self.prior_weights = prior_weights
        self.time_limit = time_limit

    def _method(self) -> ExponentialMethod:
        return ExponentialMethod(
            epsilon=self.epsilon,
            sizes=self.sizes,
            complexity=self.complexity,
            prior_weights=self.prior_weights,
            time_limit=self.time_limit,
        )

    def _check_number(self, p: int) -> None:
        # Sizes are checked by the mechanism.
        if self.sizes is None:
            super()._check_number(p)

    def _support_size(self) -> int:
        # With sizes the method replaces it by the largest of them.
        return super()._support_size() if self.sizes is None else 1
