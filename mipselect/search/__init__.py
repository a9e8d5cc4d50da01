"""Search for certified supports of an instance. All that it returns is sensitive."""

from typing import TYPE_CHECKING

from mipselect.lookup import looked_up

if TYPE_CHECKING:
    from mipselect.backends.discovery import available_solvers, known_solvers
    from mipselect.backends.protocols import SolverStatus
    from mipselect.search.certificate import Effort, StrategyEffort
    from mipselect.search.levels import mistake_levels
    from mipselect.search.monolithic.formulations import whole_model
    from mipselect.search.options import DEFAULT_TOLERANCE
    from mipselect.search.pool import MistakeLevels, SupportPool
    from mipselect.search.progress import Progress
    from mipselect.search.supports import top_supports

_HOMES = {
    "DEFAULT_TOLERANCE": "options",
    "Effort": "certificate",
    "MistakeLevels": "pool",
    "Progress": "progress",
    "SolverStatus": "mipselect.backends.protocols",
    "StrategyEffort": "certificate",
    "SupportPool": "pool",
    "available_solvers": "mipselect.backends.discovery",
    "known_solvers": "mipselect.backends.discovery",
    "mistake_levels": "levels",
    "top_supports": "supports",
    "whole_model": "monolithic.formulations",
}

__all__ = [
    "DEFAULT_TOLERANCE",
    "Effort",
    "MistakeLevels",
    "Progress",
    "SolverStatus",
    "StrategyEffort",
    "SupportPool",
    "available_solvers",
    "known_solvers",
    "mistake_levels",
    "top_supports",
    "whole_model",
]

__getattr__ = looked_up(__name__, _HOMES)
