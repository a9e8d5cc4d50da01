"""Guarantees, ledgers, releases and exact draws; knows no data."""

from mipselect.lookup import looked_up

__getattr__, __all__ = looked_up(__name__)
