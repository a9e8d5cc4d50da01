"""The exponential mechanism by enumeration as a scikit-learn estimator."""

from __future__ import annotations

from mipselect.methods import ExponentialMethod
from mipselect.selectors.problem import ProblemSelector


class ExponentialSelector(ProblemSelector):
    """Select columns by the exponential mechanism over all supports: for small C(p, s).

    Parameters
    ----------
    n_features_to_select : int
        s, between 1 and p: the `support_size` of an `Instance`.
    epsilon : float
        ε > 0, under replace-one; pure.
    x_bound, y_bound, coef_bound, ridge : float
        As for `TopRSelector`, but λ may be 0. Public; required.
    loss : str or Loss
        See `Instance`.
    ledger : Ledger, optional
        Pays for each fit.
    random_state : None, int or RandomState
        None is the operating system's generator. Anything else is for tests and experiments, and
        marks the release as not private.

    References
    ----------
    McSherry and Talwar, "Mechanism design via differential privacy", 2007, theorem 6.
    """

    def _method(self) -> ExponentialMethod:
        return ExponentialMethod(epsilon=self.epsilon)
