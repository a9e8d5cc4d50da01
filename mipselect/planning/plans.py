"""What `select` would find, and how good a model of `fit` would be, before a table is opened.

Both simulate tables from a schema and guesses: nothing of a user's data is read.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, islice
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.metrics import r2_score, roc_auc_score

from mipselect import regression
from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.partitions import MOST_DEFAULT_SECONDS
from mipselect.blocks.scores import BlockOptions
from mipselect.errors import NotCertified
from mipselect.mechanisms.base import Mechanism
from mipselect.mechanisms.supports.exact import ExactDraws
from mipselect.mechanisms.supports.permute_and_flip import PermuteAndFlip
from mipselect.planning.simulation import MOST_TABLES, Question, Simulation, numbers_in_time
from mipselect.planning.study import Found, ModelForecast, StudyPlan
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.quality import Quality
from mipselect.regression.plan import SHARE_OF_BLOCKS
from mipselect.search import top_supports
from mipselect.search.progress import Deadline
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import PublicMap
from mipselect.tables.instances import ScoredTable
from mipselect.tables.mapping import open_table, read_rows
from mipselect.validation import checked_integer, checked_share, checked_time_limit

Chance = tuple[float, float]
"""Expected share of the right columns in a draw, and the probability of all of them."""

DRAWS, LEAST_DRAWS = 50, 10
"""Draws from a law whose probabilities are not listed, and the least number where time is short."""

FRESH_ROWS = 2_000
"""Rows that no model was fitted to, on which it is scored."""

RATIO = 1.5
"""Ratio of the strengths of an effect and the next. It was chosen on six real tables: forecasts of
R² were 0.10 from what `fit` reached on average, and 0.13 with effects of one strength. Rarely
do all fields matter alike, and a field that is missed is seldom the strongest."""

TENTH = 0.1

ScoredModel = tuple[float, Quality | None]
"""Score of a model on fresh rows, and its released quality."""

TableScores = tuple[float, list[ScoredModel]]
"""Score of least squares on the right fields of a table, and a model at every ε."""


def plan_study(
    question: Question,
    *,
    quality_share: float | None = None,
    tables: int = 20,
    time_limit: float = 16.0,
) -> StudyPlan:
    """Simulate tables with the ranges and categories of a schema, and select from them and fit.

    Nothing of a user's data is read: rows are made up from the schema and from stated guesses, so
    that public choices can be made before the table is opened. The selection is what `select` does
    by itself: permute-and-flip from blocks of rows. Each model is what `fit` draws by itself at
    that ε, features and coefficients, and is scored on fresh rows of the same table.

    Parameters
    ----------
    question : Question
        Where a field has no range there are no models. Private ranges are not simulated.
    quality_share : float, optional
        Share of the rows that is kept apart to say how good the model is, which is released of each
        model too.
    tables : int
        How many are simulated at most.
    time_limit : float
        Seconds for all of it, half of them for models. Models of one table are simulated in any
        case, unless a draw takes more than a minute, and longer than that. A selection that takes
        longer for the first table is left out.

    Returns
    -------
    StudyPlan

    Raises
    ------
    InvalidInput
        For what is out of its range.

    Notes
    -----
    Where supports are listed the probabilities of exact draws are computed for every table, so
    that the standard errors are those of the tables alone; else they are relative frequencies.
    Where block R² takes more than half a second of a table, fewer partitions are drawn than by
    `select`, which then finds a little more. A plan guarantees nothing: real columns are correlated
    otherwise, and their effects are not equally strong.

    Examples
    --------
    >>> from mipselect.planning import Question, plan_study
    >>> from mipselect.tables import TableSchema
    >>> schema = TableSchema.of_numbers(dict.fromkeys(("dose", "weight", "days"), (0, 10)))
    >>> asked = {"schema": schema, "target": "days", "rows": 5_000, "support_size": 1}
    >>> plan = plan_study(Question(**asked, epsilons=[2.0]), tables=2)
    >>> round(plan.drawn[0].found, 2), plan.best[0].found
    (1.0, 1.0)
    >>> 0.2 < plan.forecasts[0].expected < 0.4
    True
    """
    checked_integer(tables, "tables", 1, MOST_TABLES)
    checked_time_limit(time_limit)
    if quality_share is not None:
        checked_share(quality_share, "quality_share", closed=False)
    models, selections = list[TableScores](), list[list[tuple[Chance, Chance]]]()
    seconds = time_limit if question.without_range else 0.5 * time_limit
    limit, simulation = Deadline(seconds), Simulation(question, RATIO)
    for number in () if question.without_range else numbers_in_time(tables, limit):
        try:
            left = limit.remaining if number else max(limit.limit, MOST_DEFAULT_SECONDS)
            models.append(scored_table(simulation, number, quality_share, left))
        except NotCertified:
            break
    blocks, limit = tuple(map(question.blocks, question.epsilons)), Deadline(seconds)
    for number in numbers_in_time(tables, limit):
        clock = Deadline(limit.remaining if number else limit.limit)
        try:
            selections.append(chances(Simulation(question), number, blocks, clock))
        except NotCertified:
            break
    drawn, best = (
        tuple(_found([one[k][which] for one in selections]) for k in range(len(blocks)))
        if selections
        else ()
        for which in (0, 1)
    )
    return StudyPlan(
        question=question,
        blocks=blocks,
        selections=len(selections),
        drawn=drawn,
        best=best,
        quality_share=quality_share,
        models=len(models),
        without_privacy=float(np.mean([score for score, _ in models])) if models else None,
        forecasts=tuple(
            forecast(epsilon, [found[k] for _, found in models])
            for k, epsilon in enumerate(question.epsilons)
            if models
        ),
    )


def chances(
    simulation: Simulation, number: int, blocks: Sequence[BlockOptions], clock: Deadline
) -> list[tuple[Chance, Chance]]:
    """Return what a draw from a table finds at every ε, and what its best support has.

    Raises
    ------
    NotCertified
        If time is up.
    """
    question, right = simulation.question, simulation.right(number)
    table = simulation.table(number, question.rows)
    seed, draws = simulation.partition_seed(number), random.Random(f"{question.seed} {number}")
    made: dict[BlockOptions, tuple[Instance | BlockScores, Chance]] = {}
    found = []
    for k, (epsilon, options) in enumerate(zip(question.epsilons, blocks, strict=True)):
        if options not in made:
            placed = replace(options, partition_seed=seed)
            source = ScoredTable(table, question.table, question.support_size, {}, placed).made()
            share = float(np.isin(best_support(source, left(clock)), right).mean())
            made[options] = source, (share, float(share == 1.0))
        source, best = made[options]
        law = PermuteAndFlip(source, epsilon, time_limit=left(clock) / (len(blocks) - k))
        law.prepare()
        found.append((chance(law, right, draws, clock), best))
    return found


def chance(law: Mechanism[Any], right: IntArray, source: random.Random, clock: Deadline) -> Chance:
    """Return what a draw finds.

    The numbers are exact where the law lists all supports, else frequencies.
    """
    if isinstance(law, ExactDraws) and law.listed:
        each = law.inclusion_probabilities()
        return float(each[right].mean()), math.exp(law.log_probability(right))
    drawn: list[tuple[int, ...]] = []
    while len(drawn) < DRAWS and clock.remaining > 0.0:
        drawn.append(tuple(law.sample(source)))
    if len(drawn) < LEAST_DRAWS:
        left(clock)
    shares = np.isin(drawn, right).mean(axis=1)
    return float(shares.mean()), float((shares == 1.0).mean())


def best_support(source: Instance | BlockScores, time_limit: float) -> IntArray:
    """Return the best support itself: what these rows leave unknown without any noise."""
    if isinstance(source, Instance):
        return np.asarray(top_supports(source, 1, time_limit=time_limit).supports[0])
    every = combinations(range(source.n_features), source.support_size)
    return np.array(next(islice(every, int(source.all_scores.argmax()), None)))


def left(clock: Deadline) -> float:
    """Return the seconds that are left; raise `NotCertified` if there are none."""
    if clock.remaining <= 0.0:
        words = f"time limit of {clock.limit:g} s reached"
        raise NotCertified(words, bound=-math.inf, incumbent=math.inf)
    return clock.remaining


def standard_error(values: Sequence[float]) -> float | None:
    """Estimate the error of a mean over tables; None for a single one."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def _found(by_table: Sequence[Chance]) -> Found:
    """Sum up what was found in each table."""
    shares, every = zip(*by_table, strict=True)
    return Found(float(np.mean(shares)), standard_error(shares), float(np.mean(every)))


def scored_table(
    simulation: Simulation, number: int, quality_share: float | None, time_limit: float
) -> TableScores:
    """Release models of a table, and score them on fresh rows of it.

    Raises
    ------
    NotCertified
        If a draw of features takes longer than the time limit.
    """
    question, n = simulation.question, simulation.question.rows
    whole, public = simulation.table(number, n + FRESH_ROWS), question.public
    table, fresh = whole.slice(0, n), whole.slice(n)
    (X, y), (X_fresh, truth) = (mapped(part, public) for part in (table, fresh))

    def score(predictors: FloatArray) -> float:
        """Score linear predictors of the fresh rows, in halves of the range of the target."""
        if public.target.classes is None:
            return float(r2_score(truth, predictors))
        return float(roc_auc_score(truth > 0.0, predictors))

    models = []
    for epsilon in question.epsilons:
        seed = random.Random(f"{question.seed} {number} {n} {epsilon}").getrandbits(32)
        model = fitted(
            question, table, epsilon, quality_share=quality_share, seed=seed, time_limit=time_limit
        )
        models.append((score(model.release_.decision(fresh)), model.quality_))
    # Those of the right fields, of fields that are always in, and the last one, of ones.
    fields = (*simulation.right(number), *range(len(public.features), len(public.encoders)))
    columns = [*(c for j in fields for c in public.blocks[j]), -1]
    least_squares = np.linalg.lstsq(X[:, columns], y, rcond=None)[0]
    return score(X_fresh[:, columns] @ least_squares), models


def fitted(
    question: Question,
    table: pa.Table,
    epsilon: float,
    *,
    quality_share: float | None,
    seed: int,
    time_limit: float,
) -> regression.SelectThenRegress:
    """Fit to a simulated table as `fit` does by itself, with a seed and a limit of the draw.

    Scores from blocks are those of `Question.blocks`. Nothing is charged.
    """
    chosen = question.blocks(SHARE_OF_BLOCKS * epsilon)
    selector = PermuteAndFlipSelector(
        question.support_size,
        score=chosen.score,
        partitions=chosen.partitions,
        time_limit=time_limit,
        random_state=seed,
    )
    regressor: Any = regression.ObjectivePerturbationRegressor(loss="huber", random_state=seed)
    if question.public.target.classes is not None:
        regressor = regression.ObjectivePerturbationClassifier(random_state=seed)
    model = regression.SelectThenRegress(
        selector, regressor, epsilon=epsilon, quality_share=quality_share
    )
    with warnings.catch_warnings():
        # That a model is of little use is what the plan says in numbers.
        warnings.simplefilter("ignore")
        return model.fit_table(
            table,
            question.table.schema,
            target=question.target,
            always=question.table.always,
            never=(),
        )


def mapped(table: pa.Table, public: PublicMap) -> tuple[FloatArray, FloatArray]:
    """Map rows to columns in [-1, 1], the last one of ones, and their target."""
    X, y, _ = read_rows(open_table(table, public), public, 1)
    X[:, -1] = 1.0
    return X.astype(np.float64), y


def forecast(epsilon: float, models: Sequence[ScoredModel]) -> ModelForecast:
    """Sum up models at one ε."""
    scores = [score for score, _ in models]
    low, high = np.quantile(scores, [TENTH, 1.0 - TENTH]).tolist()
    known = [quality for _, quality in models if quality is not None]
    widths = [0.5 * (quality.first.high - quality.first.low) for quality in known]
    return ModelForecast(
        epsilon=epsilon,
        expected=float(np.mean(scores)),
        standard_error=standard_error(scores),
        low=low,
        high=high,
        half_width=float(np.median(widths)) if known else None,
        above_chance=sum(one.beats_chance for one in known) / len(models) if known else None,
    )
