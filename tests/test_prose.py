"""The prose of the manual is measured rightly, and what is measured is within its limits."""

from __future__ import annotations

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


def test_a_noun_before_a_public_function_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from mipselect import load_instance

    assert list(prose.findings_in_public_functions()) == []
    monkeypatch.setattr(load_instance, "__doc__", "The stored instance.")
    (found,) = prose.findings_in_public_functions()
    assert found.words == "The"
