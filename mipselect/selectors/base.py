"""Base of all selectors: options, their guarantee, and the way to a law and one draw from it.

Those that draw from scores of their own need fewer public bounds than an instance.
"""

from __future__ import annotations

import copy
import random
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput, advised, warn_of_little_use
from mipselect.estimators import PrivateDraw
from mipselect.frames import numeric_vector
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.parameters import estimator, parameter, parameters_of
from mipselect.privacy.guarantee import Guarantee, checked_relation
from mipselect.privacy.randomness import Rng, generator, source_of
from mipselect.problem.data import ExactSums, Rows
from mipselect.problem.instance import Instance
from mipselect.problem.layout import Always, Groups, Layout, laid_out
from mipselect.problem.problem import Problem
from mipselect.search.progress import ProgressCallback
from mipselect.validation import checked_epsilon, checked_integer

LEARNT = ("n_features_in_", "feature_names_in_", "support_", "_sklearn_output_config")
"""Attributes of a selector that scikit-learn's transformer needs."""

OF_GUARANTEE = ("--relation", "--delta")
"""Options that the guarantee records."""


@dataclass(frozen=True)
class ChanceLevel:
    """Answer to whether supports can become likely; public.

    Attributes
    ----------
    near : bool
        True if no data can make a support of any size likely.
    sentence : str
        That in words, or that blocks of rows mostly miss the best support; empty if neither is so.
    """

    near: bool
    sentence: str


@estimator
class PrivateSelector(PrivateDraw):
    """A scikit-learn transformer that keeps the columns of k features, chosen by one private draw.

    It is a method as well: options, which are public, and the way from a problem and its data to
    a law. A subclass declares its options, and has `_mechanism`; with `guarantee`, `bounds`,
    `problem` and `on` it serves tables, stored instances and the command line too, by its `name`.
    `mipselect.selectors.Home` has what reports say of it.

    Attributes
    ----------
    support_ : ndarray of bool, shape (p,)
        True for the columns of the chosen features and those that are always in: all that a model
        on the selection needs. `get_support(indices=True)` gives their numbers.
    release_ : Release
        The chosen features, numbered and named as features, with their guarantee. Its `private`
        is false after a fit with a `random_state`.
    """

    n_features_to_select: int = parameter(
        "int",
        "How many features: the `support_size` of an `Instance`.",
        default=5,
        kw_only=False,
    )
    epsilon: float = parameter("float", "ε > 0 of one draw.", default=1.0, check=checked_epsilon)
    groups: Groups = parameter(
        "sequence or mapping of sequences of columns, optional",
        "Features of several columns, as for `Instance`.",
        default=None,
    )
    always: Always = parameter(
        "sequence of columns, optional",
        "Columns that are in whatever is chosen, as for `Instance`; the mask keeps them.",
        default=None,
    )

    name: ClassVar[str]
    """Name of the method, on the command line and in reports."""

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of one draw, whatever the data are: that of the mechanism."""
        raise self._no_method()

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """Guarantees by neighbouring relation, for all relations that have one."""
        return {self.guarantee.relation: self.guarantee}

    @property
    def sizes(self) -> Sequence[int] | None:
        """Sizes one of which it draws; None where the size is not drawn."""
        return None

    @property
    def bounds(self) -> tuple[str, ...]:
        """The public bounds it needs, by the names of `Instance`."""
        raise self._no_method()

    def problem(self, problem: Problem) -> Problem:
        """Return the problem that is drawn from: the largest size, and no bounds but its own."""
        raise self._no_method()

    def stated(self, problem: Problem) -> dict[str, Guarantee]:
        """Return the guarantees for a problem, which may say more: a ρ; before a row is read.

        Raises
        ------
        InvalidInput
            For public numbers that the method refuses.
        """
        return self.guarantees

    def recorded(self, problem: Problem) -> dict[str, Any]:
        """Return the options that a release records, by their keys in a report; all public."""
        return {}

    def chance_level(self, problem: Problem, n: int) -> ChanceLevel | None:
        """Find from public numbers whether n rows can make a support likely; None if unknown.

        A support S of probability μ(S) without data is drawn with probability 1/(2 - μ(S)) at most,
        by permute-and-flip (1 - e^(μ(S)-1))/(1 - μ(S)), unless R ranges over more than its noise
        2w/ε · ln 1/μ(S), w the oscillation for exact draws and Δ + τ for others. Nothing is known
        of draws from scores of columns, of MCMC, and with weights of features.
        """
        return None

    def on(
        self, instance: Instance, rng: Rng = None, progress: ProgressCallback | None = None
    ) -> Mechanism[Support]:
        """Return the law that is drawn from, on the data of an instance. Nothing is drawn.

        Parameters
        ----------
        instance : Instance
        rng : None, int, random.Random or numpy.random.Generator
            For choices that do not depend on the data and are not part of the law, such as how
            ties are broken. None is the operating system's generator.
        progress : callable, optional
            See `top_supports`.

        Raises
        ------
        InvalidInput, NotCertified, SolverFailure
            From the search and the mechanism.

        Notes
        -----
        NumPy does not warn meanwhile, since a warning would tell about the data. Its state is that
        of the thread: others are not silenced.
        """
        raise self._no_method()

    def _no_method(self) -> InvalidInput:
        return InvalidInput(f"{type(self).__name__} draws from X and y only")

    def _fit(self, X: ArrayLike, y: ArrayLike) -> None:
        from sklearn.utils.validation import _num_samples

        source, _ = source_of(self.random_state)
        mechanism = self._silent_mechanism(X, y, source)
        public_size = self.ledger is None or self.ledger.relation == "replace-one"
        if public_size:
            self._warn_near_chance(_num_samples(X))
        layout = self._layout()
        release = mechanism.release(self.ledger, rng=source)
        chosen = [layout.groups[j] for j in release.support]
        self.support_ = np.zeros(self.n_features_in_, dtype=np.bool_)
        self.support_[[c for part in (*chosen, *layout.always) for c in part]] = True
        names = tuple(layout.feature_names[j] for j in release.support)
        self.release_ = replace(release, feature_names=names)
        self.guarantee_ = release.guarantee

    def mechanism(self, X: ArrayLike, y: ArrayLike) -> Mechanism[Any]:
        """Return the distribution that `fit` draws from. Sensitive; nothing is drawn or charged.

        Takes and raises what `fit` does, but for the ledger.
        """
        return copy.copy(self)._silent_mechanism(X, y, source_of(self.random_state)[0])

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags = TransformerTags()
        return tags

    def get_support(self, indices: bool = False) -> Any:
        """Return the mask of the columns that are kept, or their numbers."""
        return self._mask().get_support(indices)

    def transform(self, X: ArrayLike) -> Any:
        """Return the columns of X that are kept."""
        return self._mask().transform(X)

    def fit_transform(self, X: ArrayLike, y: ArrayLike, **fit_params: Any) -> Any:
        """Draw once, and return the columns of X that are kept."""
        return self.fit(X, y, **fit_params).transform(X)

    def inverse_transform(self, X: ArrayLike) -> Any:
        """Return columns that were kept, with columns of zeros where others were."""
        return self._mask().inverse_transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns that are kept; see scikit-learn's `SelectorMixin`."""
        return self._mask().get_feature_names_out(input_features)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` returns: "default", "pandas" or "polars"."""
        self._sklearn_output_config = (
            self._mask().set_output(transform=transform)._sklearn_output_config
        )
        return self

    def _mask(self) -> Any:
        """Return scikit-learn's transformer of the columns, which messages call by this name."""
        from sklearn.base import BaseEstimator
        from sklearn.feature_selection import SelectorMixin
        from sklearn.utils.validation import check_is_fitted

        def support_mask(mask: Any) -> Any:
            check_is_fitted(mask, "support_")
            return mask.support_

        def names(mask: Any, input_features: Any = None) -> Any:
            check_is_fitted(mask, "support_")
            known = self._names() if input_features is None else input_features
            return SelectorMixin.get_feature_names_out(mask, known)

        def fit(mask: Any, X: object, y: object = None) -> Any:
            return mask

        methods = {"fit": fit, "_get_support_mask": support_mask, "get_feature_names_out": names}
        mask = type(type(self).__name__, (SelectorMixin, BaseEstimator), methods)()
        vars(mask).update({name: value for name, value in vars(self).items() if name in LEARNT})
        return mask

    def _silent_mechanism(
        self, X: ArrayLike, y: ArrayLike, source: random.Random
    ) -> Mechanism[Any]:
        """Check the data and build the distribution without a warning, which would tell about them.

        NumPy's state is that of the thread. `Mechanism.release` is silent of itself.
        """
        self.check()
        with np.errstate(all="ignore"):
            return self._mechanism(*self._validated(X, y), source)

    @abstractmethod
    def _mechanism(self, X: Any, y: Any, source: random.Random) -> Mechanism[Any]:
        """Build the distribution from finite X, shape (n, p), and y, shape (n,).

        `source` is for choices that do not depend on the data and are not part of the law.
        """

    def _validated(self, X: ArrayLike, y: ArrayLike) -> tuple[Any, Any]:
        """Return checked X and y; raise `InvalidInput` if k features cannot be had."""
        table, target = super()._validated(X, y)
        self._check_number(len(self._layout().groups))
        return table, target

    def warn_near_chance(self, problem: Problem, n: int) -> None:
        """Warn with the sentence of the chance level, before anything is charged; n is public."""
        found = self.chance_level(problem, n)
        if found is not None and found.sentence:
            warn_of_little_use(found.sentence)

    def _warn_near_chance(self, n: int) -> None:
        """Warn if a draw from any n rows stays near chance, where that is known; n is public."""

    def _check_number(self, p: int) -> None:
        """Raise `InvalidInput` unless so many of p features can be chosen."""
        checked_integer(self.n_features_to_select, "n_features_to_select", 1, p)

    def _layout(self) -> Layout:
        """Return the columns of every feature, without their bounds."""
        return laid_out(self.n_features_in_, self._names(), groups=self.groups, always=self.always)


@estimator
class RowsSelector(PrivateSelector):
    """A selector that draws from scores or values of its own, computed from rows or their sums."""

    def problem(self, problem: Problem) -> Problem:
        """Return its features and the bounds that are needed, without a loss."""
        self._refuse_weights(problem)
        return problem.needing(self.bounds)

    def recorded(self, problem: Problem) -> dict[str, Any]:
        """Return its options, named as on the command line, but what the guarantee records."""
        known = parameters_of(self).items()
        flags = {name: own.flag for name, own in known if own.flag and own.flag not in OF_GUARANTEE}
        return {
            flag.removeprefix("--").replace("-", "_"): getattr(self, name)
            for name, flag in flags.items()
        }

    def on(
        self, instance: Instance, rng: Rng = None, progress: ProgressCallback | None = None
    ) -> Mechanism[Support]:
        """See `PrivateSelector.on`."""
        if not isinstance(instance, Instance):
            raise self._needs_rows(f"a {type(instance).__name__} has scores of supports")
        return self.law(self.problem(instance.problem), instance.data, rng)

    def law(self, problem: Problem, data: Rows | ExactSums, rng: Rng = None) -> Mechanism[Support]:
        """Compute what is needed from the data, and return the distribution. Nothing is drawn.

        Parameters
        ----------
        problem : Problem
            Without a loss, and with the bounds that are needed.
        data : Rows or ExactSums
            Finite. Rows need not be clipped; sums are enough for some methods.
        rng : None, int, random.Random or numpy.random.Generator
            See `PrivateSelector.on`.

        Raises
        ------
        InvalidInput
            From the mechanism, or if a bound is missing or out of its range.
        """
        self.check()
        self._refuse_weights(problem)
        if isinstance(data, ExactSums) and data.moments.columns.blocks is not None:
            raise self._needs_rows("these data are sums over blocks of rows")
        source, _ = generator(rng)
        with np.errstate(all="ignore"):
            if isinstance(data, Rows):
                return self._of_rows(problem, data, source)
            self.require_sums()
            return self._of_sums(problem, data)

    def require_sums(self) -> None:
        """Raise `InvalidInput` unless it draws from sums over rows too."""
        if type(self)._of_sums is RowsSelector._of_sums:
            raise self._needs_rows("moments are sums and no rows")

    def _needs_rows(self, given: str) -> InvalidInput:
        name = type(self).__name__.removesuffix("Selector")
        return InvalidInput(f"{name} draws from scores of rows, and {given}: give it the rows")

    def _refuse_weights(self, problem: Problem) -> None:
        if problem.weight_bound is not None:
            raise InvalidInput(
                f"{type(self).__name__.removesuffix('Selector')} draws from scores of rows that "
                "all count the same, and the schema has a survey weight: permute-and-flip, "
                "exponential, top-r and mistakes take weights"
            )

    @abstractmethod
    def _of_rows(self, problem: Problem, rows: Rows, source: random.Random) -> Mechanism[Support]:
        """See `law`; `source` is its `rng`."""

    def _of_sums(self, problem: Problem, sums: ExactSums) -> Mechanism[Support]:
        """See `law`; where there is such a law."""
        raise NotImplementedError

    def _mechanism(self, X: Any, y: Any, source: random.Random) -> Mechanism[Any]:
        problem = Problem.of_columns(
            self.n_features_in_,
            self._names(),
            support_size=int(self.n_features_to_select),
            groups=self.groups,
            always=self.always,
            loss=None,
            **self._asked(),
        )
        advice = "give classes as numbers, such as -1 and 1, or use a selector with loss='hinge'"
        with advised(advice):
            target = numeric_vector(y).astype(np.float64)
        return self.law(problem, Rows(problem.layout.ordered(X), target), source)

    def _asked(self) -> dict[str, Any]:
        """Return the public bounds and other arguments; `InvalidInput` if one is missing."""
        return {}


@estimator
class ScoreSelector(RowsSelector):
    """A `RowsSelector` that scores columns, and whose ε can be stated under either relation.

    Columns that are always in are in the mask and change no score.
    """

    bounds: ClassVar[tuple[str, ...]] = ()
    """None: the scores do not depend on the units of the data."""

    relation: str = parameter(
        '{"add-remove", "replace-one"}',
        "What ε is stated under; under the first n is private.",
        default="add-remove",
        flag="--relation",
        check=checked_relation,
    )

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under the relation, without conditions."""
        return Guarantee(checked_epsilon(self.epsilon), relation=self.relation)

    def stated(self, problem: Problem) -> dict[str, Guarantee]:
        """Return the guarantee with ρ, which follows from the number of features."""
        self.check()
        return {self.relation: self._stated(problem.n_features, problem.support_size)}

    @abstractmethod
    def _stated(self, p: int, k: int) -> Guarantee:
        """Return the guarantee of the mechanism on p scores."""
