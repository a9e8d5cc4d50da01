"""Predictions of a table of any length, which wait until they are whole."""

from __future__ import annotations

import csv
import io
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mipselect import disk
from mipselect.arrays import FloatArray
from mipselect.errors import MipselectError
from mipselect.regression import ModelRelease

PROBABILITY = "probability"
"""Name of the column of probabilities."""

IN_MEMORY = 1 << 24
"""Bytes of an answer; a longer one waits in a file."""

PIECE = 1 << 20
"""Letters that are written at a time."""

Spool = tempfile.SpooledTemporaryFile[str]


class WaitingPredictions(ExitStack):
    """Predictions of rows that are read a chunk at a time, as lines of a CSV file and as JSON.

    Parameters
    ----------
    model : ModelRelease
        A model of a table.
    threshold : float
    as_json : bool
        Whether the answer is one JSON object, and no lines are printed.

    Attributes
    ----------
    rows : int
        How many were predicted so far.
    """

    def __init__(self, model: ModelRelease, threshold: float, *, as_json: bool) -> None:
        super().__init__()
        assert model.table is not None
        self.model, self.table, self.threshold = model, model.table, threshold
        self.probability, self.as_json, self.rows = model.has_probabilities, as_json, 0
        self._lines, self._values, self._chances = (self.enter_context(_spool()) for _ in range(3))
        self._lines.write(_csv([[self.table.target, *([PROBABILITY] if self.probability else [])]]))

    @property
    def settings(self) -> dict[str, Any]:
        """Threshold of classes, and the one that probabilities are of, for a report."""
        classes = self.model.classes
        return {} if classes is None else {"threshold": self.threshold, "class": classes[1]}

    def add(self, decisions: FloatArray) -> None:
        """Predict the next rows."""
        values = self.model.predictions_of(decisions, threshold=self.threshold).tolist()
        chances = self.model.probabilities_of(decisions)[:, 1].tolist() if self.probability else []
        texts, classes = list(map(repr, values)), self.model.classes
        if classes is not None:
            # Classes as their field has them.
            names = self.table.public.target.classes or ("", "")
            texts = [names[value == classes[1]] for value in values]
        columns = [texts, *([map(repr, chances)] if self.probability else [])]
        self._lines.write(_csv(map(list, zip(*columns, strict=True))))
        if self.as_json:
            self._values.write(_items(values, self.rows))
            self._chances.write(_items(chances, self.rows))
        self.rows += len(decisions)

    def save(self, path: Path) -> None:
        """Write the lines, whole or not at all."""
        try:
            with disk.whole_file(path, sensitive=True) as file:
                file.writelines(piece.encode() for piece in _pieces(self._lines))
        except OSError as error:
            raise MipselectError(f"{path} could not be written: {error}") from error

    def print_lines(self) -> None:
        """Print the lines on standard output."""
        sys.stdout.writelines(_pieces(self._lines))

    def print_json(self, head: Mapping[str, Any]) -> None:
        """Print one JSON object: what is known of all rows, then lists with an item a row."""
        parts = {"predictions": self._values}
        if self.probability:
            parts["probabilities"] = self._chances
        sys.stdout.write(json.dumps(head)[:-1])
        for name, items in parts.items():
            sys.stdout.write(f', "{name}": [')
            sys.stdout.writelines(_pieces(items))
            sys.stdout.write("]")
        sys.stdout.write("}\n")


def _spool() -> Spool:
    """Open a text that waits until it is whole, in memory or in a file without a name."""
    return tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8", newline="")


def _pieces(spool: Spool) -> Iterator[str]:
    """Yield the text from its beginning, some of it at a time."""
    spool.seek(0)
    return iter(lambda: spool.read(PIECE), "")


def _csv(rows: Iterable[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _items(values: list[Any], before: int) -> str:
    """Write values of a JSON list that follow so many others."""
    return "".join(f"{', ' if before + k else ''}{json.dumps(v)}" for k, v in enumerate(values))
