"""How far draws go from a uniform one (0) to the best support (1), on real tables.

DATA has regression/NAME.csv.gz. The way is that of R² of least squares on the drawn fields, over
all rows of the table, in expectation over the draw: by the probabilities of all supports, or over
200 draws of SIS. Partitions are seeded, and where a table has no schema its ranges are made up from
its rows: nothing here is private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.datasets import load_diabetes

from benchmarks.declared import Record, benchmark
from mipselect import Instance
from mipselect.blocks.scores import BlockOptions
from mipselect.mechanisms import AdaptivePeeling
from mipselect.mechanisms.supports.permute_and_flip import FlippedWeights
from mipselect.privacy.randomness import IntegerWeights
from mipselect.problem.data import Rows
from mipselect.selectors import KendallSelector, SISSelector
from mipselect.tables import TableSchema
from mipselect.tables.instances import ScoredTable, problem_of_table
from mipselect.tables.mapping import open_table, read_rows
from mipselect.tables.public_map import PublicMap, TableQuestion

SCHEMAS = Path(__file__).parents[1] / "docs" / "tables"
MOST_SUPPORTS = 10_000
LARGEST_SIZE = 4
NUMBERS = ("ailerons", "bike_sharing_hour", "cpu_act", "elevators", "winequality_white")
DIABETES = "diabetes"
KNOWN: dict[str, dict[str, Any]] = {
    "bike_sharing_hour": {
        "schema": SCHEMAS / "bikes.schema.json",
        "target": "cnt",
        "never": ["instant", "dteday", "casual", "registered"],
    },
    "winequality_white": {"schema": SCHEMAS / "wine.schema.json", "target": "quality"},
}


@dataclass(frozen=True, eq=False)
class Table:
    """Rows, and the question that is asked of them."""

    name: str
    frame: pd.DataFrame
    schema: TableSchema
    target: str
    never: tuple[str, ...] = ()
    size: int | None = None

    @property
    def question(self) -> dict[str, Any]:
        return {"target": self.target, "never": self.never}

    def scored(self, **options: Any) -> Any:
        size = self.support_size
        return Instance.from_table(
            self.frame, self.schema, support_size=size, **self.question, **options
        )

    @property
    def table_question(self) -> TableQuestion:
        return TableQuestion(self.schema, **self.question)

    @property
    def unscaled(self) -> PublicMap:
        return self.table_question.without_ranges

    @property
    def n_features(self) -> int:
        return len(self.unscaled.features)

    @property
    def support_size(self) -> int:
        """The size that was asked for, or the largest up to 4 whose supports can be listed."""
        p = self.n_features
        if self.size is not None:
            return min(self.size, p - 1)
        fit = [s for s in range(1, LARGEST_SIZE + 1) if math.comb(p, s) <= MOST_SUPPORTS]
        return min(max(fit), max(1, p // 2))

    def drawn(self, rows: int, seed: int) -> Table:
        """Some of its rows, without replacement."""
        return self.part(np.random.default_rng(seed).permutation(len(self.frame))[:rows])

    def part(self, rows: np.ndarray) -> Table:
        """The rows of these numbers."""
        return replace(self, frame=self.frame.iloc[rows].reset_index(drop=True))

    def supports(self) -> np.ndarray:
        return np.array(list(combinations(range(self.n_features), self.support_size)))

    def ways(self) -> np.ndarray:
        """(R² - mean R²)/(largest R² - mean R²) of every support, of least squares on all rows."""
        r_squared = self.r_squared()
        mean = r_squared.mean()
        return (r_squared - mean) / (r_squared.max() - mean)

    def r_squared(self) -> np.ndarray:
        """R² of every support, of least squares on all rows."""
        public = self.unscaled
        X, y, _ = read_rows(open_table(self.frame, public), public)
        there = np.isfinite(y)
        X, y = X[there].astype(float), y[there]
        X = np.where(np.isfinite(X), X, np.nanmean(np.where(np.isfinite(X), X, np.nan), axis=0))
        X, y = _unit(X), _unit(y[:, None])[:, 0]
        gram, b = X.T @ X, X.T @ y
        found = []
        for support in self.supports():
            columns = np.concatenate([list(public.blocks[j]) for j in support])
            found.append(_explained(gram[np.ix_(columns, columns)], b[columns]))
        return np.array(found)


def _unit(X: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    scale = np.abs(centred).max(axis=0)
    centred /= np.where(scale > 1e-12 * np.abs(X).max(axis=0), scale, np.inf)
    length = np.linalg.norm(centred, axis=0)
    return centred / np.where(length > 0.0, length, np.inf)


def _explained(gram: np.ndarray, b: np.ndarray) -> float:
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-9 * values[-1]
    return float(((vectors[:, kept].T @ b) ** 2 / values[kept]).sum())


def table_named(data: str | None, name: str) -> Table:
    """A table of the folder, or scikit-learn's diabetes data."""
    if name == DIABETES:
        frame, question = load_diabetes(as_frame=True, scaled=False).frame, {"target": "target"}
    else:
        frame = pd.read_csv(Path(str(data)) / "regression" / f"{name}.csv.gz")
        question = KNOWN.get(name, {})
    frame = frame.rename(columns=str)
    path = question.get("schema")
    schema = TableSchema.of(made_up(frame)) if path is None else TableSchema.read(path)
    target = question.get("target", schema.fields[-1].name)
    return Table(name, frame, schema, target, tuple(question.get("never", ())))


def made_up(frame: pd.DataFrame) -> dict[str, Any]:
    """A schema as someone might state it who knows roughly what the columns are.

    Ranges are 1, 2 or 5 times a power of ten, and begin at 0 where nothing is below.
    """
    fields: list[dict[str, Any]] = []
    for name in frame.columns:
        column = frame[name]
        missing = {} if column.isna().any() else {"required": True}
        if pd.api.types.is_bool_dtype(column):
            fields.append({"name": name, "type": "boolean", "constraints": missing})
        elif pd.api.types.is_numeric_dtype(column):
            high = _round_up(float(column.abs().max()))
            low = 0.0 if column.min() >= 0 else -high
            limits = {"minimum": low, "maximum": high, **missing}
            fields.append({"name": name, "type": "number", "constraints": limits})
        else:
            values = sorted(column.dropna().astype(str).unique())
            fields.append({"name": name, "type": "string", "categories": values})
    return {"missingValues": ["", "NA", "nan"], "fields": fields}


def _round_up(value: float) -> float:
    if value <= 0.0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return float(min(k * power for k in (1, 2, 5, 10) if k * power >= value))


EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
DRAWS = 200
"""Draws in place of probabilities where these would take long."""

Laws = dict[float, np.ndarray]
"""Probabilities of all supports, in the order of `Table.supports`, by ε."""

Method = Callable[[Table, int, Sequence[float]], Laws]


def loss_on_ranges(table: Table, seed: int, epsilons: Sequence[float]) -> Laws:
    """The exponential mechanism on the public ranges: the default without blocks."""
    instance = table.scored()
    values = instance.objectives(table.supports())
    return {e: softmax(-e * values / (2.0 * instance.oscillation)) for e in epsilons}


def least_squares_on_blocks(
    table: Table, seed: int, epsilons: Sequence[float], *, rows: int
) -> Laws:
    instance = table.scored(score="blocks", block_rows=rows, partition_seed=seed)
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
        scores = table.scored(
            score="block-r2",
            block_rows=None if rows is None else max(rows, table.support_size + 3),
            partitions=partitions,
            epsilon=epsilon,
            partition_seed=seed,
        )
        b = scores.problem.blocks.rows
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


def mapped(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """X and y after the public map; a missing target is the midpoint."""
    public = TableQuestion(table.schema, **table.question).public
    X, y, _ = read_rows(open_table(table.frame, public), public)
    return X.astype(float), np.nan_to_num(y)


def _of_rows(table: Table, selector: Any, seed: int) -> Any:
    (X, y), public = mapped(table), TableQuestion(table.schema, **table.question).public
    # With an intercept SIS centres.
    problem = problem_of_table(public, support_size=table.support_size, intercept=True)
    rows = np.column_stack([X, np.ones(len(y))])
    return selector.law(selector.problem(problem), Rows(rows, y), seed)


METHODS: dict[str, Method] = {
    "default": default,
    "loss": loss_on_ranges,
    **{f"blocks {b}": partial(least_squares_on_blocks, rows=b) for b in (2, 4)},
    **{f"R² {b}": partial(block_r2, rows=b, partitions=2) for b in (10, 48)},
    "R² rule": partial(block_r2, rows=None),
    "Kendall": kendall,
    "SIS": partial(by_draws, selector=partial(SISSelector, relation="replace-one")),
}


@benchmark(
    {
        "rows": ("all", "6000", "2000", "500"),
        "method": tuple(METHODS),
        "table": (*NUMBERS, DIABETES),
    },
    quick={"rows": ("500",), "method": ("default",), "table": ("winequality_white",)},
    seeds="0 of rows, partitions and draws",
)
def real_tables(
    rows: str, method: str, table: str, data: str | None = None, size: int = 0
) -> Iterator[Record]:
    """How far a draw by each method goes; `size` fields, or as many as can be listed."""
    whole = replace(table_named(data, table), size=size or None)
    if rows != "all" and int(rows) >= len(whole.frame):
        return
    ways = whole.ways()
    some = whole if rows == "all" else whole.drawn(int(rows), 0)
    for epsilon, law in METHODS[method](some, 0, EPSILONS).items():
        named = {"rows": rows, "method": method, "table": table, "epsilon": epsilon}
        yield {**named, "ways": [float(law @ ways)]}
