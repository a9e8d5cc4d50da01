"""Exact draws over all supports, of one public size or of several: two laws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mipselect.blocks.scores import LOSS
from mipselect.mechanisms.supports.base import both_relations, one_direction
from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.mechanisms.supports.exponential import ExponentialMechanism
from mipselect.mechanisms.supports.law import checked_sizes, complexity_prior
from mipselect.mechanisms.supports.permute_and_flip import PermuteAndFlip
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.base import ChanceLevel
from mipselect.selectors.problem import ProblemSelector, of_few_rows, of_values
from mipselect.validation import checked_epsilon, checked_number, checked_time_limit

MOST_COMPLEX = 100.0
"""A prior that is steeper has sizes of probability zero in double precision."""


@estimator
class ExactDrawSelector(ProblemSelector):
    """A selector that draws exactly from all supports; the law is a subclass's."""

    law: ClassVar[type[ExactDraws]]
    """The mechanism that is drawn from."""

    sizes: Sequence[int] | None = parameter(
        "sequence of int, optional",
        "Public numbers of features, such as range(1, 9), in place of `n_features_to_select`: one "
        "is drawn together with the features. The sensitivity is that of the largest.",
        default=None,
        flag="--sizes",
    )
    complexity: float = parameter(
        "float",
        "a between 0 and 100: with several sizes, how strongly smaller ones are preferred. See "
        "`ExponentialMechanism`.",
        default=1.0,
        flag="--complexity",
        check=lambda value, name: checked_number(
            value, name, f"a number in 0..{MOST_COMPLEX:g}", lambda a: 0.0 <= a <= MOST_COMPLEX
        ),
    )
    prior_weights: ArrayLike | None = parameter(
        "array_like of shape (n_features,), optional",
        "ω_j > 0, public: feature j is preferred by so much before the data are seen. Default: "
        "equal.",
        default=None,
    )
    time_limit: float | None = parameter(
        "float, optional",
        "Seconds for the preparation, and for every draw; `NotCertified` is raised beyond.",
        default=None,
        flag="--time-limit",
        check=checked_time_limit,
    )

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under replace-one, and the ρ of the law."""
        epsilon = checked_epsilon(self.epsilon)
        return Guarantee(epsilon, rho=self.law.rho_of(epsilon))

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """See `PermuteAndFlip.guarantees`."""
        guarantee = self.guarantee
        cost = one_direction(guarantee.epsilon)
        return both_relations(guarantee, cost, self.relations, rho_of=self.law.rho_of)

    @property
    def lists(self) -> bool:
        """True for one size."""
        sizes = self.sizes
        return sizes is None or (isinstance(sizes, Iterable) and len(set(sizes)) == 1)

    def problem(self, problem: Problem) -> Problem:
        """Return the same with the largest size that may be drawn."""
        return problem.with_support_size(checked_sizes(self.sizes, problem)[-1])

    def recorded(self, problem: Problem) -> dict[str, Any]:
        """See `PrivateSelector`."""
        sizes = None if self.sizes is None else list(self.sizes)
        return {"sizes": sizes, "complexity": self.complexity if len(sizes or ()) > 1 else None}

    def chance_level(self, problem: Problem, n: int) -> ChanceLevel | None:
        """See `PrivateSelector`; None where features have weights."""
        if self.prior_weights is not None:
            return None
        p, sizes = problem.n_features, checked_sizes(self.sizes, problem)
        problem = problem.with_support_size(sizes[-1])
        # Without data the law is μ, of which this is log of the sum over that of the likeliest S.
        logs = complexity_prior(p, sizes, self.complexity, None).log_sizes.items()
        surprise = float(np.logaddexp.reduce([log + math.log(math.comb(p, s)) for s, log in logs]))
        scale, formula = 2.0 * problem.oscillation(n) / self.epsilon, "2w/ε · ln C(p, s)"
        if len(sizes) > 1:
            return of_values(problem, n, self.epsilon, scale, "2w/ε · min ln 1/μ(S)", surprise)
        found = of_values(problem, n, self.epsilon, scale, formula, surprise)
        if found.sentence or problem.score == LOSS:
            return found
        return replace(found, sentence=of_few_rows(problem, n, scale))

    def _law(
        self, instance: Instance | BlockScores, progress: ProgressCallback | None
    ) -> ExactDraws:
        mechanism = self.law(
            instance.with_support_size(self.problem(instance.problem).support_size),
            self.epsilon,
            sizes=self.sizes,
            complexity=self.complexity,
            prior_weights=self.prior_weights,
            time_limit=self.time_limit,
            progress=progress,
        )
        mechanism.prepare()
        return mechanism

    def _check_number(self, p: int) -> None:
        # Sizes are checked by the mechanism.
        if self.sizes is None:
            super()._check_number(p)

    def _support_size(self) -> int:
        if self.sizes is None:
            return super()._support_size()
        return checked_sizes(self.sizes, Problem(layout=self._layout(), support_size=1))[-1]


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
    name = "exponential"


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
    name = "permute-and-flip"
