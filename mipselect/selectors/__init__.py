"""Private feature selection as scikit-learn estimators, each imported when it is first used."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import TYPE_CHECKING, Any

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


class Methods(UserDict[str, "type[PrivateSelector]"]):
    """Selectors by name; a value that is still "module:Class" is imported when it is asked for."""

    def __getitem__(self, name: str) -> type[PrivateSelector]:
        value: Any = self.data[name]
        if isinstance(value, str):
            module, _, kind = value.partition(":")
            value = self.data[name] = getattr(import_module(f"{__name__}.{module}"), kind)
        found: type[PrivateSelector] = value
        return found


_HOMES: dict[str, Any] = {
    "permute-and-flip": "exact_draws:PermuteAndFlipSelector",
    "exponential": "exact_draws:ExponentialSelector",
    "top-r": "searched:TopRSelector",
    "mistakes": "searched:MistakesSelector",
    "sis": "sis:SISSelector",
    "kendall": "kendall:KendallSelector",
    "sample-aggregate": "sample_aggregate:SampleAggregateSelector",
    "mcmc": "mcmc:MCMCSelector",
}
"""Modules and classes of the selectors here, by name. A further selector is a line here."""

BY_NAME = Methods(_HOMES)
"""Selectors by the names of the command line."""

_MODULES = {kind: module for module, _, kind in (home.partition(":") for home in _HOMES.values())}
__all__ = sorted(_MODULES)
__getattr__ = looked_up(__name__, _MODULES)
