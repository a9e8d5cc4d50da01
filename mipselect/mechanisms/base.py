"""Interfaces of a law and of a mechanism, and the order of events in a release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.ledger import Ledger, checked_ledger, paid
from mipselect.privacy.randomness import Rng, generator
from mipselect.privacy.release import Release

Support = tuple[int, ...]
Outcome = TypeVar("Outcome", bound=int | Support)


class Distribution(ABC, Generic[Outcome]):
    """A law that can be drawn from and whose probabilities are known, as an audit needs it.

    Examples
    --------
    >>> from mipselect.mechanisms import Distribution, HeterogeneousNoisyMax, NoisyMax
    >>> law = HeterogeneousNoisyMax([1.0, 0.0], [1.0, 0.1], 1.0)
    >>> isinstance(law, Distribution), hasattr(law, "release")
    (True, False)
    >>> round(NoisyMax([1.0, 0.0], 1.0, noise="gumbel").log_probability(0), 6)
    -0.474077
    """

    @abstractmethod
    def sample(self, rng: Rng = None) -> Outcome:
        """Draw an outcome. See `Mechanism.sample`."""

    @abstractmethod
    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log of the probability that `sample` returns `outcome`. Sensitive.

        Raises
        ------
        InvalidInput
            If `sample` never returns anything like `outcome`.
        """


class Mechanism(ABC, Generic[Outcome]):
    """A law with a guarantee, to draw from. Outcomes are one index or several.

    Examples
    --------
    >>> from mipselect import Ledger
    >>> from mipselect.mechanisms import Mechanism, NoisyMax
    >>> ledger = Ledger(1.0)
    >>> draw = NoisyMax([3.0, 1.0, 2.0], 0.25)
    >>> isinstance(draw, Mechanism), draw.guarantee.epsilon
    (True, 0.25)
    >>> draw.release(ledger).guarantee.epsilon, ledger.remaining.epsilon
    (0.25, 0.75)
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the mechanism in a release."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Guarantee of one draw."""

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """Guarantees of one draw, by neighbouring relation, for all relations with a stated one."""
        return {self.guarantee.relation: self.guarantee}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all indices; empty for items without names."""
        return ()

    @abstractmethod
    def sample(self, rng: Rng = None) -> Outcome:
        """Draw an outcome.

        Every draw costs the whole guarantee; `release` charges the ledger.

        Parameters
        ----------
        rng : None, int, random.Random or numpy.random.Generator
            None is the operating system's generator; anything else is not private.
        """

    def prepare(self) -> None:
        """Do what every draw needs, or refuse, before anything is paid for or drawn."""

    def release(self, ledger: Ledger | None = None, *, rng: Rng = None) -> Release:
        """Prepare, charge the ledger, under its own relation if the draw states it, then draw.

        Parameters
        ----------
        ledger : Ledger, optional
            Pays for the draw.
        rng : None, int, random.Random or numpy.random.Generator
            As for `sample`; the release says whether it is private.

        Raises
        ------
        BudgetExceeded, RelationMismatch
            From the ledger, before anything is drawn.
        InvalidInput
            If `ledger` is something else.
        """
        checked_ledger(ledger)
        source, private = generator(rng)
        stated = self.guarantee
        if ledger is not None:
            stated = self.guarantees.get(ledger.relation, stated)
        stated = replace(stated, private=private)
        self.prepare()
        # A warning would tell about the data. NumPy's state is that of the thread, not global.
        with paid(ledger, stated, self.name), np.errstate(all="ignore"):
            outcome = self.sample(source)
        chosen = (outcome,) if isinstance(outcome, int) else outcome
        names = self.feature_names
        named = tuple(names[j] for j in chosen) if names else ()
        return Release(chosen, named, stated, self.name, private)


class SupportMechanism(Distribution[Support], Mechanism[Support]):
    """A known law over the supports of s out of p features, with its guarantee.

    An outcome is s sorted column indices; `log_probability` takes them in any order.

    Examples
    --------
    >>> from mipselect import ExponentialMechanism, load_instance
    >>> from mipselect.mechanisms import SupportMechanism
    >>> draw = ExponentialMechanism(load_instance("tiny-plain"), 1.0)
    >>> isinstance(draw, SupportMechanism), draw.feature_names[:2]
    (True, ('x0', 'x1'))
    """

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """The p names."""
