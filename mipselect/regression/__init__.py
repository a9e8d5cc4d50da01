"""Private linear models as scikit-learn estimators, each imported when it is first used."""

from mipselect.lookup import looked_up

__getattr__, __all__ = looked_up(__name__)
