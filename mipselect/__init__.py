"""Private variable selection by integer programming.

Names are looked up when they are first used, so that the command line can catch signals
before NumPy and SciPy are loaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mipselect.errors import MipselectError as MipselectError
    from mipselect.errors import NotCertified as NotCertified
    from mipselect.mechanisms import ExponentialMechanism as ExponentialMechanism
    from mipselect.mechanisms import Mistakes as Mistakes
    from mipselect.mechanisms import PermuteAndFlip as PermuteAndFlip
    from mipselect.mechanisms import StableOptimum as StableOptimum
    from mipselect.mechanisms import TopR as TopR
    from mipselect.privacy import Guarantee as Guarantee
    from mipselect.privacy import Ledger as Ledger
    from mipselect.privacy import Release as Release
    from mipselect.problem.block_scores import BlockScores as BlockScores
    from mipselect.problem.instance import Instance as Instance
    from mipselect.problem.problem import Problem as Problem
    from mipselect.problem.stored.files import load_instance as load_instance
    from mipselect.search import MistakeLevels as MistakeLevels
    from mipselect.search import SupportPool as SupportPool
    from mipselect.search import available_solvers as available_solvers
    from mipselect.search import mistake_levels as mistake_levels
    from mipselect.search import top_supports as top_supports
    from mipselect.tables.moments import Moments as Moments

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
}
"""Module of each public name."""

_ROOMS = (
    *("arrays", "backends", "errors", "losses", "mechanisms"),
    *("privacy", "problem", "search", "tables"),
)
"""Modules that `import mipselect` alone gives access to, as attributes."""

__all__ = list(_HOMES)


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
