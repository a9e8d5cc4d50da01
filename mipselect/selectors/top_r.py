"""The top-R mechanism as a scikit-learn estimator."""

from __future__ import annotations

from mipselect.methods import TopRMethod
from mipselect.selectors.problem import SearchSelector


class TopRSelector(SearchSelector):
    """Select columns by top-R: pure ε-differential privacy from a certified pool.

    Parameters
    ----------
    n_features_to_select : int
        s, how many features: the `support_size` of an `Instance`.
    epsilon : float
        ε > 0, under replace-one.
    x_bound : float or sequence of float
        Features are clipped to ± this, or to one bound for each of them: the length of a row
        within a feature of several columns. In their units. Public; required.
    y_bound : float
        The target is clipped to ± this, in its units. Public; required, but not if y holds classes.
    coef_bound : float
        r, the largest ‖β‖₂. Public; required. Without `intercept` centre by public constants.
    ridge : float
        λ > 0 of the penalty (λ/2n)‖β‖². Public; required.
    loss : str or Loss
        See `Instance`. With "hinge" y holds two classes.
    groups, always, intercept, always_bound : optional
        As for `Instance`: features of several columns, columns that are always in and how they are
        bounded, a column of ones. The mask of a fit keeps the columns that are always in.
    pool_size : int or "one-swap"
        How many of the best supports are listed. See `top_supports`. The more there are, the
        closer the draw is to the exponential mechanism; 100,000 take about a second at p = 100.
    solver : str
        See `available_solvers`.
    tolerance : float, optional
        τ in units of the sensitivity. Public; fixed before the data are seen.
    time_limit : float, optional
        Seconds; `NotCertified` is raised if the proof is not complete by then.
    ledger : Ledger, optional
        Pays for each fit.
    random_state : None, int or RandomState
        None is the operating system's generator. Anything else is for tests and experiments, and
        marks the release as not private.

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    section 2.1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import TopRSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 8))
    >>> bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
    >>> selector = TopRSelector(1, epsilon=10.0, **bounds).fit(X, X[:, 5])
    >>> selector.get_support(indices=True).tolist()
    [5]
    """

    def _method(self) -> TopRMethod:
        return TopRMethod(epsilon=self.epsilon, search=self._search())
