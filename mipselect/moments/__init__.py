"""Exact moments of a table of any length: one pass, any order, any number of machines."""

from mipselect.moments.counting import Counting
from mipselect.moments.moments import Moments

__all__ = ["Counting", "Moments"]
