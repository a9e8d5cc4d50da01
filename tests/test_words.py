"""The glossary has one sentence for each word, and a class has a name of its own."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]

FILES = sorted((ROOT / "mipselect").rglob("*.py"))


@cache
def classes_of_the_product() -> Counter[str]:
    """How many classes of mipselect have a name."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in FILES]
    nodes = (node for tree in trees for node in ast.walk(tree))
    return Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))


def test_no_two_classes_have_one_name() -> None:
    assert not [name for name, count in classes_of_the_product().items() if count > 1]


def test_the_glossary_has_one_sentence_for_each_word() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\*.+?) \| (.+) \|$", text, re.MULTILINE)
    words = [word for word, _ in rows]
    assert len(rows) >= 40
    assert len(set(words)) == len(words)
    for _, sentence in rows:
        assert sentence.endswith(".")
        assert ". " not in sentence
