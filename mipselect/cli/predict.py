"""`mipselect predict`: what a released model says of the rows of a table."""

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
from mipselect.cli.output import check_output, delivering
from mipselect.cli.predict_options import HALF, MATCHING, PredictArguments
from mipselect.cli.progress import Spinner
from mipselect.cli.start import say
from mipselect.errors import InvalidInput, MipselectError
from mipselect.regression import ModelRelease
from mipselect.validation import checked_share, plain_digits, shown

NOT_COVERED = (
    "The model is private; the predictions are not: each tells about its row of DATA, so keep them "
    "as you keep DATA."
)
KEPT = "each prediction tells about its row of DATA, so keep them as you keep DATA."
SEEDED = "NOT PRIVATE: the model was drawn with --seed; its predictions tell about its data too."


def predict(arguments: PredictArguments) -> None:
    """Run the command."""
    data, output, as_json = arguments.table.data, arguments.output, arguments.delivery.as_json
    stated = _stated_threshold(arguments.threshold)
    released = _checked_model(arguments, stated)
    threshold = _matching_threshold(released) if stated is None else stated
    assert released.table is not None
    target = released.table.target
    replaced = released.table.replaced()
    decisions = released.decisions(arguments.table.source, replaced)
    note = NOT_COVERED if released.private else KEPT
    if not released.private:
        say(f"warning: {SEEDED}")
    with (
        WaitingPredictions(released, threshold, as_json=as_json) as answer,
        Spinner(f"reading {data}") as watch,
    ):
        for found in decisions:
            answer.add(found)
            rows = f"{answer.rows:,} rows"
            watch.tick(f"predicted {rows} of {data}", description=rows)
        if output is not None:
            answer.save(output)
        head = {
            "command": "predict",
            "model": str(arguments.model),
            "data": data,
            "target": target,
            "sensitive": True,
            "note": note,
            "rows": answer.rows,
            "replaced_values": replaced.to_dict(),
            **answer.settings,
        }
        with delivering():
            if as_json:
                answer.print_json(head)
            elif output is None:
                answer.print_lines()
            sys.stdout.flush()
    for line in replaced.lines:
        say(f"warning: {line}")
    if released.has_probabilities and stated == HALF:
        say(f"note: {_of_the_threshold(released)}")
    where = "" if output is None else f"{output}: {answer.rows:,} predictions of {target}. "
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
    read, replace = [model, Path(arguments.table.data)], arguments.delivery.replace
    check_output(output, read, endings=(".csv",), replace=replace)
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
        threshold = float(plain_digits(text))
    except ValueError:
        raise InvalidInput(
            f"--threshold must be a probability or {MATCHING}, got {shown(text)}"
        ) from None
    return checked_share(threshold, "--threshold", closed=False)


def _of_the_threshold(released: ModelRelease) -> str:
    """Say what decides between two classes, and what else may."""
    assert released.table is not None
    assert released.classes is not None
    second = (released.table.public.target.classes or released.classes)[1]
    quality = released.quality
    known = quality is not None and quality.matching_threshold is not None
    return (
        f"{released.table.target} is {second} where its probability, the second column (which "
        f"--probability insists on), is above {HALF:g}: of a rare class in few rows. --threshold P "
        f"takes another one, and --threshold {MATCHING} the one by which as many are {second} as "
        f"there are{'' if known else '; it needs a model with --quality-share'}"
    )


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
