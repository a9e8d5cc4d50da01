"""Support sizes on the command line: 1-8, or 1,3,5, or both; and p in words."""

from __future__ import annotations

import re

from mipselect.errors import InvalidInput
from mipselect.problem.problem import Problem
from mipselect.selectors.all_features import AllFeaturesSelector
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import asked_sizes
from mipselect.validation import checked_integer, shown

PART = re.compile(r"\s*([0-9]{1,7})\s*(?:-\s*([0-9]{1,7})\s*)?")
"""One size, or the first and the last of a range; no table has columns for more digits."""


def parse_sizes(text: str) -> tuple[int, ...]:
    """Parse sizes, each once and rising; raise `InvalidInput` if the text has anything else."""
    sizes: set[int] = set()
    for part in text.split(","):
        found = PART.fullmatch(part)
        if found is None:
            raise InvalidInput(f"--sizes must be sizes such as 1-8 or 1,3,5, got {shown(text)}")
        first = int(found[1])
        last = first if found[2] is None else int(found[2])
        if first < 1:
            raise InvalidInput(f"--sizes must be at least 1, got {shown(text)}")
        if last < first:
            raise InvalidInput(f"--sizes: a range rises, {last}-{first} and not {first}-{last}")
        sizes.update(range(first, last + 1))
    return tuple(sorted(sizes))


def check_sizes(method: PrivateSelector, p: int, title: str) -> None:
    """Raise `InvalidInput` if `method` has sizes beyond the p features of what `title` names."""
    if sizes := asked_sizes(method):
        checked_integer(sizes[-1], f"{title}: the largest of --sizes", 1, p)


def of_nothing(method: PrivateSelector, problem: Problem) -> str:
    """Say so of a method that is paid for a draw of all p out of p features; "" of others."""
    if asked_sizes(method) or isinstance(method, AllFeaturesSelector):
        return ""
    if problem.support_size < problem.n_features:
        return ""
    return (
        f"all {problem.n_features:,} features are asked for, so the draw says nothing and costs ε: "
        "ask for fewer, or let 'mipselect fit' make a model of them, at no draw"
    )


def dimension(p: int, n_features: int) -> str:
    """Write p in words: the number of columns, and that of features where it is another."""
    return f"p = {p:,}" if n_features == p else f"p = {p:,} columns, {n_features:,} features"
