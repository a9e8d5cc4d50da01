"""Distributions over supports, items and rankings, each with its guarantee."""

from mipselect.lookup import looked_up

__getattr__, __all__ = looked_up(__name__)
