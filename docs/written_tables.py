"""Tables of the manual, written from stored results of benchmarks.

python -m docs.written_tables [--check] [PAGE ...]

A page has a comment before a written table and one behind it:

    <!-- table: NAME -->
    <!-- end of table -->

`docs/results/pages/PAGE.toml` has a part NAME, the specification of the table:

results       the file docs/results/RESULTS.json; see `benchmarks.stored`
where         the records that count: a key and its value, or a list of values
corner        the heads of the columns of labels, as a list
rows          keys, of whose values each combination is a row; or a list of rows, with `label`, a
              text or one for each head
labels        with keys, one text for each head, such as "`{selector}`"
columns       one key, with `head` such as "ε = {epsilon}"; or a list of columns, with `label`
cell          the text of a cell, such as "{way:.2f}"; a value that is a text is taken as it is
mean          keys in which the records of one cell may differ; then the mean of the number counts,
              as of a number that is a list
missing       the text of a cell without a record; else that is an error

`results`, `where`, `cell`, `mean` and `missing` stand in the table, a row or a column,
and the last of these counts; of `where` all count. Below the table is written what was run, when,
where and with which seed; if the table before it in its section says the same, once.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean
from string import Formatter
from typing import Any

from benchmarks.stored import RESULTS, Record, StoredRun
from mipselect.disk import write_whole

DOCS = Path(__file__).parent
PAGES = RESULTS / "pages"
WRITTEN = re.compile(r"<!-- table: (\S+) -->\n(.*?)<!-- end of table -->", re.DOTALL)
MARK = re.compile(r"<!-- (?:table: |end of table)")
NO_CELL = {"label", "labels", "head", "corner", "rows", "columns"}
WORD = re.compile(r"[^\W\d_]{3}")


class WrongTable(Exception):
    """A table that cannot be written."""


class Texts(Formatter):
    """Formats of cells and labels."""

    def format_field(self, value: Any, spec: str) -> str:
        """Return a text as it is; a number has no negative zero, and its thousands a comma."""
        if isinstance(value, str):
            return value
        if not spec:
            spec = "," if isinstance(value, int) else "g"
        return str(format(value, f"z{spec}" if spec[-1] in "f%" else spec))

    def get_field(
        self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, str]:
        """Return the field of this name, which may have dots and blanks in it."""
        return kwargs[field_name], field_name

    def filled(self, text: str, fields: Mapping[str, Any]) -> str:
        """Return the text with its fields filled in."""
        try:
            return self.vformat(text, (), fields)
        except (KeyError, ValueError) as error:
            raise WrongTable(f"{text!r} cannot be filled from {dict(fields)}: {error}") from None


@dataclass(frozen=True)
class Cell:
    """Description of one cell: its records, and its text."""

    results: str
    where: Mapping[str, Any]
    cell: str
    mean: list[str] = field(default_factory=list)
    missing: str | None = None

    @classmethod
    def of(cls, *parts: Mapping[str, Any]) -> Cell:
        """Return the cell of which a table, a row and a column each say something."""
        where = {key: each for part in parts for key, each in part.get("where", {}).items()}
        merged = {key: each for part in parts for key, each in part.items() if key not in NO_CELL}
        try:
            return cls(**{**merged, "where": where})
        except TypeError as error:
            raise WrongTable(str(error)) from None

    def found(self) -> list[Record]:
        """Return its records."""
        return records(self.results, self.where)

    def written(self) -> str | None:
        """Return the text, or None if there is no record with all that it names."""
        names = {name for _, name, _, _ in Texts().parse(self.cell) if name}
        fields = _one(self.found(), names, self.mean)
        return Texts().filled(self.cell, fields) if names <= fields.keys() else None


@cache
def run(name: str) -> StoredRun:
    """Return a stored run, read once."""
    try:
        return StoredRun.read(RESULTS / f"{name}.json")
    except (OSError, ValueError, TypeError) as error:
        raise WrongTable(f"docs/results/{name}.json cannot be read: {error}") from None


def records(results: str, where: Mapping[str, Any]) -> list[Record]:
    """Return all records that have these values, each of which some record of a run must have."""
    found = run(results).records
    for key, value in where.items():
        values = value if isinstance(value, list) else [value]
        lacking = [each for each in values if all(r.get(key) != each for r in run(results).records)]
        if lacking and not run(results).entered_by_hand:
            raise WrongTable(f"no record of {results} has {key} = {lacking[0]!r}")
        found = [each for each in found if key in each and each[key] in values]
    return found


def _one(found: list[Record], names: set[str], mean: list[str]) -> Record:
    """Return one record with the means of what is named; the rest may differ in `mean` alone."""
    for key in sorted({key for each in found for key in each} - names - set(mean)):
        if any(each.get(key) != found[0].get(key) for each in found):
            raise WrongTable(f"records of one cell differ in {key}, such as {found[:2]}")
    there = [name for name in names if all(name in each for each in found)] if found else []
    values = {name: [each[name] for each in found] for name in there}
    return {
        name: fmean(fmean(each) if isinstance(each, list) else each for each in some)
        if len(some) > 1 or isinstance(some[0], list)
        else some[0]
        for name, some in values.items()
    }


def by_keys(keys: list[str], texts: list[str], own: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return rows, or columns, by the values of keys in the order of the records."""
    found = [r for r in records(own["results"], own.get("where", {})) if r.keys() >= set(keys)]
    if not found:
        raise WrongTable(f"there are no records with {keys}")
    named = {tuple(r[key] for key in keys): {key: r[key] for key in keys} for r in found}
    return [
        {"label": [Texts().filled(text, where) for text in texts], "where": where}
        for where in named.values()
    ]


def table(spec: Mapping[str, Any]) -> tuple[str, str]:
    """Return a table as Markdown, and the lines about its runs."""
    own = {key: each for key, each in spec.items() if key not in NO_CELL}
    rows, columns = spec["rows"], spec["columns"]
    if isinstance(rows[0], str):
        rows = by_keys(rows, spec.get("labels", [f"{{{key}}}" for key in rows]), own)
    if isinstance(columns, str):
        columns = by_keys([columns], [spec["head"]], own)
    cells = [[Cell.of(own, row, column) for column in columns] for row in rows]
    texts = [[cell.written() for cell in line] for line in cells]
    for row, of_row in zip(rows, cells, strict=True):
        if not any(cell.found() for cell in of_row):
            raise WrongTable(f"there are no records for {row}")
    for column, of_column in zip(columns, zip(*texts, strict=True), strict=True):
        if all(text is None for text in of_column):
            raise WrongTable(f"there are no records for {column}")
    lines = [[*spec["corner"], *(label for each in columns for label in _labels(each))]]
    for row, of_row, line in zip(rows, cells, texts, strict=True):
        filled = [c.missing if text is None else text for c, text in zip(of_row, line, strict=True)]
        if None in filled:
            raise WrongTable(f"there is no record for {of_row[filled.index(None)]}")
        lines.append([*_labels(row), *map(str, filled)])
    names = dict.fromkeys(cell.results for line in cells for cell in line)
    return _markdown(lines), "\n".join(dict.fromkeys(provenance(run(name)) for name in names))


def _labels(part: Mapping[str, Any]) -> list[str]:
    return [part["label"]] if isinstance(part["label"], str) else part["label"]


def _markdown(lines: list[list[str]]) -> str:
    """Return a table whose columns of numbers are to the right."""
    words = [any(map(WORD.search, column)) for column in zip(*lines[1:], strict=True)]
    rule = ["---" if has_words else "---:" for has_words in words]
    return "".join(f"| {' | '.join(line)} |\n" for line in (lines[0], rule, *lines[1:]))


def provenance(of: StoredRun) -> str:
    """Return one line about a run."""
    by_hand = ", entered by hand" if of.entered_by_hand else ""
    command = f"`{of.command}`" if of.command else "Command: not recorded"
    return f"*{command}, {of.date}{by_hand}; machine: {of.machine}; seeds: {of.seed}.*"


def page(text: str, specs: Mapping[str, Any]) -> str:
    """Return the text of a page with its tables written anew."""
    found = list(WRITTEN.finditer(text))
    if len(MARK.findall(text)) != 2 * len(found):
        raise WrongTable("a table: comment and its end of table comment are no pair")
    names = [each[1] for each in found]
    if set(names) != set(specs) or len(set(names)) != len(names):
        raise WrongTable(f"comments name {sorted(names)}, specifications {sorted(specs)}")
    parts, end, said = [], 0, ""
    for each in found:
        between = text[end : each.start()]
        try:
            made, lines = table(specs[each[1]])
        except (WrongTable, KeyError) as error:
            raise WrongTable(f"table {each[1]}: {error}") from None
        same = lines == said and "\n#" not in between
        below = "" if same else f"\n{lines}\n"
        parts += [between, f"<!-- table: {each[1]} -->\n\n{made}{below}\n<!-- end of table -->"]
        end, said = each.end(), lines
    return "".join([*parts, text[end:]])


def pages() -> list[Path]:
    """Return all pages that have a comment or a specification of a table."""
    specified = {
        DOCS / path.relative_to(PAGES).with_suffix(".md") for path in PAGES.rglob("*.toml")
    }
    marked = {path for path in DOCS.rglob("*.md") if MARK.search(path.read_text(encoding="utf-8"))}
    return sorted(specified | marked)


def written(path: Path) -> str:
    """Return a page as it must be; raise `WrongTable`, naming it, if it cannot be written."""
    if not path.is_relative_to(DOCS):
        raise WrongTable(f"{path} is no page in {DOCS.name}")
    specification = PAGES / path.relative_to(DOCS).with_suffix(".toml")
    try:
        specs = tomllib.loads(specification.read_text("utf-8")) if specification.exists() else {}
        return page(path.read_text(encoding="utf-8"), specs)
    except (WrongTable, OSError, tomllib.TOMLDecodeError) as error:
        raise WrongTable(f"{path.relative_to(DOCS)}: {error}") from None


def main() -> int:
    """Write pages, or compare them; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; name pages that differ"
    )
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE")
    options = parser.parse_args()
    differ = []
    try:
        for path in [each.resolve() for each in options.pages] or pages():
            text = written(path)
            if text != path.read_text(encoding="utf-8"):
                differ.append(path.relative_to(DOCS))
                if not options.check:
                    write_whole(path, text.encode())
    except WrongTable as error:
        print(error, file=sys.stderr)
        return 1
    verb = "differs from its stored results" if options.check else "written"
    for name in differ:
        print(f"{name}: {verb}", file=sys.stderr)
    return 1 if options.check and differ else 0


if __name__ == "__main__":
    sys.exit(main())
