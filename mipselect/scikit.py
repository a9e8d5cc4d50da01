"""scikit-learn's protocol of estimators, which imports scikit-learn when it is used and not before.

Importing `sklearn.base` takes ten times as long as NumPy, and most commands have no use for it.
"""

from __future__ import annotations

from typing import Any, Self

from mipselect.errors import InvalidInput
from mipselect.parameters import parameters_of


class ScikitEstimator:
    """Parameters, tags and texts of an estimator, as scikit-learn asks for them.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X had names.
    """

    n_features_in_: int
    feature_names_in_: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, and by ``name__inner`` those of estimators among them."""
        own = {name: getattr(self, name) for name in parameters_of(self)}
        if not deep:
            return own
        inner = {
            f"{name}__{key}": value
            for name, part in own.items()
            if hasattr(part, "get_params") and not isinstance(part, type)
            for key, value in part.get_params().items()
        }
        return own | inner

    def set_params(self, **params: Any) -> Self:
        """Set parameters by the names of `get_params`.

        Raises
        ------
        InvalidInput
            For a name that is none.
        """
        known = parameters_of(self)
        of_parts: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            own, _, inner = name.partition("__")
            if own not in known:
                raise InvalidInput(
                    f"Invalid parameter {name!r} for {type(self).__name__}; known: "
                    f"{', '.join(known)}"
                )
            if inner:
                of_parts.setdefault(own, {})[inner] = value
            else:
                setattr(self, own, value)
        for own, values in of_parts.items():
            getattr(self, own).set_params(**values)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None, target_tags=TargetTags(required=False), input_tags=InputTags()
        )

    def __repr__(self) -> str:
        known, given = parameters_of(self), self.get_params(deep=False)
        changed = [
            f"{name}={value!r}"
            for name, value in given.items()
            if not (value is known[name].default or repr(value) == repr(known[name].default))
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        from sklearn.utils import estimator_html_repr

        drawn: str = estimator_html_repr(self)
        return drawn
