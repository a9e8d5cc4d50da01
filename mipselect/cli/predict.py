"""`mipselect predict`: what a released model says of the rows of a table."""

from __future__ import annotations

import csv
import io
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mipselect import disk
from mipselect.arrays import FloatArray
from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.dialect import TABLE, TableArgument
from mipselect.cli.options import Delivery
from mipselect.cli.output import check_output, delivering
from mipselect.cli.progress import Spinner
from mipselect.cli.streams import say
from mipselect.errors import InvalidInput, MipselectError
from mipselect.regression import ModelRelease
from mipselect.regression.release import warnings_of_values
from mipselect.validation import checked_share, shown

EXAMPLES = """Examples:

mipselect predict model.json new_patients.parquet --output predictions.csv

mipselect predict model.json new_patients.csv | head

mipselect predict risk.json new_patients.csv --probability --threshold 0.2 \\
    --output risks.csv
"""

HALF, MATCHING = 0.5, "matching"
PROBABILITY = "probability"
"""Name of the column of probabilities."""

IN_MEMORY = 1 << 24
"""Bytes of an answer; a longer one waits in a file."""

PIECE = 1 << 20
"""Letters that are written at a time."""

NOT_COVERED = (
    "The model is private; the predictions are not: each tells about its row of DATA, so keep them "
    "as you keep DATA."
)
KEPT = "each prediction tells about its row of DATA, so keep them as you keep DATA."
SEEDED = "NOT PRIVATE: the model was drawn with --seed; its predictions tell about its data too."


@dataclass(frozen=True)
class AnswerColumns:
    """Columns of the answer for linear predictors of some rows.

    Attributes
    ----------
    model : ModelRelease
        A model of a table.
    threshold : float
    probability : bool
        Whether the probability of the second class is given too.
    """

    model: ModelRelease
    threshold: float
    probability: bool

    @property
    def head(self) -> list[str]:
        """Names of the columns."""
        assert self.model.table is not None
        return [self.model.table.target, *([PROBABILITY] if self.probability else [])]

    @property
    def settings(self) -> dict[str, Any]:
        """Threshold of classes, and the one that probabilities are of, for a report."""
        classes = self.model.classes
        if classes is None:
            return {}
        return {"threshold": self.threshold, "class": classes[1]}

    def values(self, decisions: FloatArray) -> list[Any]:
        """Predict by the model."""
        found: list[Any] = self.model.predictions_of(decisions, threshold=self.threshold).tolist()
        return found

    def chances(self, decisions: FloatArray) -> list[float]:
        """Compute the probabilities of the second class; none if these are not asked for."""
        if not self.probability:
            return []
        found: list[float] = self.model.probabilities_of(decisions)[:, 1].tolist()
        return found

    def lines(self, decisions: FloatArray) -> Iterator[list[str]]:
        """Yield the rows of a CSV file: classes as their field has them."""
        values, classes = self.values(decisions), self.model.classes
        assert self.model.table is not None
        if classes is None:
            texts = list(map(repr, values))
        else:
            names = self.model.table.public.target.classes or ("", "")
            texts = [names[value == classes[1]] for value in values]
        columns = [texts, *([map(repr, self.chances(decisions))] if self.probability else [])]
        return map(list, zip(*columns, strict=True))


@options
class PredictArguments:
    """Arguments of `predict`."""

    model: Path = argument("MODEL.json", "What 'mipselect fit' wrote with --output.")
    table: TableArgument = group(
        TableArgument,
        help={
            "DATA": f"{TABLE}, with the fields of the model; others are ignored, and the target "
            "need not be there."
        },
    )
    output: Path | None = option(
        "--output",
        "Receives the predictions, whole or not at all, readable by you only.",
        metavar="FILE.csv",
        show_default="standard output",
    )
    probability: bool = option(
        "--probability",
        "Of two classes: a second column, the probability of the second class.",
        default=False,
    )
    threshold: str = option(
        "--threshold",
        "Of two classes: the probability above which the second one is predicted. matching: the "
        "one of the model's quality, by which as many are predicted as there are.",
        default=str(HALF),
        metavar=f"P|{MATCHING}",
    )
    delivery: Delivery = group(Delivery, without=("--output",))


@command
def predict(arguments: PredictArguments) -> None:
    """Predict the target for every row of DATA, in the order of the rows.

    Rows are mapped as they were for the model: values are clipped to its ranges,
    missing ones count as its schema says, and no row is refused. Warnings count
    rows of which another value counts than stands there. The answer has one line
    per row, under the name of the target: a number in its units, or a class. With
    two classes --probability adds how likely the second is, which --threshold
    decides by.

    Predictions cost no budget, for the model is released. They are not private
    for the rows of DATA.
    """
    data, output, as_json = arguments.table.data, arguments.output, arguments.delivery.as_json
    stated = _stated_threshold(arguments.threshold)
    released = _checked_model(arguments, stated)
    threshold = _matching_threshold(released) if stated is None else stated
    assert released.table is not None
    target = released.table.target
    unlisted, replaced = Counter[str](), released.table.replaced()
    decisions = released.decisions(arguments.table.source, unlisted, replaced)
    answer = AnswerColumns(released, threshold, probability=arguments.probability)
    note = NOT_COVERED if released.private else KEPT
    if not released.private:
        say(f"warning: {SEEDED}")
    with (
        _spool() as lines,
        _spool() as values,
        _spool() as chances,
        Spinner(f"reading {data}") as watch,
    ):
        lines.write(_csv([answer.head]))
        rows = 0
        for found in decisions:
            lines.write(_csv(answer.lines(found)))
            if as_json:
                values.write(_items(answer.values(found), rows))
                chances.write(_items(answer.chances(found), rows))
            rows += len(found)
            watch.tick(f"predicted {rows:,} rows of {data}", description=f"{rows:,} rows")
        if output is not None:
            with _about_writing(output), disk.whole_file(output, sensitive=True) as file:
                file.writelines(piece.encode() for piece in _pieces(lines))
        head = {
            "command": "predict",
            "model": str(arguments.model),
            "data": data,
            "target": target,
            "sensitive": True,
            "note": note,
            "rows": rows,
            "replaced_values": replaced.to_dict(),
            **answer.settings,
        }
        parts = {"predictions": values}
        if arguments.probability:
            parts["probabilities"] = chances
        with delivering():
            if as_json:
                sys.stdout.writelines(_json(head, parts))
            elif output is None:
                sys.stdout.writelines(_pieces(lines))
            sys.stdout.flush()
    for line in warnings_of_values(replaced, unlisted):
        say(f"warning: {line}")
    where = "" if output is None else f"{output}: {rows:,} predictions of {target}. "
    say(f"note: {where}{note}")


def _checked_model(arguments: PredictArguments, threshold: float | None) -> ModelRelease:
    """Read the model; raise `InvalidInput` where it, or the name of the answer, is not usable."""
    model, output = arguments.model, arguments.output
    released = ModelRelease.load(model)
    if released.table is None:
        raise InvalidInput(
            f"{model}: is a model of arrays, not of a table with a schema; ModelRelease.load in "
            "Python predicts from its columns"
        )
    check_output(output, [model, Path(arguments.table.data)], endings=(".csv",))
    if not released.has_model:
        raise InvalidInput(f"{model}: no model was released, for the private test failed")
    for name, asked in (
        ("--probability", arguments.probability),
        ("--threshold", threshold != HALF),
    ):
        if asked and not released.has_probabilities:
            raise InvalidInput(
                f"{name} needs a model of two classes by the logistic loss; {model} is one of "
                f"{released.table.target} by {released.mechanism}"
            )
    return released


def _stated_threshold(text: str) -> float | None:
    """Read a probability; None for that of the model."""
    if text == MATCHING:
        return None
    try:
        threshold = float(text)
    except ValueError:
        raise InvalidInput(
            f"--threshold must be a probability or {MATCHING}, got {shown(text)}"
        ) from None
    return checked_share(threshold, "--threshold", closed=False)


def _matching_threshold(released: ModelRelease) -> float:
    """Return the threshold of the quality of a model."""
    quality = released.quality
    if quality is None or quality.matching_threshold is None:
        found = "no quality" if quality is None else "a quality without that threshold"
        raise InvalidInput(
            f"--threshold {MATCHING}: the model has {found}; fit it with --quality-share, on rows "
            "enough, or give a probability"
        )
    return quality.matching_threshold


def _spool() -> tempfile.SpooledTemporaryFile[str]:
    """Open a text that waits until it is whole, in memory or in a file without a name."""
    return tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8", newline="")


def _pieces(spool: tempfile.SpooledTemporaryFile[str]) -> Iterator[str]:
    """Yield the text from its beginning, some of it at a time."""
    spool.seek(0)
    return iter(lambda: spool.read(PIECE), "")


def _json(
    head: dict[str, Any], parts: dict[str, tempfile.SpooledTemporaryFile[str]]
) -> Iterator[str]:
    """Yield one JSON object: what is known at once, then lists as they were kept."""
    yield json.dumps(head)[:-1]
    for name, items in parts.items():
        yield f', "{name}": ['
        yield from _pieces(items)
        yield "]"
    yield "}\n"


def _csv(rows: Iterable[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _items(values: list[Any], before: int) -> str:
    """Write values of a JSON list that follow so many others."""
    return "".join(f"{', ' if before + k else ''}{json.dumps(v)}" for k, v in enumerate(values))


@contextmanager
def _about_writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MipselectError(f"{path} could not be written: {error}") from error
