"""Distributions over supports, each with its guarantee."""

from mipselect.mechanisms.base import SupportMechanism
from mipselect.mechanisms.exponential import ExponentialMechanism
from mipselect.mechanisms.mistakes import Mistakes
from mipselect.mechanisms.top_r import TopR

__all__ = ["ExponentialMechanism", "Mistakes", "SupportMechanism", "TopR"]
