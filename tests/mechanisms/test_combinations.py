"""Every kind of data with every consumer: refused in words, or listed here and private."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect import (
    BlockScores,
    ExponentialMechanism,
    Instance,
    Mistakes,
    PermuteAndFlip,
    StableOptimum,
    TopR,
    mistake_levels,
    top_supports,
)
from mipselect.errors import InvalidInput
from mipselect.mechanisms import MetropolisHastings
from mipselect.selectors import KendallSelector, MCMCSelector, SampleAggregateSelector, SISSelector
from mipselect.tables import TableSchema
from mipselect.tables.moments import Moments
from tests.support.enumeration import stationary_law
from tests.support.exact_audit import excess

Rows = list[dict[str, Any]]
EPSILON, DELTA = 1.0, 1e-3
UNIT = {"type": "number", "constraints": {"minimum": -1, "maximum": 1}}
NUMBERS = [{"name": name, **UNIT} for name in ("a", "b", "c", "y")]
WEIGHT = {"name": "w", "type": "number", "mipselect:role": "weight", "constraints": {"maximum": 2}}
PLAIN = TableSchema.of({"fields": NUMBERS})
WEIGHTED = TableSchema.of({"fields": [*NUMBERS, WEIGHT]})
WHOSE = [*NUMBERS, {"name": "who", "type": "string"}]
PEOPLE = TableSchema.of({"csvw-eo:privacyUnit": "who", "fields": WHOSE})
ASKED: dict[str, Any] = {"target": "y", "support_size": 2}
BLOCKS = {"partitions": 3, "partition_seed": 4}
BOUNDS = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}


def arrays(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.array([[row[name] for name in "abcy"] for row in rows])
    return numbers[:, :3], numbers[:, 3]


def table(rows: Rows, schema: TableSchema) -> pa.Table:
    return pa.Table.from_pylist(rows).select([field.name for field in schema.fields])


def of_rows(rows: Rows, **more: Any) -> Instance:
    return Instance(*arrays(rows), support_size=2, **{**BOUNDS, **more})


def of_table(rows: Rows, schema: TableSchema, **more: Any) -> Instance:
    return Instance.from_table(table(rows, schema), schema, **ASKED, **more)


def of_two_each(rows: Rows) -> Rows:
    return [*rows, *({**row, "a": -row["a"]} for row in rows)]


def of_moments(rows: Rows, schema: TableSchema) -> Instance:
    moments = Moments.of(table(rows, schema), schema, target="y", folds=3)
    return Instance.from_moments(moments, support_size=2)


def in_blocks(rows: Rows, schema: TableSchema) -> Instance:
    return Instance.from_table(table(rows, schema), schema, **ASKED, **BLOCKS, score="blocks")


KINDS: dict[str, Callable[[Rows], Any]] = {
    "rows": of_rows,
    "rows, classes": lambda rows: of_rows(
        [row | {"y": row["y"] > 0.0} for row in rows], loss="hinge"
    ),
    "rows, small ridge": lambda rows: of_rows(rows, ridge=1e-9),
    "rows, weights": lambda rows: of_table(rows, WEIGHTED),
    "rows, people": lambda rows: of_table(of_two_each(rows), PEOPLE, unit_rule="mean"),
    "moments": lambda rows: of_moments(rows, PLAIN),
    "moments, weights": lambda rows: of_moments(rows, WEIGHTED),
    "moments, people": lambda rows: of_moments(of_two_each(rows), PEOPLE),
    "blocks": lambda rows: in_blocks(rows, PLAIN),
    "blocks, weights": lambda rows: in_blocks(rows, WEIGHTED),
    "block R²": lambda rows: BlockScores(*arrays(rows), support_size=1, block_rows=4, **BLOCKS),
}
FOR_SEARCH = KINDS.keys() - {"block R²"}
KNOWN_UP_TO_N = {"rows, small ridge", "blocks", "blocks, weights", "block R²"}
UNWEIGHTED_ROWS = {"rows", "rows, classes", "rows, small ridge", "rows, people"}
UNWEIGHTED = UNWEIGHTED_ROWS | {"moments", "moments, people"}


def mistakes(data: Any) -> Mistakes:
    options: Any = {"test_epsilon": 0.4, "delta": DELTA, "fallback": top_supports(data, 2)}
    return Mistakes(mistake_levels(data), 0.6, **options)


CONSUMERS: dict[str, tuple[Callable[[Any], Any], set[str]]] = {
    "top-r": (lambda data: TopR(top_supports(data, 2), EPSILON), FOR_SEARCH),
    "mistakes": (mistakes, FOR_SEARCH),
    "stable optimum": (
        lambda data: StableOptimum(top_supports(data, 2), 0.5, DELTA, PermuteAndFlip(data, 0.5)),
        FOR_SEARCH,
    ),
    "exponential": (lambda data: ExponentialMechanism(data, EPSILON), set(KINDS)),
    "permute-and-flip": (lambda data: PermuteAndFlip(data, EPSILON), set(KINDS)),
    "mcmc": (lambda data: MCMCSelector(n_steps=9).on(data), UNWEIGHTED_ROWS - {"rows, classes"}),
}
OF_VALUES = set(CONSUMERS)
OF_SCORES: dict[Any, set[str]] = {
    SISSelector: UNWEIGHTED,
    KendallSelector: UNWEIGHTED_ROWS,
    SampleAggregateSelector: UNWEIGHTED,
}
for (method, kinds), relation in itertools.product(
    OF_SCORES.items(), ("replace-one", "add-remove")
):
    on = partial(method(relation=relation).on, rng=3)
    CONSUMERS[f"{method.__name__}, {relation}"] = (on, kinds)


def drawn(rng: np.random.Generator, who: int, *, hostile: bool = False) -> dict[str, Any]:
    a, b, c, e = rng.uniform(-1.0, 1.0, 4)
    mild = (a, b, c, 0.6 * a - 0.3 * b + 0.1 * e, 1.0 + e)
    numbers = (*rng.choice([-1e9, -1.0, 1.0, 1e9], 4).tolist(), 2.0) if hostile else mild
    return dict(zip("abcyw", numbers, strict=True)) | {"who": f"p{who}"}


def neighbours(seed: int) -> tuple[Rows, dict[str, Rows]]:
    """Return rows, and their neighbours by relation."""
    rng = np.random.default_rng(seed)
    rows: Rows = [drawn(rng, k, hostile=k == 3) for k in range(12)]
    replaced = [*rows[:3], drawn(rng, 3, hostile=True), *rows[4:]]
    return rows, {"replace-one": replaced, "add-remove": [*rows[:3], *rows[4:]]}


def log_probabilities(law: Any, data: Any) -> np.ndarray:
    if isinstance(law, MetropolisHastings):
        return stationary_law(law)
    supports = itertools.combinations(range(data.n_features), data.support_size)
    return np.array([law.log_probability(support) for support in supports])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_pair_is_refused_or_private(consumer: str, kind: str) -> None:
    (build, known), make = CONSUMERS[consumer], KINDS[kind]
    if kind not in known:
        with pytest.raises(InvalidInput):
            build(make(neighbours(0)[0]))
        return
    for seed in range(3):
        rows, others = neighbours(seed)
        data = make(rows)
        law = build(data)
        stated = law.guarantees
        if kind in KNOWN_UP_TO_N and consumer in OF_VALUES:
            assert stated.keys() == {"replace-one"}
        if consumer.startswith("SampleAggregate") and data.data.has_rows:
            continue  # A mixture over partitions: tests/selectors/test_sample_aggregate.py.
        for relation, guarantee in stated.items():
            other = make(others[relation])
            logs, others_logs = log_probabilities(law, data), log_probabilities(build(other), other)
            # The stationary law of a chain is ε-private; its δ is for not being there.
            delta = 0.0 if isinstance(law, MetropolisHastings) else guarantee.delta
            assert excess(logs, others_logs, guarantee.epsilon) <= delta + 1e-12
