"""The mistakes mechanism as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from mipselect.losses import Loss
from mipselect.methods import MistakesMethod
from mipselect.privacy.ledger import Ledger
from mipselect.selectors.problem import Always, Groups, SearchSelector


class MistakesSelector(SearchSelector):
    """Select columns by the mistakes mechanism: the best value of every mistake level.

    As published, its guarantee holds on a condition: the gap between the best and the second
    best value exceeds twice the sensitivity, on the data and on all their neighbours. `fit` raises
    `ConditionNotMet` where that is not proven of the data; both a refusal and a release tell
    something about them that no ε covers. With `test_epsilon` and `delta` the condition is tested
    privately, top-R answers where the test fails, and (test_epsilon + epsilon, delta) holds
    without conditions.

    Parameters
    ----------
    n_features_to_select : int
        s, how many features: the `support_size` of an `Instance`.
    epsilon : float
        ε > 0 of the draw, under replace-one.
    test_epsilon : float, optional
        ε₀ > 0 of the test; comes on top of `epsilon`.
    delta : float, optional
        0 < δ < 1/2; given with `test_epsilon` or not at all.
    x_bound, y_bound, coef_bound, ridge : float
        As for `TopRSelector`. Public; required.
    loss : str or Loss
        See `Instance`.
    groups, always, intercept, always_bound : optional
        As for `TopRSelector`.
    pool_size : int or "one-swap"
        The pool of top-R, for use with `test_epsilon`.
    solver, tolerance, time_limit
        As for `TopRSelector`; the time limit is for each of the two searches.
    ledger : Ledger, optional
        Pays for each fit.
    random_state : None, int or RandomState
        None is the operating system's generator. Anything else is for tests and experiments, and
        marks the release as not private.

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    section 2.1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import MistakesSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 8))
    >>> bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
    >>> selector = MistakesSelector(2, epsilon=1.0, test_epsilon=0.5, delta=1e-6, **bounds)
    >>> print(selector.fit(X, X[:, 0]).guarantee_)
    (1.5, 1e-06)-differentially private, replacing one row; no further condition
    """

    def __init__(
        self,
        n_features_to_select: int = 5,
        *,
        epsilon: float = 1.0,
        test_epsilon: float | None = None,
        delta: float | None = None,
        x_bound: float | Sequence[float] | None = None,
        y_bound: float | None = None,
        coef_bound: float | None = None,
        ridge: float | None = None,
        loss: str | Loss = "squared",
        groups: Groups = None,
        always: Always = None,
        intercept: bool = False,
        always_bound: float | None = None,
        pool_size: int | Literal["one-swap"] = "one-swap",
        solver: str = "auto",
        tolerance: float | None = None,
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
            pool_size=pool_size,
            solver=solver,
            tolerance=tolerance,
            time_limit=time_limit,
            ledger=ledger,
            random_state=random_state,
        )
        self.test_epsilon = test_epsilon
        self.delta = delta

    def _method(self) -> MistakesMethod:
        return MistakesMethod(
            epsilon=self.epsilon,
            test_epsilon=self.test_epsilon,
            delta=self.delta,
            search=self._search(),
        )
