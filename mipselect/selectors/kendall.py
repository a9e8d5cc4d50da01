"""DPKendall: peeling by rank correlations, relevance less redundancy."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.mechanisms.scores.adaptive_peeling import AdaptivePeeling
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.randomness import Rng, generator
from mipselect.problem.data import Rows
from mipselect.problem.problem import Problem
from mipselect.selectors.scored import ScoreSelector
from mipselect.selectors.scores.kendall_tau import BlockRankings, Rankings
from mipselect.selectors.scores.relevance_redundancy import (
    REDUNDANCIES,
    Correlations,
    OfAllRows,
    RelevanceLessRedundancy,
)
from mipselect.validation import checked_choice

if TYPE_CHECKING:
    from mipselect.tables.streamed_rows import StreamedRows

SENSITIVITIES = {"add-remove": 1.5, "replace-one": 2.0}
"""Sensitivity of τ̂ between neighbours, and so of the largest |τ̂| of several columns."""

SEED_BITS = 256


@estimator
class KendallSelector(ScoreSelector):
    """Select columns that go with the target and not with each other, by rank correlation.

    Round 1 scores column j by |τ̂(X_j, Y)|; a later round by that less the largest of
    |τ̂(X_j, X_j')| over the columns j' that were chosen. Each of the k rounds draws a column with
    Gumbel noise and ε/k.

    No bounds on the data are needed: a rank correlation sees the order of the values and not
    their size, so one row counts for as much as any other, wherever it lies.

    Notes
    -----
    The sensitivity of τ̂ = n/2 - 2d/(n-1), and so of |τ̂|, is 3/2 under add-remove (lemma 3.2).
    Under replace-one it is 2: n stays, and a row is in n - 1 pairs, so that d moves by at most
    n - 1 and 2d/(n-1) by at most 2. A score of a later round is the difference of one such |τ̂|
    and a mean or a maximum of them, which move by no more than each does: twice as much.

    Theorem 3.8 of the paper, that exactly one of each group of copies is chosen, is false for the
    mean from the third round on.

    Ties are broken by random priorities of the rows, drawn at each fit (see `Rankings`). What
    `mechanism` returns is the law given how they were broken; it is ε-differentially private
    for every way of it, and so is the mixture of them, which `fit` draws from.

    References
    ----------
    "Better Private Linear Regression Through Better Private Feature Selection", section 3 and
    algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import KendallSelector
    >>> X = np.random.default_rng(0).normal(size=(2000, 6))
    >>> selector = KendallSelector(1, epsilon=5.0).fit(X, X[:, 4])
    >>> selector.get_support(indices=True).tolist()
    [4]
    """

    redundancy: str = parameter(
        '{"max", "mean"}',
        "What is subtracted of the |τ̂(X_j, X_j')| with what is chosen or always in. 'mean' is as "
        "published; a copy of one of several chosen columns comes back with it, for its |τ̂| is "
        "divided by their number.",
        default="max",
        check=lambda value, name: checked_choice(value, name, REDUNDANCIES),
    )

    def _stated(self, p: int, k: int) -> Guarantee:
        return AdaptivePeeling.stated(p, k, self.epsilon, relation=self.relation)

    def limits(self, problem: Problem, n: int) -> tuple[float, float]:
        """See `ScoreSelector`; where two |τ̂| are subtracted, range and sensitivity are twice it."""
        return n / 2.0, 2.0 * SENSITIVITIES[self.relation]

    def _of_rows(self, problem: Problem, rows: Rows, source: random.Random) -> Mechanism[Support]:
        target = Rankings.of(rows.y[:, None], source.getrandbits(SEED_BITS)).ranks[0]
        columns = Rankings.of(rows.columns(problem), source.getrandbits(SEED_BITS))
        return self._peeling(OfAllRows(columns, target), problem)

    def of_blocks(self, rows: StreamedRows, rng: Rng = None) -> Mechanism[Support]:
        """Return the mechanism of a table that is read in blocks, once for every round.

        Parameters
        ----------
        rows : StreamedRows
        rng : None, int, random.Random or numpy.random.Generator
            See `PrivateSelector.on`.

        Raises
        ------
        InvalidInput
            Under add-remove, where a row moves all rows behind it to other places.

        Notes
        -----
        Scores are sums over blocks of |τ̂| within them, not |τ̂| of all rows: pairs of rows in
        different blocks are not looked at. See docs/large-tables.md for what that loses.
        """
        if self.relation != "replace-one":
            raise InvalidInput("blocks of rows in their order are private under replace-one only")
        seed, size = generator(rng)[0].getrandbits(SEED_BITS), rows.problem.p
        with np.errstate(all="ignore"):
            correlations = BlockRankings(rows.blocks, size, seed)
            return self._peeling(correlations, rows.problem)

    def _peeling(self, columns: Correlations, problem: Problem) -> Mechanism[Support]:
        layout, k, one = problem.layout, problem.support_size, SENSITIVITIES[self.relation]
        first = 2.0 * one if layout.always else one
        return AdaptivePeeling(
            RelevanceLessRedundancy(columns, self.redundancy, layout=layout),
            k,
            self.epsilon,
            sensitivities=[first] + [2.0 * one] * (k - 1),
            relation=self.relation,
        )
