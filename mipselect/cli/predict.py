"""`mipselect predict`: what a released model says of the rows of a table."""

from __future__ import annotations

import csv
import io
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mipselect import disk
from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.options import Delivery
from mipselect.cli.output import check_output, delivering
from mipselect.cli.progress import Spinner
from mipselect.cli.streams import say
from mipselect.errors import InvalidInput, MipselectError
from mipselect.regression import ModelRelease

EXAMPLES = """Examples:

mipselect predict model.json new_patients.parquet --output predictions.csv

mipselect predict model.json new_patients.csv | head
"""

IN_MEMORY = 1 << 24
"""Bytes of an answer; a longer one waits in a file."""

PIECE = 1 << 20
"""Letters that are written at a time."""

NOT_COVERED = (
    "The model is private; the predictions are not: each tells about its row of DATA, so keep them "
    "as you keep DATA."
)
SEEDED = "NOT PRIVATE: the model was drawn with --seed; its predictions tell about its data too."


@options
class PredictArguments:
    """Arguments of `predict`."""

    model: Path = argument("MODEL.json", "What 'mipselect fit' wrote with --output.")
    data: str = argument(
        "DATA",
        "A .csv, .csv.gz, .parquet, .arrow or .feather file, a folder or a pattern, with the "
        "fields of the model; others are ignored, and the target need not be there.",
    )
    output: Path | None = option(
        "--output",
        "Receives the predictions, whole or not at all, readable by you only.",
        metavar="FILE.csv",
        show_default="standard output",
    )
    delivery: Delivery = group(Delivery, without=("--output",))


@command
def predict(arguments: PredictArguments) -> None:
    """Predict the target for every row of DATA, in the order of the rows.

    Rows are mapped as they were for the model: values are clipped to its ranges,
    missing ones count as its schema says, and no row is refused. The answer has
    one line per row, under the name of the target: a number in its units, or a
    class.

    Predictions cost no budget, for the model is released. They are not private
    for the rows of DATA.
    """
    data, output, as_json = arguments.data, arguments.output, arguments.delivery.as_json
    released = _checked_model(arguments)
    assert released.table is not None
    target = released.table.target
    predictions = released.predictions(data)
    if not released.private:
        say(f"warning: {SEEDED}")
    with _spool() as lines, _spool() as values, Spinner(f"reading {data}") as watch:
        lines.write(_csv([[target]]))
        rows = 0
        for found in predictions:
            lines.write(_csv([text] for text in _texts(found.tolist(), released)))
            if as_json:
                values.writelines(
                    f"{', ' if rows + k else ''}{json.dumps(value)}"
                    for k, value in enumerate(found.tolist())
                )
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
            "note": NOT_COVERED,
            "rows": rows,
        }
        with delivering():
            if as_json:
                sys.stdout.write(json.dumps(head)[:-1] + ', "predictions": [')
                sys.stdout.writelines(_pieces(values))
                sys.stdout.write("]}\n")
            elif output is None:
                sys.stdout.writelines(_pieces(lines))
            sys.stdout.flush()
    where = "" if output is None else f"{output}: {rows:,} predictions of {target}. "
    say(f"note: {where}{NOT_COVERED}")


def _checked_model(arguments: PredictArguments) -> ModelRelease:
    """Read the model; raise `InvalidInput` where it, or the name of the answer, is not usable."""
    model, output = arguments.model, arguments.output
    released = ModelRelease.load(model)
    if released.table is None:
        raise InvalidInput(
            f"{model}: is a model of arrays, not of a table with a schema; ModelRelease.load in "
            "Python predicts from its columns"
        )
    if output is not None and output.suffix != ".csv":
        raise InvalidInput(f"--output must end in .csv, got {str(output)!r}")
    check_output(output, [model, Path(arguments.data)])
    if not released.has_model:
        raise InvalidInput(f"{model}: no model was released, for the private test failed")
    return released


def _spool() -> tempfile.SpooledTemporaryFile[str]:
    """A text that waits until it is whole, in memory or in a file without a name."""
    return tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8", newline="")


def _pieces(spool: tempfile.SpooledTemporaryFile[str]) -> Iterator[str]:
    """The text from its beginning, some of it at a time."""
    spool.seek(0)
    return iter(lambda: spool.read(PIECE), "")


def _csv(rows: Iterable[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _texts(found: list[Any], released: ModelRelease) -> list[str]:
    """Predictions as they stand in a CSV file: classes as their field has them."""
    if released.table is None or released.classes is None:
        return list(map(repr, found))
    names = released.table.public.target.classes or ("", "")
    return [names[value == released.classes[1]] for value in found]


@contextmanager
def _about_writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MipselectError(f"{path} could not be written: {error}") from error
