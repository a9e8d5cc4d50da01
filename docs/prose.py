"""Find pages that are too long, and those whose sentences are: see `make lint`.

Code, tables, headings and formulas are left out of sentences; `code` in a sentence is one word. A
sentence ends with . ! or ?, or with its paragraph or item of a list.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
MOST_WORDS, LONGEST_SENTENCE = 1_200, 18.0


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


def faults() -> Iterator[str]:
    """Yield all that is too long, with its page."""
    for path in limited_pages():
        text = path.read_text(encoding="utf-8")
        yield from (f"{path.relative_to(ROOT)}: {each}" for each in lengths_of(text))


def main() -> int:
    """Print all that is wrong; return the exit code."""
    wrong = list(faults())
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
