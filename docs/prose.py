"""Measure the prose of the manual, and look for patterns that must not come back: see `make lint`.

Flesch's reading ease is 206.835 - 1.015 (words a sentence) - 84.6 (syllables a word); above 45 is
plain for grown-ups. A syllable is a run of vowels, y among them; a silent e at the end does not
count, and every word has one at least. Code, tables, headings and formulas are left out; `code` in
a sentence is one word. A sentence ends with . ! or ?, or with its paragraph or item of a list.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
MOST_WORDS, LONGEST_SENTENCE, LEAST_EASE = 1_200, 18.0, 45.0

PATTERNS = {
    r"\bwhoever\b": "a person: anybody who, somebody who",
    r"\btold from\b": "depends on, follows from",
    r"(?<![.,;:] )\bWhat of\b": "a verb",
    r"\bthe same holds of\b": "the same is true for",
    r"\bin earnest of\b": "a plain word",
}
"""Patterns of prose, whatever their case, and what to write in their place."""

BEGINNINGS = r"^(?:What|Whether|How|Which|Who|Whose|Where|When|Of|Whoever)\b"
"""No docstring begins so: a function's begins with a verb, any other one with a noun."""

INVERSION = re.compile(r"(?:[.:;!?]\s+|\n\s*\n|^\w[^.\n]* : [^\n]*\n\s+)(Of)\b", re.MULTILINE)
"""A sentence, or an entry of a parameter, that begins with "Of": it should begin with its noun."""

VERBS = frozenset((DOCS / "docstring-verbs.txt").read_text(encoding="utf-8").split())
"""Imperatives that begin the docstring of a function; a new one is added to the file on purpose."""

VERB_AS_NOUN = r"^\w+ (?:of|on)\b"
"""No docstring of a function begins so: "Count of rows", "Bound on R"."""

PROPERTIES = {"property", "cached_property"}

MADE = {"_build", "gallery"}
"""Folders of pages that are made and not written."""


@dataclass(frozen=True)
class Measures:
    """Figures of one text.

    Attributes
    ----------
    words : int
        All of the page, as `wc -w` counts them.
    sentence : float
        Mean number of words in a sentence.
    ease : float
        Flesch's reading ease.
    """

    words: int
    sentence: float
    ease: float


@dataclass(frozen=True)
class Finding:
    """One place that must be written otherwise.

    Attributes
    ----------
    path : Path
    line : int
    words : str
    better : str
    """

    path: Path
    line: int
    words: str
    better: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.words!r}; write {self.better}"


def pages_to_measure() -> list[Path]:
    """Return the README, the tutorials and the guides."""
    parts = (sorted((DOCS / part).glob("*.md")) for part in ("tutorials", "how-to"))
    return [ROOT / "README.md", *(page for part in parts for page in part)]


def measured(text: str) -> Measures:
    """Return the figures of a page."""
    sentences = [re.findall(r"[\w'’²]+(?:-\w+)*", each) for each in sentences_of(text)]
    sentences = [words for words in sentences if words]
    words = [word for sentence in sentences for word in sentence]
    if not words:
        return Measures(len(text.split()), 0.0, 100.0)
    length = len(words) / len(sentences)
    syllables = sum(map(syllables_of, words)) / len(words)
    ease = 206.835 - 1.015 * length - 84.6 * syllables
    return Measures(len(text.split()), length, ease)


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


def syllables_of(word: str) -> int:
    """Return the number of syllables of an English word."""
    plain = re.sub(r"[^a-z]", "", word.lower())
    runs = len(re.findall(r"[aeiouy]+", plain))
    silent = re.search(r"[^aeiouyl]e$|[aeiouy]le$", plain) is not None
    return max(1, runs - silent)


def findings() -> list[Finding]:
    """Return what is wrong on pages and in docstrings."""
    return [*findings_in_pages(), *findings_in_docstrings()]


def findings_in_pages() -> Iterator[Finding]:
    """Yield what is wrong on the pages of the manual."""
    for path in (*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))):
        if MADE.isdisjoint(path.parts):
            yield from _matches(path, path.read_text(encoding="utf-8"), 1)


def findings_in_docstrings() -> Iterator[Finding]:
    """Yield what is wrong in the docstrings of the packages and of the scripts of the manual."""
    for path in modules():
        yield from findings_in_module(path, path.read_text(encoding="utf-8"))


def modules() -> list[Path]:
    """Return the modules whose docstrings are looked at."""
    folders = ("mipselect", "papers", "solvers", "docs")
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if MADE.isdisjoint(path.parts)]


def findings_in_module(path: Path, source: str) -> Iterator[Finding]:
    """Yield what is wrong in the docstrings of one module."""
    for node, line, text in docstrings(ast.parse(source)):
        yield from _matches(path, text, line)
        for found in INVERSION.finditer(text):
            yield Finding(path, line, found[1], "the noun first, or another preposition")
        if begun := re.match(BEGINNINGS, text):
            yield Finding(path, line, begun[0], "a verb for a function, a noun for anything else")
        elif needs_a_verb(node) and (words := beginning_without_verb(text)):
            yield Finding(path, line, words, "an imperative of docs/docstring-verbs.txt")


def docstrings(tree: ast.Module) -> Iterator[tuple[ast.AST, int, str]]:
    """Yield each node that may have a docstring, also a constant, with its line and its text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, getattr(node, "lineno", 1), ast.get_docstring(node) or ""
            for one, following in pairwise(node.body):
                match one, following:
                    case (
                        ast.Assign() | ast.AnnAssign(),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        yield one, following.lineno, inspect.cleandoc(text)


def needs_a_verb(node: ast.AST) -> bool:
    """Tell whether a node is a function or method, and no property."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    decorators = (ast.unparse(each).rpartition(".")[2] for each in node.decorator_list)
    return PROPERTIES.isdisjoint(decorators)


def beginning_without_verb(text: str) -> str | None:
    """Return how a docstring begins, or None if it has no text or begins with an imperative."""
    if noun := re.match(VERB_AS_NOUN, text):
        return noun[0]
    first = re.match(r"\S+", text)
    return None if first is None or first[0].rstrip(".,:;") in VERBS else first[0]


def faults_of(path: Path) -> list[str]:
    """Return what a page has too much of, or too little."""
    figures = measured(path.read_text(encoding="utf-8"))
    faults = []
    if figures.words > MOST_WORDS:
        faults.append(f"{figures.words} words; at most {MOST_WORDS}")
    if figures.sentence > LONGEST_SENTENCE:
        faults.append(f"{figures.sentence:.1f} words a sentence; at most {LONGEST_SENTENCE:.0f}")
    if path.parent.name == "tutorials" and figures.ease < LEAST_EASE:
        faults.append(f"reading ease {figures.ease:.0f}; at least {LEAST_EASE:.0f}")
    return faults


def _matches(path: Path, text: str, first: int) -> Iterator[Finding]:
    for pattern, better in PATTERNS.items():
        for found in re.finditer(pattern, text, re.IGNORECASE):
            line = first + text.count("\n", 0, found.start())
            yield Finding(path, line, found[0], better)


def main() -> int:
    """Print the figures of each page and all that is wrong; return the exit code."""
    print(f"{'page':44} words  words/sentence  ease")
    wrong = []
    for path in pages_to_measure():
        figures, name = measured(path.read_text(encoding="utf-8")), str(path.relative_to(ROOT))
        print(f"{name:44} {figures.words:5}  {figures.sentence:14.1f}  {figures.ease:4.0f}")
        wrong += [f"{name}: {fault}" for fault in faults_of(path)]
    wrong += [str(each) for each in findings()]
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
