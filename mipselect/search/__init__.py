"""Search for certified supports of an instance. All that it returns is sensitive."""

from mipselect.lookup import looked_up

__getattr__, __all__ = looked_up(__name__)
