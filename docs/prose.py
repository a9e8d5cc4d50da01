"""Find what the pages and docstrings must not have: see `make lint`.

A page has a limit of words, and a sentence one of its mean length. Code, tables, headings and
formulas are left out of sentences; `code` in a sentence is one word. A sentence ends with . ! or ?,
or with its paragraph or item of a list. That a function's docstring begins with an imperative is
looked at by ruff.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
MOST_WORDS, LONGEST_SENTENCE = 1_200, 18.0

PATTERNS = {
    r"\bwhoever\b": "a person: anybody who, somebody who",
    r"\btold from\b": "depends on, follows from",
    r"(?<![.,;:] )\bWhat of\b": "a verb",
    r"\bthe same holds of\b": "the same is true for",
    r"\bin earnest of\b": "a plain word",
}
"""Patterns of pages and docstrings, whatever their case, and what to write in their place."""

BEGINNINGS = r"(?:What|Whether|How|Which|Who|Whose|Where|When|Of|Whoever)\b"
"""No docstring begins so: a function's begins with a verb, any other one with a noun."""

MADE = {"_build", "gallery"}
"""Folders of pages that are made and not written."""


def limited_pages() -> list[Path]:
    """Return the pages whose length is limited: the README, the tutorials and the guides."""
    parts = (sorted((DOCS / part).glob("*.md")) for part in ("tutorials", "how-to"))
    return [ROOT / "README.md", *(page for part in parts for page in part)]


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a page, without code, tables, headings and formulas."""
    text = re.sub(r"^(:::+|```)\{.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^```.*?^```$", "\n", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\$\$.*?\$\$", "\n", text, flags=re.DOTALL)
    text = re.sub(r"^(?: {4}|\||#+ ).*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"!\[.*?\]\(.*?\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]+`|\$[^$\n]+\$", "code", text)
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*>]|\d+\.) )", text)
    return [
        sentence.strip()
        for block in blocks
        for sentence in re.split(r"(?<=[.!?])[\"*)]*\s+", re.sub(r"^\s*\d+\.\s", "", block))
        if sentence.strip()
    ]


def lengths_of(text: str) -> Iterator[str]:
    """Yield what a page has too much of."""
    words = len(text.split())
    if words > MOST_WORDS:
        yield f"{words} words; at most {MOST_WORDS}"
    counts = [len(re.findall(r"[\w'’²]+(?:-\w+)*", each)) for each in sentences_of(text)]
    counts = [count for count in counts if count]
    mean = sum(counts) / max(1, len(counts))
    if mean > LONGEST_SENTENCE:
        yield f"{mean:.1f} words a sentence; at most {LONGEST_SENTENCE:.0f}"


def patterns_in(text: str, first: int = 1) -> Iterator[str]:
    """Yield each place of a text that has a pattern, by its line."""
    for pattern, better in PATTERNS.items():
        for found in re.finditer(pattern, text, re.IGNORECASE):
            line = first + text.count("\n", 0, found.start())
            yield f"{line}: {found[0]!r}; write {better}"


def faults_in_module(source: str) -> Iterator[str]:
    """Yield what is wrong in the docstrings of one module."""
    for line, text in docstrings(ast.parse(source)):
        yield from patterns_in(text, line)
        if begun := re.match(BEGINNINGS, text):
            yield f"{line}: {begun[0]!r}; write a verb for a function, a noun for anything else"


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield each docstring, also that of a constant, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""
            for one, following in pairwise(node.body):
                match one, following:
                    case (
                        ast.Assign() | ast.AnnAssign(),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        yield following.lineno, inspect.cleandoc(text)


def faults() -> Iterator[str]:
    """Yield all that is wrong, with its place."""
    written = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
    for folder in ("mipselect", "papers", "solvers", "docs"):
        written += sorted((ROOT / folder).rglob("*.py"))
    limited = limited_pages()
    for path in written:
        if MADE.isdisjoint(path.parts) and path != Path(__file__):
            text = path.read_text(encoding="utf-8")
            found = faults_in_module(text) if path.suffix == ".py" else patterns_in(text)
            yield from (f"{path.relative_to(ROOT)}:{each}" for each in found)
            if path in limited:
                yield from (f"{path.relative_to(ROOT)}: {each}" for each in lengths_of(text))


def main() -> int:
    """Print all that is wrong; return the exit code."""
    wrong = list(faults())
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
