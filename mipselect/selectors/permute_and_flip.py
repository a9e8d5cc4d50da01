"""Permute-and-flip over all supports."""

from __future__ import annotations

from mipselect.mechanisms.supports.permute_and_flip import PermuteAndFlip
from mipselect.parameters import estimator
from mipselect.selectors.exact_draws import ExactDrawSelector


@estimator
class PermuteAndFlipSelector(ExactDrawSelector):
    """Select columns by permute-and-flip over all supports: pure ε, without conditions.

    `PermuteAndFlip` has the law and its source. At the same ε the best support is never less
    probable than by `ExponentialSelector`. The draw is exact for any number of columns. With
    `sizes` it chooses their number too, at no further ε. In a ledger of ρ it costs ε²/2, and the
    exponential mechanism ε²/8.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import PermuteAndFlipSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 12))
    >>> y = X[:, 3] - X[:, 8]
    >>> bounds = {"x_bound": 1.0, "y_bound": 2.0, "coef_bound": 1.5, "ridge": 1.0}
    >>> selector = PermuteAndFlipSelector(2, epsilon=5.0, **bounds).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [3, 8]
    >>> print(selector.guarantee_)
    5-differentially private (pure), replacing one row; no further condition
    """

    law = PermuteAndFlip
