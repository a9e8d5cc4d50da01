"""Private variable selection by integer programming.

Names are looked up when they are first used, so that the command line can catch signals
before NumPy and SciPy are loaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mipselect.lookup import looked_up

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
    from mipselect.problem.stored import load_instance as load_instance
    from mipselect.search import MistakeLevels as MistakeLevels
    from mipselect.search import SupportPool as SupportPool
    from mipselect.search import available_solvers as available_solvers
    from mipselect.search import mistake_levels as mistake_levels
    from mipselect.search import top_supports as top_supports
    from mipselect.search import whole_model as whole_model
    from mipselect.tables.moments import Moments as Moments

    __version__: str

_HOMES = {
    "BlockScores": "problem.block_scores",
    "ExponentialMechanism": "mechanisms",
    "Guarantee": "privacy",
    "Instance": "problem.instance",
    "Ledger": "privacy",
    "MipselectError": "errors",
    "MistakeLevels": "search",
    "Mistakes": "mechanisms",
    "Moments": "tables.moments",
    "NotCertified": "errors",
    "PermuteAndFlip": "mechanisms",
    "Problem": "problem.problem",
    "Release": "privacy",
    "StableOptimum": "mechanisms",
    "SupportPool": "search",
    "TopR": "mechanisms",
    "available_solvers": "search",
    "load_instance": "problem.stored",
    "mistake_levels": "search",
    "top_supports": "search",
    "whole_model": "search",
}
"""Module of each public name."""

_ROOMS = (
    *("arrays", "backends", "errors", "losses", "mechanisms"),
    *("privacy", "problem", "search", "tables"),
)
"""Modules that `import mipselect` alone gives access to, as attributes."""

__all__ = list(_HOMES)


_of_home = looked_up(__name__, _HOMES)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version("mipselect")
    return import_module(f"mipselect.{name}") if name in _ROOMS else _of_home(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS, "__version__"})
