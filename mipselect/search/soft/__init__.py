"""Soft branch and bound: cells of supports whose weights are bounded and easy to draw from."""

from mipselect.search.soft.partition import LargestWeight, LogWeight, Partition
from mipselect.search.soft.spaces import space_of

__all__ = ["LargestWeight", "LogWeight", "Partition", "space_of"]
