"""The prose of the manual is measured rightly, and what is measured is within its limits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import prose


@pytest.mark.parametrize("page", prose.pages_to_measure(), ids=lambda page: page.stem)
def test_a_page_is_short_and_plain(page: Path) -> None:
    assert prose.faults_of(page) == []


def test_no_pattern_comes_back() -> None:
    assert [str(each) for each in prose.findings()] == []


@pytest.mark.parametrize(
    ("word", "count"),
    [("table", 2), ("rate", 1), ("be", 1), ("privacy", 3), ("queue", 1), ("7", 1), ("release", 2)],
)
def test_syllables(word: str, count: int) -> None:
    assert prose.syllables_of(word) == count


PAGE = """# A heading of many long words

One two three four. Five [six seven](page.md)
eight `mipselect select`!

    not counted at all

| nor | this |

- an item
- another one. And more

```sh
mipselect select
```

```{figure} picture.svg
:alt: not counted

A caption is a part of a directive.
```
"""


def test_sentences_are_those_of_the_text() -> None:
    found = prose.sentences_of(PAGE)
    plain = [" ".join(each.split()) for each in found]
    assert plain == [
        "One two three four.",
        "Five six seven eight code!",
        "- an item",
        "- another one.",
        "And more",
    ]
    figures = prose.measured(PAGE)
    assert figures.words == len(PAGE.split())
    assert figures.sentence == pytest.approx((4 + 5 + 2 + 2 + 2) / 5)


def test_long_sentences_and_long_pages_are_faults(tmp_path: Path) -> None:
    page = tmp_path / "tutorials" / "long.md"
    page.parent.mkdir()
    page.write_text("considerable " * 1201 + ".")
    words, sentence, ease = prose.faults_of(page)
    assert words.startswith("1202 words")
    assert sentence.startswith("1201.0 words a sentence")
    assert ease.startswith("reading ease -")


def test_findings_name_their_place() -> None:
    text = "Fine.\nThe law is told from n by Whoever asks."
    found = list(prose._matches(prose.ROOT / "page.md", text, 1))
    assert sorted(str(each)[:9] for each in found) == ["page.md:2", "page.md:2"]


MODULE = '''"""Sums of rows."""

from functools import cache, cached_property


class Table:
    """Rows and their sums."""

    width: int
    """{attribute}"""

    @property
    def rows(self):
        """The number of rows."""

    @cached_property
    def sums(self):
        """Sums of the columns."""

    @cache
    def means(self):
        """{docstring}"""

    def silent(self):
        pass
'''


def beginnings(docstring: str, attribute: str = "Number of the columns.") -> list[str]:
    """Return how wrong docstrings begin where a method and a field have these."""
    source = MODULE.replace("{docstring}", docstring).replace("{attribute}", attribute)
    return [each.words for each in prose.findings_in_module(prose.ROOT / "page.py", source)]


@pytest.mark.parametrize(
    ("docstring", "beginning"),
    [
        ("The means.", "The"),
        ("Means, one a column.", "Means,"),
        ("XᵀX in double precision.", "XᵀX"),
        ("Returns the means.", "Returns"),
        ("Count of the rows.", "Count of"),
        ("Bound on the means.", "Bound on"),
        ("How the means are found.", "How"),
    ],
)
def test_a_noun_before_a_function_is_found(docstring: str, beginning: str) -> None:
    assert beginnings(docstring) == [beginning]


@pytest.mark.parametrize("docstring", ["Return the means.", "Round, and add up.", "Divide."])
def test_a_verb_before_a_function_and_a_noun_before_a_property_are_right(docstring: str) -> None:
    assert beginnings(docstring) == []


@pytest.mark.parametrize("attribute", ["Of the columns.", "What is counted.", "Whether so."])
def test_a_field_begins_with_its_noun(attribute: str) -> None:
    assert beginnings("Return the means.", attribute) == [attribute.split()[0]]


ENTRY = """Return the means.

    Parameters
    ----------
    names : sequence of str
        {entry}
    """


@pytest.mark.parametrize(
    ("entry", "wrong"),
    [
        ("Of the columns.", ["Of"]),
        ("Their names. Of these one counts.", ["Of"]),
        ("Names of the columns. One Of them counts.", []),
        ("Names, one a column.", []),
    ],
)
def test_no_sentence_and_no_entry_begins_with_of(entry: str, wrong: list[str]) -> None:
    assert beginnings(ENTRY.replace("{entry}", entry)) == wrong


def test_every_verb_of_the_list_is_used() -> None:
    texts = [path.read_text(encoding="utf-8") for path in prose.modules()]
    used = set(re.findall(r'"""(\w+)', "\n".join(texts)))
    assert used >= prose.VERBS
