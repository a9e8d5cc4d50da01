"""Best subset selection by a Markov chain as a scikit-learn estimator."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from mipselect.arrays import FloatArray
from mipselect.mechanisms import Mechanism
from mipselect.methods import MCMCMethod
from mipselect.privacy.ledger import Ledger
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.problem import Always, Groups
from mipselect.validation import checked_scale


class MCMCSelector(PrivateSelector):
    """Select columns by Metropolis-Hastings over supports: (ε, δ) if the chain has mixed.

    The chain makes single swaps and has the stationary law P(S) ∝ exp(-ε RSS_S / 2Δ), where
    RSS_S = min ‖y - X_S β‖² over ‖β‖₁ ≤ B on clipped data and Δ = (b_y + B b_x)². With features of
    several columns X_S are all columns of S and those that are always in, and b_x is the largest
    of the bounds, 1 of an intercept among them: no entry of a row exceeds it, so Δ is what it is
    for single columns, however many there are.

    Parameters
    ----------
    n_features_to_select : int
        s, how many features: the `support_size` of an `Instance`.
    epsilon : float
        ε > 0, under replace-one.
    delta : float
        0 < δ < 1.
    x_bound : float or sequence of float
        Features are clipped to ± this, or to one bound for each of them; see `TopRSelector`.
        Public; required.
    y_bound : float
        b_y: the target is clipped to ± this, in its units. Public; required.
    coef_bound : float
        B, the largest ‖β‖₁, in units of y over units of x; of the columns that are always in
        too. Public; required. Without `intercept` centre by public constants.
    groups, always, intercept, always_bound : optional
        As for `TopRSelector`.
    n_steps : int
        How long the chain runs.
    ledger : Ledger, optional
        Pays for each fit.
    random_state : None, int or RandomState
        None is the operating system's generator. Anything else is for tests and experiments, and
        marks the release as not private.

    Notes
    -----
    The guarantee carries the condition that the chain has mixed, by name, and nothing here
    proves it. `MetropolisHastings` says how close the chain must have come. The 2 of 2Δ is part
    of the mechanism: without it ε would be twice what is stated.

    References
    ----------
    Roy and Tewari, "On the computational complexity of private high-dimensional model selection
    via the exponential mechanism", 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import MCMCSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 6))
    >>> bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0}
    >>> selector = MCMCSelector(2, epsilon=1.0, delta=1e-6, n_steps=200, **bounds).fit(X, X[:, 0])
    >>> len(selector.guarantee_.conditions)
    1
    """

    def __init__(
        self,
        n_features_to_select: int = 5,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        x_bound: float | Sequence[float] | None = None,
        y_bound: float | None = None,
        coef_bound: float | None = None,
        groups: Groups = None,
        always: Always = None,
        intercept: bool = False,
        always_bound: float | None = None,
        n_steps: int = 5000,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.delta = delta
        self.x_bound = x_bound
        self.y_bound = y_bound
        self.coef_bound = coef_bound
        self.groups = groups
        self.always = always
        self.intercept = intercept
        self.always_bound = always_bound
        self.n_steps = n_steps
        self.ledger = ledger
        self.random_state = random_state

    def _method(self) -> MCMCMethod:
        radius = self.coef_bound
        return MCMCMethod(
            epsilon=self.epsilon,
            delta=self.delta,
            n_steps=self.n_steps,
            radius=None if radius is None else checked_scale(radius, "coef_bound"),
        )

    def _mechanism(self, X: FloatArray, y: Any, source: random.Random) -> Mechanism[Any]:
        given = self._public(
            x_bound="features are clipped to ± this",
            y_bound="the target is clipped to ± this",
            coef_bound="the largest sum of absolute coefficients",
        )
        del given["coef_bound"]
        given |= {"intercept": self.intercept, "always_bound": self.always_bound}
        return self._method().mechanism(self._rows(X, y, **given), source)
