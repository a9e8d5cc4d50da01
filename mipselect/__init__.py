"""Private variable selection by integer programming."""

from mipselect.data.files import load_instance
from mipselect.errors import MipselectError, NotCertified
from mipselect.instance import Instance
from mipselect.mechanisms import ExponentialMechanism, Mistakes, TopR
from mipselect.privacy import Guarantee, Ledger, Release
from mipselect.search import (
    MistakeLevels,
    SupportPool,
    available_solvers,
    mistake_levels,
    top_supports,
)

__all__ = [
    "ExponentialMechanism",
    "Guarantee",
    "Instance",
    "Ledger",
    "MipselectError",
    "MistakeLevels",
    "Mistakes",
    "NotCertified",
    "Release",
    "SupportPool",
    "TopR",
    "available_solvers",
    "load_instance",
    "mistake_levels",
    "top_supports",
]
