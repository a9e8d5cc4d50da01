"""Real tables: their public description, and the public map of every row into features."""

from mipselect.lookup import looked_up

__getattr__, __all__ = looked_up(__name__)
