"""Private variable selection by integer programming.

Names are looked up when they are first used, so that the command line can catch signals
before NumPy and SciPy are loaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mipselect.errors import MipselectError, NotCertified
    from mipselect.mechanisms import (
        ExponentialMechanism,
        Mistakes,
        PermuteAndFlip,
        StableOptimum,
        TopR,
    )
    from mipselect.privacy import Guarantee, Ledger, Release
    from mipselect.problem.block_scores import BlockScores
    from mipselect.problem.instance import Instance
    from mipselect.problem.problem import Problem
    from mipselect.problem.stored.files import load_instance
    from mipselect.search import (
        MistakeLevels,
        SupportPool,
        available_solvers,
        mistake_levels,
        top_supports,
        whole_model,
    )
    from mipselect.tables.moments import Moments

    __version__: str

_HOMES = {
    "BlockScores": "mipselect.problem.block_scores",
    "ExponentialMechanism": "mipselect.mechanisms",
    "Guarantee": "mipselect.privacy",
    "Instance": "mipselect.problem.instance",
    "Ledger": "mipselect.privacy",
    "MipselectError": "mipselect.errors",
    "MistakeLevels": "mipselect.search",
    "Mistakes": "mipselect.mechanisms",
    "Moments": "mipselect.tables.moments",
    "NotCertified": "mipselect.errors",
    "PermuteAndFlip": "mipselect.mechanisms",
    "Problem": "mipselect.problem.problem",
    "Release": "mipselect.privacy",
    "StableOptimum": "mipselect.mechanisms",
    "SupportPool": "mipselect.search",
    "TopR": "mipselect.mechanisms",
    "available_solvers": "mipselect.search",
    "load_instance": "mipselect.problem.stored.files",
    "mistake_levels": "mipselect.search",
    "top_supports": "mipselect.search",
    "whole_model": "mipselect.search",
}
"""Module of each public name."""

_ROOMS = (
    *("arrays", "backends", "errors", "losses", "mechanisms"),
    *("privacy", "problem", "search", "tables"),
)
"""Modules that `import mipselect` alone gives access to, as attributes."""

__all__ = [
    "BlockScores",
    "ExponentialMechanism",
    "Guarantee",
    "Instance",
    "Ledger",
    "MipselectError",
    "MistakeLevels",
    "Mistakes",
    "Moments",
    "NotCertified",
    "PermuteAndFlip",
    "Problem",
    "Release",
    "StableOptimum",
    "SupportPool",
    "TopR",
    "available_solvers",
    "load_instance",
    "mistake_levels",
    "top_supports",
    "whole_model",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version("mipselect")
    if name in _ROOMS:
        return import_module(f"mipselect.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'mipselect' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS, "__version__"})
