"""Private feature selection as scikit-learn estimators, each imported when it is first used."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mipselect.documents.markdown import Cited
from mipselect.lookup import looked_up

if TYPE_CHECKING:
    from mipselect.selectors.base import PrivateSelector as PrivateSelector
    from mipselect.selectors.exact_draws import ExponentialSelector as ExponentialSelector
    from mipselect.selectors.exact_draws import PermuteAndFlipSelector as PermuteAndFlipSelector
    from mipselect.selectors.kendall import KendallSelector as KendallSelector
    from mipselect.selectors.mcmc import MCMCSelector as MCMCSelector
    from mipselect.selectors.sample_aggregate import (
        SampleAggregateSelector as SampleAggregateSelector,
    )
    from mipselect.selectors.searched import MistakesSelector as MistakesSelector
    from mipselect.selectors.searched import TopRSelector as TopRSelector
    from mipselect.selectors.sis import SISSelector as SISSelector


class Home:
    """Place of a selector, "module:Class", and what reports say of it without importing it."""

    def __init__(self, place: str, sentence: str, *papers: Cited) -> None:
        self.place, self.sentence, self.papers = place, sentence, papers


class Methods(UserDict[str, "type[PrivateSelector]"]):
    """Selectors by name; one whose value is its `Home` is imported when it is asked for."""

    def __getitem__(self, name: str) -> type[PrivateSelector]:
        value: Any = self.data[name]
        if isinstance(value, Home):
            module, _, kind = value.place.partition(":")
            value = getattr(import_module(f"{__name__}.{module}"), kind)
        found: type[PrivateSelector] = value
        return found


_INTEGER_PROGRAMMING = Cited(
    "Prastakos, Behdin and Mazumder, “Differentially Private High-dimensional Variable Selection "
    "via Integer Programming”, 2025,",
    "arXiv:2510.22062",
)
_HOMES: dict[str, Any] = {
    "permute-and-flip": Home(
        "exact_draws:PermuteAndFlipSelector",
        "permute-and-flip over all supports, drawn exactly",
        Cited("McKenna and Sheldon, “Permute-and-flip”, 2020,", "arXiv:2010.12603"),
    ),
    "exponential": Home(
        "exact_draws:ExponentialSelector",
        "the exponential mechanism over all supports, drawn exactly",
        Cited(
            "McSherry and Talwar, “Mechanism design via differential privacy”, 2007,",
            "doi:10.1109/FOCS.2007.66",
        ),
    ),
    "top-r": Home(
        "searched:TopRSelector",
        "top-R: the exponential mechanism over the proven best supports and, as one class, all "
        "others",
        _INTEGER_PROGRAMMING,
    ),
    "mistakes": Home(
        "searched:MistakesSelector",
        "mistakes: the exponential mechanism over the number of mistakes of a support",
        _INTEGER_PROGRAMMING,
    ),
    "sis": Home(
        "sis:SISSelector",
        "sure independence screening with a private choice of the largest correlations",
        Cited(
            "Swope et al., “Feature Selection from Differentially Private Correlations”, 2024,",
            "arXiv:2408.10862",
        ),
    ),
    "kendall": Home(
        "kendall:KendallSelector",
        "peeling by the exponential mechanism on Kendall rank correlations",
        Cited(
            "Dick, Gillenwater and Joseph, “Better Private Linear Regression Through Better "
            "Private Feature Selection”, 2023,",
            "arXiv:2306.00920",
        ),
    ),
    "sample-aggregate": Home(
        "sample_aggregate:SampleAggregateSelector",
        "sample and aggregate: a private choice among the votes of blocks of rows",
        Cited(
            "Kifer, Smith and Thakurta, “Private convex empirical risk minimization and "
            "high-dimensional regression”, 2012,",
            "PMLR 23:25",
            "https://proceedings.mlr.press/v23/kifer12.html",
        ),
    ),
    "mcmc": Home(
        "mcmc:MCMCSelector",
        "a Metropolis chain whose law is that of the exponential mechanism in the limit",
        Cited(
            "Roy and Tewari, “On the computational complexity of private high-dimensional "
            "model selection via the exponential mechanism”, 2023,",
            "arXiv:2310.07852",
        ),
    ),
}
"""The selectors here, by name. A further selector is a line here."""

BY_NAME = Methods(_HOMES)
"""Selectors by the names of the command line."""

_PLACES = [home.place.split(":") for home in _HOMES.values()]
__getattr__, __all__ = looked_up(__name__, {name: f"{__name__}.{home}" for home, name in _PLACES})
