"""The glossary has one sentence for each word, and words that were given up do not come back."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

GIVEN_UP = {
    *("asked", "asked_of", "charging", "contestants", "drawing", "facts", "gibbs", "held_moments"),
    *("listed_draws", "odds", "persistence", "posed", "prospects", "soft_draws", "taken_or_left"),
    *("ticker", "trial_watch", "watch"),
    *("Additions", "AskedOf", "Blindness", "Centres", "ChildrenBounds", "Completions", "Facts"),
    *("GainBound", "Held", "HeldRows", "HeldSums", "Odds", "Outline", "Persistence", "Posed"),
    "RootCut",
}
"""Names of modules and classes that say nothing to a stranger."""

STILL_THERE = {
    *("facts", "held_moments", "odds", "persistence", "posed"),
    *("Additions", "AskedOf", "Blindness", "Centres", "ChildrenBounds", "Completions", "Facts"),
    *("GainBound", "Held", "HeldRows", "HeldSums", "Odds", "Outline", "Persistence", "Posed"),
    "RootCut",
}
"""Those that the walls they name still need; one that is gone leaves this list."""


def names_of_the_product() -> set[str]:
    """Modules and classes of mipselect."""
    found = set()
    for path in (ROOT / "mipselect").rglob("*.py"):
        found.add(path.stem)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    return found


def test_words_that_were_given_up_do_not_come_back() -> None:
    assert names_of_the_product() & GIVEN_UP == STILL_THERE


def test_the_glossary_has_one_sentence_for_each_word() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\*.+?) \| (.+) \|$", text, re.MULTILINE)
    words = [word for word, _ in rows]
    assert len(rows) >= 40
    assert len(set(words)) == len(words)
    for _, sentence in rows:
        assert sentence.endswith(".")
        assert ". " not in sentence
