"""Tables of a folder with what is public about them, and R² of least squares on every support."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from mipselect.tables import TableSchema
from mipselect.tables.mapping import open_table, read_rows
from mipselect.tables.public_map import PublicMap
from mipselect.tables.question import TableQuestion

SCHEMAS = Path(__file__).parents[1] / "docs" / "tables"
SUFFIXES = (".csv", ".csv.gz", ".parquet")
MOST_SUPPORTS = 10_000
LARGEST_SIZE = 4
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
    """Rows, and the question that is asked of them.

    `stated` is False where the schema was made up from the rows: fine for a comparison, and for
    nothing else.
    """

    name: str
    frame: pd.DataFrame
    schema: TableSchema
    target: str
    never: tuple[str, ...] = ()
    stated: bool = True
    size: int | None = None

    @property
    def question(self) -> dict[str, Any]:
        return {"target": self.target, "never": self.never}

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

    @property
    def widest(self) -> int:
        return max(len(block) for block in self.unscaled.blocks)

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


def tables_of(folder: Path) -> list[Table]:
    """All tables of a folder, by NAME.schema.json beside NAME.csv, .csv.gz or .parquet.

    In NAME.question.json may stand target, never and size; the target is the last field else.
    """
    found = []
    for path in sorted(folder.iterdir()):
        suffix = next((end for end in SUFFIXES if path.name.endswith(end)), None)
        if suffix is None:
            continue
        name = path.name.removesuffix(suffix)
        frame = pd.read_parquet(path) if suffix == ".parquet" else pd.read_csv(path)
        found.append(table_of(name, frame, _question_of(folder, name)))
    return found


def _question_of(folder: Path, name: str) -> dict[str, Any]:
    question = dict(KNOWN.get(name, {}))
    beside = folder / f"{name}.question.json"
    if beside.exists():
        question.update(json.loads(beside.read_text()))
    schema = folder / f"{name}.schema.json"
    if schema.exists():
        question["schema"] = schema
    return question


def table_of(name: str, frame: pd.DataFrame, question: dict[str, Any]) -> Table:
    frame = frame.rename(columns=str)
    path = question.get("schema")
    schema = TableSchema.of(made_up(frame)) if path is None else TableSchema.read(path)
    names = [field.name for field in schema.fields if field.name != schema.privacy_unit]
    target = question.get("target", names[-1])
    never = tuple(question.get("never", ()))
    return Table(name, frame, schema, target, never, path is not None, question.get("size"))


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


def diabetes() -> Table:
    data = load_diabetes(as_frame=True, scaled=False)
    return table_of("diabetes", data.frame, {"target": "target"})
