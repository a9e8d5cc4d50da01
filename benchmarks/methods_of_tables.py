"""Laws over all supports of a table, by method: each a function of a table, seed and ε."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import softmax

from benchmarks.tables_at_hand import Table
from mipselect import BlockScores, Instance
from mipselect.mechanisms import AdaptivePeeling
from mipselect.mechanisms.supports.permute_and_flip import FlippedWeights
from mipselect.privacy.randomness import IntegerWeights
from mipselect.problem.block_scores import BlockOptions
from mipselect.problem.data import Rows
from mipselect.selectors import KendallSelector, SampleAggregateSelector, SISSelector
from mipselect.tables import map_table
from mipselect.tables.instances import ScoredTable
from mipselect.tables.problems import problem_of_table
from mipselect.tables.public_map import PublicMap

DRAWS = 200
"""Draws in place of probabilities where these would take long."""

Laws = dict[float, np.ndarray]
"""Probabilities of all supports, in the order of `Table.supports`, by ε."""

Method = Callable[[Table, int, Sequence[float]], Laws]


def loss_on_ranges(table: Table, seed: int, epsilons: Sequence[float]) -> Laws:
    """The exponential mechanism on the public ranges: the default without blocks."""
    instance = Instance.from_table(
        table.frame, table.schema, support_size=table.support_size, **table.question
    )
    values = instance.objectives(table.supports())
    return {e: softmax(-e * values / (2.0 * instance.oscillation)) for e in epsilons}


def least_squares_on_blocks(
    table: Table, seed: int, epsilons: Sequence[float], *, rows: int
) -> Laws:
    instance = Instance.from_blocks(
        table.frame,
        schema=table.schema,
        support_size=table.support_size,
        block_rows=rows,
        partitions=16,
        partition_seed=seed,
        **table.question,
    )
    values = instance.objectives(table.supports())
    return {e: softmax(-e * values / (2.0 * instance.oscillation)) for e in epsilons}


def block_r2(
    table: Table,
    seed: int,
    epsilons: Sequence[float],
    *,
    rows: int | None,
    partitions: int | None = None,
) -> Laws:
    """Block R² with b = `rows`, or by the public rule, which looks at ε."""
    found: Laws = {}
    kept: dict[int, np.ndarray] = {}
    for epsilon in epsilons:
        scores = BlockScores.from_table(
            table.frame,
            table.schema,
            support_size=table.support_size,
            block_rows=None if rows is None else max(rows, table.support_size + 3),
            partitions=partitions,
            epsilon=epsilon,
            partition_seed=seed,
            **table.question,
        )
        b = scores.settings.blocks.rows
        if b not in kept:
            kept[b] = scores.all_scores
        found[epsilon] = softmax(epsilon / 2.0 * kept[b])
    return found


def default(table: Table, seed: int, epsilons: Sequence[float]) -> Laws:
    """What `select` draws from: permute-and-flip, and the score by the public rule at each ε."""
    found: Laws = {}
    kept: dict[tuple[Any, ...], np.ndarray] = {}
    for epsilon in epsilons:
        options = BlockOptions(epsilon=epsilon, partition_seed=seed)
        made = ScoredTable(
            table.frame, table.table_question, table.support_size, {}, options
        ).made()
        scored = (made.problem.score, made.problem.blocks)
        if scored not in kept:
            kept[scored] = made.prepared.values(table.supports()) / (2.0 * made.oscillation)
        weights = IntegerWeights.from_logs(-epsilon * kept[scored])
        found[epsilon] = np.exp(FlippedWeights(weights).log_probabilities())
    return found


def kendall(table: Table, seed: int, epsilons: Sequence[float]) -> Laws:
    found: Laws = {}
    for epsilon in epsilons:
        mechanism = _of_rows(table, KendallSelector(table.support_size, epsilon=epsilon), seed)
        assert isinstance(mechanism, AdaptivePeeling)
        found[epsilon] = _peeling_law(mechanism, table.n_features)
    return found


def _peeling_law(mechanism: AdaptivePeeling, p: int) -> np.ndarray:
    """The probabilities of all sets: those of all sets on the way to them."""
    chances: dict[tuple[int, ...], float] = {(): 1.0}
    each = mechanism.epsilon / mechanism.k
    for sensitivity in np.asarray(mechanism.sensitivities):
        after: dict[tuple[int, ...], float] = {}
        for chosen, chance in chances.items():
            logs = each * np.asarray(mechanism.scores(chosen), dtype=float) / (2.0 * sensitivity)
            logs[list(chosen)] = -np.inf
            for j, share in enumerate(softmax(logs).tolist()):
                if j not in chosen:
                    key = tuple(sorted((*chosen, j)))
                    after[key] = after.get(key, 0.0) + chance * share
        chances = after
    return np.array([chances[support] for support in combinations(range(p), mechanism.k)])


def by_draws(
    table: Table, seed: int, epsilons: Sequence[float], *, selector: Callable[..., Any]
) -> Laws:
    places = {tuple(support): k for k, support in enumerate(table.supports().tolist())}
    rng = np.random.default_rng(seed)
    found: Laws = {}
    for epsilon in epsilons:
        mechanism = _of_rows(table, selector(table.support_size, epsilon=epsilon), seed)
        counts = np.zeros(len(places))
        for _ in range(DRAWS):
            counts[places[tuple(sorted(mechanism.sample(rng)))]] += 1.0
        found[epsilon] = counts / DRAWS
    return found


def _of_rows(table: Table, selector: Any, seed: int) -> Any:
    mapped = map_table(table.frame, table.schema, **table.question)
    public = PublicMap.of(table.schema, **table.question)
    # With an intercept SIS centres.
    problem = problem_of_table(public, support_size=table.support_size, intercept=True)
    ones = np.ones((len(mapped.y), 1))
    rows = Rows(np.column_stack([mapped.X.astype(float), ones]), mapped.y)
    return selector.law(selector.problem(problem), rows, seed)


METHODS: dict[str, Method] = {
    "default": default,
    "loss": loss_on_ranges,
    **{f"blocks {b}": partial(least_squares_on_blocks, rows=b) for b in (2, 3, 4, 6)},
    **{f"R² {b}": partial(block_r2, rows=b, partitions=2) for b in (6, 8, 10, 16, 24, 48)},
    "R² rule": partial(block_r2, rows=None),
    "Kendall": kendall,
    "SIS": partial(by_draws, selector=partial(SISSelector, relation="replace-one")),
    "votes": partial(by_draws, selector=partial(SampleAggregateSelector, relation="replace-one")),
}
