"""Exact moments of a table of any length: one pass, any order, any number of machines."""

from mipselect.tables.moments.moments import Moments

__all__ = ["Moments"]
