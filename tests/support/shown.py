"""Blocks of a page of the manual: what is run, and whether what it shows is what was printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

DRAWN = " ~"
"""Ends a line that is drawn: its numbers and names differ from run to run."""
BORDERS = re.compile(r"[━─]+")
NUMBERS = re.compile(r"\b[0-9a-f]{64}\b|[-+]?(?:∞|\d+(?:[.,]\d+)*(?:e[-+]?\d+)?(?:T[\d:]+Z)?)")
QUALITY = re.compile(r"^[A-Z][a-z ]*than predicting the mean: .*")
"""A drawn verdict on a model, which is another sentence in an unlucky draw."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes
    ----------
    kind : str
        "sh", "python" or "text".
    text : str
    shown : str or None
        The block of kind "text" that follows: what it prints.
    """

    kind: str
    text: str
    shown: str | None


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page that can be run, in their order."""
    found = re.findall(r"^```(sh|python|text)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    after = [*found[1:], ("", "")][: len(found)]
    return [
        Block(kind, text, following[1] if following[0] == "text" else None)
        for (kind, text), following in zip(found, after, strict=True)
        if kind != "text"
    ]


def commands_of(text: str) -> list[list[str]]:
    """Return the words of each `mipselect` command in a block of the shell."""
    lines = text.replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [command[1:] for command in words if command[:1] == ["mipselect"]]


def first_difference(shown: str, printed: str, names: Sequence[str]) -> str:
    """Return the first line shown that was not printed where it is shown; "" if there is none.

    A line `...` stands for any lines. Numbers and names of fields may differ in a line that ends
    with `~`.
    """
    lines, place, anywhere = printed.splitlines(), 0, False
    for line in shown.splitlines():
        if line == "...":
            anywhere = True
            continue
        rest = lines[place:] if anywhere else lines[place : place + 1]
        matching = (k for k, each in enumerate(rest) if _agree(line, each, names))
        found = next(matching, None)
        if found is None:
            return line
        place, anywhere = place + found + 1, False
    return "" if anywhere or not any(lines[place:]) else lines[place]


def _agree(shown: str, printed: str, names: Sequence[str]) -> bool:
    if not shown.endswith(DRAWN):
        return _plain(shown) == _plain(printed)
    return _without_values(shown.removesuffix(DRAWN), names) == _without_values(printed, names)


def _plain(line: str) -> str:
    return " ".join(BORDERS.sub("━", line).split())


def _without_values(line: str, names: Sequence[str]) -> str:
    fields = r"\b(?:" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")\b"
    named = QUALITY.sub("QUALITY", re.sub(fields, "NAME", line) if names else line)
    return _plain(NUMBERS.sub("0", named).replace("+", "").replace("-", ""))
