"""Tables of a private release of any kind: for kinds that a report has no words for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mipselect.documents.blocks import Block, Heading, KeyedTable, Paragraph, TextTable
from mipselect.validation import printable

ABOUT = frozenset(
    (
        *("command", "data", "instance", "schema", "target", "sensitive", "private", "warning"),
        *("guarantee", "guarantee_of_one_draw", "guarantee_of_all_draws", "protected_unit"),
        *("unit", "unit_rule", "notes"),
        *("ledger", "mipselect", "method", "model"),
    )
)
"""Keys that other parts of a report are about."""

UNKNOWN = "unknown"

INTERVAL = {"value", "low", "high"}
"""Keys of an estimate with its interval, which are one text."""

LONGEST = 200
"""Characters of a value."""

MOST = 1_000
"""Rows of a table."""


def content_blocks(report: Mapping[str, Any]) -> Iterator[Block]:
    """Yield plain values as one table, then lists of objects as a table each."""
    plain: dict[str, str] = {}
    tables: list[Block] = []
    for key, value in report.items():
        if key in ABOUT or value is None:
            continue
        if _is_table(value):
            tables += [Heading(3, _words(key)), *_table(value)]
        else:
            plain |= _flat(value, _words(key))
    if plain:
        yield KeyedTable(tuple((name, text, "") for name, text in plain.items()))
    yield from tables


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    flat = [_cells(row) for row in rows[:MOST]]
    titles = tuple(dict.fromkeys(title for row in flat for title in row))
    numbers = tuple(t for t in titles if all(_is_number(row.get(t, "")) for row in flat))
    cells = tuple(tuple(row.get(title, "") for title in titles) for row in flat)
    yield TextTable(titles, cells, numbers)
    if len(rows) > MOST:
        yield Paragraph(f"{len(rows) - MOST:,} more rows are in the file of the release.")


def _is_number(text: str) -> bool:
    """Return True for a number, an estimate with its interval, and an empty or unknown value."""
    return text in ("", UNKNOWN) or text.lstrip("-")[:1].isdigit()


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    return _joined(_flat(value, _words(key)) for key, value in row.items())


def _flat(value: Any, name: str) -> dict[str, str]:
    """Put a value under its name; parts with names of their own are put under these."""
    if isinstance(value, dict) and not set(value) >= INTERVAL:
        return _joined(_flat(part, f"{name}: {_words(key)}") for key, part in value.items())
    if _is_table(value) and all(isinstance(each.get("name"), str) for each in value):
        return _joined(
            _flat(
                {key: part for key, part in each.items() if key != "name"},
                f"{name}: {_words(each['name'])}",
            )
            for each in value
        )
    return {name: _text(value)}


def _joined(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {key: text for part in parts for key, text in part.items()}


def _text(value: Any) -> str:
    match value:
        case None:
            text = UNKNOWN
        case bool():
            text = "yes" if value else "no"
        case float():
            text = f"{value:.3g}"
        case int():
            text = f"{value:,}"
        case list():
            text = "; ".join(map(_text, value)) or "none"
        case {"value": estimate, "low": low, "high": high}:
            text = f"{_text(estimate)} in [{_text(low)}, {_text(high)}]"
        case dict():
            text = "; ".join(f"{_words(key)} {_text(part)}" for key, part in value.items())
        case _:
            text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _words(key: str) -> str:
    return printable(key.replace("_", " "))
