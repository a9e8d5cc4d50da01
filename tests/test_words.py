"""The glossary has one sentence for each word."""

from __future__ import annotations

import re
from pathlib import Path


def test_the_glossary_has_one_sentence_for_each_word() -> None:
    page = Path(__file__).parents[1] / "docs" / "glossary.md"
    rows = re.findall(r"^\| (\*.+?) \| (.+) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    words = [word for word, _ in rows]
    assert len(rows) >= 40
    assert len(set(words)) == len(words)
    for _, sentence in rows:
        assert sentence.endswith(".")
        assert ". " not in sentence
