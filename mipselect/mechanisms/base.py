"""What every mechanism that selects a support offers, and the order of events in a release."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput
from mipselect.losses.base import FloatArray
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.ledger import Ledger
from mipselect.privacy.randomness import Rng, generator
from mipselect.privacy.release import Release

Support = tuple[int, ...]


class SupportMechanism(ABC):
    """A distribution over the supports of s out of p features, and what it promises."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the mechanism is called in a release."""

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """The p names."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one draw promises."""

    @abstractmethod
    def sample(self, rng: Rng = None) -> Support:
        """Draw a support: s sorted column indices.

        Every draw costs the whole guarantee; `release` keeps the books.

        Parameters
        ----------
        rng : None, int, random.Random or numpy.random.Generator
            None is the operating system's generator; anything else is not private.
        """

    @abstractmethod
    def log_probability(self, outcome: ArrayLike) -> float:
        """Log of the probability that `sample` returns `outcome`. Sensitive.

        Parameters
        ----------
        outcome : array_like of int, shape (s,)
            Distinct 0-based column indices, in any order.

        Raises
        ------
        InvalidInput
            If `outcome` is not a support.
        """

    def release(self, ledger: Ledger | None = None, *, rng: Rng = None) -> Release:
        """Charge the ledger, then draw.

        Parameters
        ----------
        ledger : Ledger, optional
            Pays for the draw.
        rng : None, int, random.Random or numpy.random.Generator
            None is the operating system's generator; with anything else the release says that
            it is not private.

        Raises
        ------
        BudgetExceeded, RelationMismatch
            From the ledger, before anything is drawn.
        """
        source, private = generator(rng)
        guarantee = self.guarantee
        if ledger is not None:
            ledger.spend(guarantee, what=self.name)
        support = self.sample(source)
        names = tuple(self.feature_names[j] for j in support)
        return Release(support, names, guarantee, self.name, private)


def checked_support(outcome: ArrayLike, size: int, n_features: int) -> Support:
    """Sort `outcome`; raise `InvalidInput` unless it is `size` distinct indices below p."""
    indices = np.asarray(outcome)
    if indices.shape != (size,) or indices.dtype.kind not in "iu":
        raise InvalidInput(f"a support is {size} integer column indices, got {outcome!r}")
    support = tuple(sorted(indices.tolist()))
    if support[0] < 0 or support[-1] >= n_features or len(set(support)) < size:
        raise InvalidInput(
            f"a support is {size} distinct column indices in 0..{n_features - 1}, got "
            f"{indices.tolist()}"
        )
    return support


def checked_epsilon(epsilon: float, what: str = "epsilon") -> float:
    """Return a finite ε > 0, or raise `InvalidInput`."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real):
        raise InvalidInput(f"{what} must be a finite number > 0, got {epsilon!r}")
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        raise InvalidInput(f"{what} must be a finite number > 0, got {epsilon}")
    return float(epsilon)


def score_log_weights(values: FloatArray, epsilon: float, sensitivity: float) -> FloatArray:
    """-ε (R - R[0]) / 2Δ of every value: log weights of the exponential mechanism.

    They are relative to the first value, for R itself may be large against Δ.
    """
    with np.errstate(over="ignore"):
        logs: FloatArray = -epsilon * ((values - values[0]) / (2.0 * sensitivity))
    return logs
