"""Private sure independence screening: a private top-k of correlations with the target."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar

from mipselect.arrays import FloatArray
from mipselect.estimators import feature_bounds, target_bound
from mipselect.mechanisms import (
    CanonicalLipschitz,
    JointExponential,
    Mechanism,
    OneShotTopK,
    Peeling,
)
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.scores.selection import TopK, stated_by
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.problem.data import Rows
from mipselect.problem.problem import Problem
from mipselect.problem.sums import ExactSums
from mipselect.selectors.scored import ScoreSelector
from mipselect.selectors.scores.correlations import (
    exact_correlations,
    exact_covariances,
    exact_lengths,
    in_units_of,
    summed_covariances,
    summed_lengths,
)
from mipselect.selectors.top_k import NOISE, checked_top_k, top_k_named

SENSITIVITIES = {"add-remove": 1.0, "replace-one": 2.0}
"""Sensitivity of ‖Σ_i y_i x_iF‖ with rows in the unit ball: one of length 1 comes or goes, or is
replaced."""

CENTRED_SENSITIVITY = 4.0
"""Sensitivity of ‖Σ_i (y_i - ȳ)(x_iF - x̄_F)‖, under both relations.

With the means a and b of the m other rows, a row adds m/(m + 1) (y - b)(x - a), shorter than 2·2.
Where it is replaced, ‖(y - b)(x - a) - (y' - b)(x' - a)‖ is convex in y and in y', so largest at
±1: for y = y' it is at most |y - b|‖x - x'‖ ≤ 4, else at most 2(1 - b) + 2(1 + b) = 4.
"""

MECHANISMS: dict[str, TopK] = {
    "canonical": CanonicalLipschitz,
    "peeling": Peeling,
    "one-shot": OneShotTopK,
    "joint": JointExponential,
}


@estimator
class SISSelector(ScoreSelector):
    """Select the columns with the largest |x_j·y|: DP-SIS, pure ε-differential privacy.

    X and y are clipped to their bounds and divided by them; |x_j·y| is then a score of
    sensitivity 1 under add-remove and 2 under replace-one, and a private top-k mechanism selects
    from the scores.

    The score of a feature F of several columns is the Euclidean length of X_Fᵀy, of the same
    sensitivity: one row adds a vector x_iF y_i of length at most 1. Columns that are always in are
    in the mask and change no score: what remains of y beside them is a function of all rows, and
    a projection of bounded sensitivity would have to be paid for.

    With an intercept, x and y are centred by their own means: the sensitivity is 4 then, and
    features that hardly vary are no longer chosen for their mean.

    Notes
    -----
    X may be sparse; it is not made dense, or with `groups` a few rows at a time. float32
    is added up in double precision.

    An entry divided by its bound never exceeds 1 in floating point either. For the draw each
    product x_ij y_i is rounded to a multiple of 2^-32, so that the sum of n < 2^31 products is
    exact as an integer, which is rounded down to a double: neither adds to the sensitivity.

    References
    ----------
    "Feature Selection from Differentially Private Correlations" (DP-SIS), algorithm 1; Fan and
    Lv, "Sure independence screening for ultrahigh dimensional feature space", 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import SISSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 30))
    >>> y = 0.5 * X[:, 7] - 0.5 * X[:, 21]
    >>> selector = SISSelector(2, epsilon=5.0, x_bound=1.0, y_bound=1.0).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [7, 21]
    """

    x_bound: float | Sequence[float] | None = feature_bounds(
        "; see `TopRSelector`. Public; required. Without `intercept` nothing is centred: centre by "
        "public constants."
    )
    y_bound: float | None = target_bound()
    intercept: bool = parameter("bool", "Whether scores are centred.", default=False)
    top_k: str | TopK = parameter(
        '{"canonical", "peeling", "one-shot", "joint"} or callable',
        '"canonical" is `CanonicalLipschitz` with γ = ½ and exponential noise, "peeling" `Peeling` '
        'and "one-shot" `OneShotTopK`, both with Gumbel noise, "joint" `JointExponential`. '
        '"peeling" finds more of the columns where ε is too small for all of them, with p in the '
        "thousands by far; "
        '"canonical" is surer to find all where it is not. A '
        "callable ``(scores, k, epsilon, *, sensitivity, relation)`` returns a `Mechanism`, as in "
        '``functools.partial(CanonicalLipschitz, noise="gumbel", gamma=1.0)``.',
        default="canonical",
        flag="--top-k",
        check=checked_top_k(MECHANISMS),
    )

    looks_at_always: ClassVar[bool] = False
    _accept_sparse: ClassVar[str | bool] = "csr"

    @property
    def bounds(self) -> tuple[str, ...]:
        """b_x and b_y."""
        return ("x_bound", "y_bound")

    def _asked(self) -> dict[str, Any]:
        return {"intercept": self.intercept, **self._public(*self.bounds)}

    def _from_dask(self, X: Any, y: Any, source: random.Random) -> Mechanism[Any]:
        sums = self._summed(X, y, **self._asked())
        size = int(self.n_features_to_select)
        problem = Problem(layout=sums.layout, support_size=size, y_bound=self.y_bound)
        return self.law(problem, sums, source)

    def _stated(self, p: int, k: int) -> Guarantee:
        top_k = top_k_named(self.top_k, MECHANISMS)
        return stated_by(top_k, p, k, self.epsilon, sensitivity=1.0, relation=self.relation)

    def limits(self, problem: Problem, n: int) -> tuple[float, float] | None:
        """See `ScoreSelector`; a row adds a vector of length 1 at most."""
        noise = NOISE.get(top_k_named(self.top_k, MECHANISMS))
        return None if noise is None else (float(n), noise * self._sensitivity(problem))

    def _sensitivity(self, problem: Problem) -> float:
        return CENTRED_SENSITIVITY if problem.layout.intercept else SENSITIVITIES[self.relation]

    def _of_rows(self, problem: Problem, rows: Rows, source: random.Random) -> Mechanism[Support]:
        layout, target = problem.layout, in_units_of(problem.bound("y_bound"), rows.y)
        bound = layout.one_bound
        if layout.features.plain and bound is not None:
            scores = exact_correlations(in_units_of(bound, rows.X), target)
        elif layout.intercept:
            layout.require_scales()
            scores = exact_covariances(layout, rows.X, target)
        else:
            layout.require_scales()
            scores = exact_lengths(layout, rows.X, target)
        return self._of_scores(scores, problem)

    def _of_sums(self, problem: Problem, sums: ExactSums) -> Mechanism[Support]:
        summed_scores = summed_covariances if problem.layout.intercept else summed_lengths
        return self._of_scores(summed_scores(sums), problem)

    def _of_scores(self, scores: FloatArray, problem: Problem) -> Mechanism[Support]:
        return top_k_named(self.top_k, MECHANISMS)(
            scores,
            problem.support_size,
            self.epsilon,
            sensitivity=self._sensitivity(problem),
            relation=self.relation,
        )
