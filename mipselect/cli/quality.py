"""The quality of a model in words, as `fit` and `evaluate` state it."""

from __future__ import annotations

from rich.console import Console

from mipselect.cli.output import heading, line
from mipselect.quality import Quality


def rows_in_words(quality: Quality, table: str = "a table that was given for it") -> str:
    """Say which rows a quality is about; of a `table` nobody knows if the model has seen it."""
    count = "the rows" if quality.rows is None else f"{quality.rows:,} rows"
    if quality.share is None:
        return f"{count} of {table}"
    return f"{count} that were kept apart from the fit ({100.0 * quality.share:.6g} %)"


def show_quality(console: Console, quality: Quality, *table: str) -> None:
    """Print the verdict first, then the other measures; see `rows_in_words`."""
    heading(console, f"Quality on {rows_in_words(quality, *table)}:")
    for text in quality.lines:
        line(console, text)
