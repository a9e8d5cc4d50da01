"""scikit-learn's conventions around one private draw: from X and y to checked arrays.

scikit-learn is imported when it is used and not before: importing `sklearn.base` takes ten times as
long as NumPy, and most commands have no use for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from mipselect import frames
from mipselect.errors import InvalidInput, advised, warn_of_little_use
from mipselect.parameters import Check, estimator, parameter, parameters_of
from mipselect.privacy.ledger import Ledger, checked_ledger
from mipselect.validation import checked_feature_names, listed

SCHEMA_READS_IT = (
    "with a schema, which says what categories and ranges a table has (TableSchema.skeleton begins "
    "one), SelectThenRegress.fit_table and Instance.from_table read the table as it is"
)

WEIGHTS = (
    ": all rows count the same. Survey weights are a field of a schema, with a public maximum, for "
    "SelectThenRegress.fit_table and Instance.from_table"
)

LEAVE_OUT = (
    "where the target is missing the row may also be left out before: the guarantee is then about "
    "the rows that are left, and their number counts as public"
)


@estimator
class PrivateEstimator(ABC):
    """An estimator whose `fit` draws something private about X and y and keeps it.

    Attributes
    ----------
    guarantee_ : Guarantee
        Guarantee of the draw.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X had names.
    """

    ledger: Ledger | None = parameter(
        "Ledger, optional",
        "Pays for each fit.",
        default=None,
        check=checked_ledger,
        last=True,
    )

    # Of an instance, where scikit-learn sets them, but no parameters.
    n_features_in_: ClassVar[int]
    feature_names_in_: ClassVar[Any]

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

    def fit(self, X: ArrayLike, y: ArrayLike, **fit_params: Any) -> Self:
        """Draw once.

        Every call draws again and costs the whole guarantee again.

        Parameters
        ----------
        X : array_like of shape (n, p)
            One row per person. Dense, without missing values.
        y : array_like of shape (n,)
        **fit_params
            There are none: `sample_weight` and others are refused.

        Returns
        -------
        self

        Raises
        ------
        InvalidInput
            If a parameter is missing or out of its range.
        BudgetExceeded, RelationMismatch
            From the ledger, before anything is drawn.
        """
        if fit_params:
            raise InvalidInput(
                f"{type(self).__name__}.fit takes X and y, not {listed(list(fit_params))}{WEIGHTS}"
            )
        self.check()
        name: object = getattr(y, "name", None)
        if isinstance(name, str) and name and name in list(getattr(X, "columns", ())):
            warn_of_little_use(
                f"X has a column {name!r}, and y is called so too: a target among the columns "
                f"explains itself; leave it out of X, such as by X.drop(columns={name!r})"
            )
        self._fit(X, y)
        return self

    @abstractmethod
    def _fit(self, X: ArrayLike, y: ArrayLike) -> None:
        """Charge the ledger, draw, and keep the release."""

    def check(self, named: Callable[[str], str] = str) -> Self:
        """Return the estimator; raise `InvalidInput` if a parameter is out of its range.

        Parameters
        ----------
        named : callable
            From the name of a parameter to how a message calls it.
        """
        kept = vars(self)
        for name, about in parameters_of(self).items():
            about.checked(kept[name] if name in kept else getattr(self, name), named(name))
        return self

    def _public(self, *names: str) -> dict[str, Any]:
        """Return public assumptions by name; raise `InvalidInput` if one is missing."""
        known, given = parameters_of(self), {name: getattr(self, name) for name in names}
        missing = [f"{name} ({known[name].assumption})" for name in names if given[name] is None]
        if missing:
            raise InvalidInput(
                f"{type(self).__name__} needs {', '.join(missing)}. These are public assumptions, "
                "chosen without looking at the data: a default that is derived from the data would "
                "leak"
            )
        return given

    def _validated(self, X: ArrayLike, y: ArrayLike) -> tuple[Any, Any]:
        """Return finite X, shape (n, p), and y, shape (n,): numbers, or classes by their names."""
        from sklearn.utils.validation import validate_data

        frames.refuse_lazy(X, "X")
        refuse_repeated_names(X)
        frames.refuse_another_order(X, y)
        y = self._labelled(y)
        refused: InvalidInput | None = None
        self._labels: tuple[str, ...] | None
        try:
            with advised(SCHEMA_READS_IT):
                table, self._labels = frames.numeric_matrix(X)
        except InvalidInput as error:
            # scikit-learn has to speak of what is no table, and of other types of values.
            if _is_table(X) and "a value of type" not in str(error):
                raise
            refused = error
        if y is not None:
            given = frames.plain_array(y, "y")
            with advised(f"{SCHEMA_READS_IT}; {LEAVE_OUT}"):
                if given.dtype.kind in "biuf":
                    frames.numeric_vector(given)
                elif any(value is None or value != value for value in given.ravel()):
                    raise InvalidInput(f"y must be finite: it has missing values; {frames.MISSING}")
        # A warning of an overflowing sum would tell about the data.
        with np.errstate(all="ignore"):
            _, target = validate_data(self, X, y, dtype=[np.float64, np.float32])
        if refused is not None:
            raise refused
        return table, target

    def _labelled(self, y: ArrayLike) -> ArrayLike:
        """Encode the target before it is checked: public classes as -1 and +1, no class as 0."""
        return y

    def _names(self) -> tuple[str, ...]:
        """Return the names of the p columns: those of X, or x0, x1, ..."""
        p, labels = self.n_features_in_, getattr(self, "_labels", None)
        if labels == tuple(map(str, range(p))):
            labels = None  # Nobody gave them.
        names = getattr(self, "feature_names_in_", labels)
        if names is None:
            return tuple(f"x{j}" for j in range(p))
        return checked_feature_names([str(name) for name in names], p)


@estimator
class PrivateDraw(PrivateEstimator):
    """A private estimator that draws once, from a random state of its own."""

    random_state: Any = parameter(
        "None, int or RandomState",
        "None is the operating system's generator. Anything else is for tests and experiments, "
        "and marks the release as not private.",
        default=None,
        last=True,
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


def feature_bounds(more: str = "; see `TopRSelector`. Public; required.") -> Any:
    """Declare `x_bound`, a public assumption."""
    return parameter(
        "float or sequence of float",
        f"Features are clipped to ± this, or to one bound for each of them{more}",
        default=None,
        assumption="features are clipped to ± this",
    )


def target_bound(more: str = "Public; required.", check: Check | None = None) -> Any:
    """Declare `y_bound`, a public assumption."""
    return parameter(
        "float",
        f"The target is clipped to ± this, in its units. {more}",
        default=None,
        check=check,
        assumption="the target is clipped to ± this",
    )


def _is_table(X: Any) -> bool:
    """Return whether X is dense, with rows of one length, and not empty."""
    try:
        shape = () if hasattr(X, "toarray") else np.shape(X)
    except ValueError:  # Its rows have several lengths.
        shape = ()
    return len(shape) == 2 and 0 not in shape


def refuse_repeated_names(X: object) -> None:
    """Raise `InvalidInput` for a frame of which several columns have one name."""
    named: Any = getattr(X, "column_names", None) or getattr(X, "columns", ())
    repeated = [str(name) for name, count in Counter[Any](named).items() if count > 1]
    if repeated:
        raise InvalidInput(f"X: several columns are called {listed(repeated)}; names must differ")
