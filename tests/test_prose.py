"""The prose of the manual is measured rightly, and what is measured is within its limits."""

from __future__ import annotations

import prose


def test_nothing_is_wrong() -> None:
    assert list(prose.faults()) == []


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
    plain = [" ".join(each.split()) for each in prose.sentences_of(PAGE)]
    assert plain == [
        "One two three four.",
        "Five six seven eight code!",
        "- an item",
        "- another one.",
        "And more",
    ]


def test_long_sentences_and_long_pages_are_faults() -> None:
    assert list(prose.lengths_of(PAGE)) == []
    words, sentence = prose.lengths_of("considerable " * 1201 + ".")
    assert words.startswith("1202 words")
    assert sentence.startswith("1201.0 words a sentence")
