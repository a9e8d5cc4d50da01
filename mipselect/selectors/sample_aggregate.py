"""Votes of a Lasso on blocks of rows, and a private top-k of the votes."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Self

from mipselect.errors import InvalidInput
from mipselect.mechanisms import OneShotTopK, Peeling, SampleAggregate
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.mechanisms.scores.sample_aggregate import Ballot, checked_blocks
from mipselect.mechanisms.scores.top_k import TopK
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.problem.data import ExactSums, Rows
from mipselect.problem.problem import Problem
from mipselect.restricted.features import Features
from mipselect.selectors.lasso_ballots import lasso_ballot, votes_of_folds
from mipselect.selectors.scored import ScoreSelector
from mipselect.validation import checked_choice, checked_flag, checked_positive

FOLDS_OF_A_ROW = {"add-remove": 1.0, "replace-one": 2.0}
"""Number of folds of moments a row can be in, before and after: each may change its ballot."""

MECHANISMS: dict[str, TopK] = {
    "peeling": Peeling,
    "laplace": partial(OneShotTopK, noise="laplace"),
}


@estimator
class SampleAggregateSelector(ScoreSelector):
    """Select the columns that a Lasso finds on most blocks of rows: two-stage, or SubLasso.

    Each block votes for the k columns with the largest |coefficients| of a non-private Lasso
    with intercept, of those that are not zero; of equal ones for the earlier. A private top-k
    selects from the votes (`SampleAggregate`). Nothing is clipped, and no bounds are needed.

    SubLasso as published is ``alpha=1.0, n_blocks="n/k", penalise_intercept=True``.

    Notes
    -----
    One row changes one block's ballot, so each count by at most 1; not all in one direction.
    Blocks of fewer than two rows cast an empty ballot. No block can raise an error or a warning,
    which would tell about its rows: the Lasso is that of `lasso_path`, where rounding may at
    worst spoil a ballot, and privacy does not depend on what a ballot says.

    With the k counts that Laplace noise of scale λ = 2k/ε would bring to the top, moving each of
    their noises by 2 outweighs what a neighbour changes: (e^{2/λ})^k = e^ε.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import SampleAggregateSelector
    >>> X = np.random.default_rng(0).normal(size=(2000, 6))
    >>> selector = SampleAggregateSelector(1, epsilon=5.0).fit(X, X[:, 4])
    >>> selector.get_support(indices=True).tolist()
    [4]
    """

    name = "sample-aggregate"

    alpha: float | None = parameter(
        "float, optional",
        "The penalty of `sklearn.linear_model.Lasso`; a public constant. None is, for each block, "
        "the largest at which k coefficients are not zero, from the path on the centred block; it "
        "does not depend on the units of X and y.",
        default=None,
        flag="--alpha",
        check=checked_positive,
    )
    penalise_intercept: bool = parameter(
        "bool",
        "Whether the intercept is a column of ones with a penalty like all others.",
        default=False,
        check=checked_flag,
    )
    n_blocks: int | str | None = parameter(
        'int, "n/k" or None',
        'How many blocks; an int is public. None is about √n, "n/k" blocks of k rows: see '
        "`SampleAggregate`.",
        default=None,
        flag="--blocks",
        check=checked_blocks,
    )
    top_k: str = parameter(
        '{"peeling", "laplace"}',
        '"peeling" is `Peeling` with Gumbel noise, "laplace" the k largest of the votes with '
        "Laplace noise of scale 2k/ε.",
        default="peeling",
        flag="--top-k",
        check=lambda value, name: checked_choice(value, name, MECHANISMS),
    )

    def check(self, named: Callable[[str], str] = str) -> Self:
        """See `PrivateSelector.check`."""
        if self.alpha is None and self.penalise_intercept:
            raise InvalidInput("penalise_intercept needs an alpha")
        return super().check(named)

    def _stated(self, p: int, k: int) -> Guarantee:
        return SampleAggregate.stated(
            p,
            k,
            self.epsilon,
            n_blocks=self.n_blocks,
            top_k=MECHANISMS[self.top_k],
            relation=self.relation,
        )

    def _of_rows(self, problem: Problem, rows: Rows, source: random.Random) -> Mechanism[Support]:
        return SampleAggregate(
            rows.columns(problem),
            rows.y,
            problem.support_size,
            self.epsilon,
            ballot=self._ballot(problem),
            n_blocks=self.n_blocks,
            top_k=MECHANISMS[self.top_k],
            relation=self.relation,
            n_items=problem.n_features,
        )

    def _of_sums(self, problem: Problem, sums: ExactSums) -> Mechanism[Support]:
        """Take the folds as the blocks; a row that is replaced may leave one and enter another."""
        folds = len(sums.moments.folds)
        if self.penalise_intercept or self.n_blocks not in (None, folds):
            raise InvalidInput(
                f"the {folds} folds of the moments are the blocks, and an intercept has no "
                "penalty; make the moments with another number of folds"
            )
        return MECHANISMS[self.top_k](
            votes_of_folds(sums, k=problem.support_size, alpha=self.alpha),
            problem.support_size,
            self.epsilon,
            sensitivity=FOLDS_OF_A_ROW[self.relation],
            relation=self.relation,
        )

    def _ballot(self, problem: Problem) -> Ballot:
        """Choose how a block votes."""
        # What is not clipped needs no column to fill up with, and has an intercept anyway.
        layout = problem.layout
        return partial(
            lasso_ballot,
            k=problem.support_size,
            alpha=self.alpha,
            penalise_intercept=self.penalise_intercept,
            features=Features(layout.features.widths, sum(map(len, layout.always))),
        )
