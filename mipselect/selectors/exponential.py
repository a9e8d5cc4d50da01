"""The exponential mechanism over all supports."""

from __future__ import annotations

from mipselect.mechanisms.supports.exponential import ExponentialMechanism
from mipselect.parameters import estimator
from mipselect.selectors.exact_draws import ExactDrawSelector


@estimator
class ExponentialSelector(ExactDrawSelector):
    """Select columns by the exponential mechanism over all supports: pure ε, without conditions.

    `ExponentialMechanism` has the law and its source. The draw is exact for any number of columns.
    With `sizes` it chooses their number too, at no further ε.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import ExponentialSelector
    >>> X = np.random.default_rng(0).lognormal(size=(2000, 12))
    >>> y = X[:, 3] - X[:, 8]
    >>> selector = ExponentialSelector(2, epsilon=2.0).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [3, 8]
    >>> selector.transform(X).shape, selector.release_.private
    ((2000, 2), True)

    With public bounds the values are losses of the rows:

    >>> bounds = {"x_bound": 4.0, "y_bound": 4.0, "coef_bound": 1.5, "ridge": 1.0}
    >>> len(ExponentialSelector(2, epsilon=2.0, **bounds).fit(X, y).release_.support)
    2
    """

    law = ExponentialMechanism
