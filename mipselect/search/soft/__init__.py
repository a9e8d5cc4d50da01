"""Soft branch and bound: cells of supports whose weights are bounded and easy to draw from."""

from mipselect.search.soft.cells import LogWeight
from mipselect.search.soft.partition import Partition
from mipselect.search.soft.spaces import space_of
from mipselect.search.soft.totals import LargestWeight, Totals

__all__ = ["LargestWeight", "LogWeight", "Partition", "Totals", "space_of"]
