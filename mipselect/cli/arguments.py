"""Methods from the options of the command line: which a method knows, as its parameters say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from mipselect.cli.declared import given
from mipselect.cli.options import (
    MethodOptions,
    option_named,
    parse_pool_size,
    parse_sizes,
)
from mipselect.errors import InvalidInput
from mipselect.parameters import parameters_of
from mipselect.selectors import BY_NAME, MistakesSelector
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import asked_sizes
from mipselect.selectors.scored import ScoreSelector
from mipselect.validation import checked_integer, checked_positive

if TYPE_CHECKING:
    from mipselect.privacy import Ledger


def check_sizes(method: PrivateSelector, p: int, title: str) -> None:
    """Raise `InvalidInput` if `method` has sizes beyond the p features of what `title` names."""
    if sizes := asked_sizes(method):
        checked_integer(sizes[-1], f"{title}: the largest of --sizes", 1, p)


PARSED: Mapping[str, Callable[[str], Any]] = {
    "--sizes": parse_sizes,
    "--pool-size": parse_pool_size,
}
"""Options whose text stands for something else."""


def method_asked_for(name: str, epsilon: float, options: MethodOptions) -> PrivateSelector:
    """Make a method; raise `InvalidInput`, naming the option, for what is wrong or not its own."""
    checked_positive(epsilon, "--epsilon")
    options.search.settings()
    kind, chosen = BY_NAME[name], given(options)
    flags = flags_of(kind)
    for option in chosen:
        if option not in flags:
            others = [other for other, it in BY_NAME.items() if option in flags_of(it)]
            raise InvalidInput(
                f"{option} does not apply to --method {name}, but to {', '.join(others)}"
            )
    _require_sense(kind, chosen)
    values = {
        flags[option]: PARSED[option](value) if option in PARSED else value
        for option, value in chosen.items()
    }
    if issubclass(kind, ScoreSelector):
        # An instance's number of rows is public unless it is said to be private.
        values.setdefault("relation", "replace-one")
    named = {field: option for option, field in flags.items()}
    method: PrivateSelector = kind(epsilon=epsilon, **values)
    return method.check(lambda field: named.get(field, field))


def flags_of(kind: type[PrivateSelector]) -> dict[str, str]:
    """Return the names of those parameters of a method that are options, by their option."""
    known = parameters_of(kind).items()
    return {about.flag: name for name, about in known if about.flag is not None}


def _require_sense(kind: type[PrivateSelector], chosen: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for an option that nothing would come of beside the others."""
    no_pool = issubclass(kind, MistakesSelector) and "--test-epsilon" not in chosen
    if no_pool and "--pool-size" in chosen:
        raise InvalidInput(
            "--pool-size (without --test-epsilon) does not apply to --method mistakes"
        )
    one_size = "--sizes" not in chosen or len(parse_sizes(chosen["--sizes"])) == 1
    if "--complexity" in chosen and one_size:
        raise InvalidInput("--complexity is for a choice between sizes: give --sizes, such as 1-8")


def refuse_bounds(bounds: Collection[str], method: PrivateSelector, called: str) -> None:
    """Raise `InvalidInput` for a bound that a method does not know."""
    for name in bounds:
        if name not in method.bounds:
            by_radius = "--mcmc-radius" in flags_of(type(method)) and name != "ridge"
            why = " beside --mcmc-radius" if by_radius else ""
            raise InvalidInput(f"{option_named(name)} does not apply to --method {called}{why}")


def default_method(ledger: Ledger | None) -> str:
    """Choose permute-and-flip, or the exponential mechanism where ρ is counted: it costs less ρ."""
    if ledger is not None and ledger.currency == "rho":
        return "exponential"
    return "permute-and-flip"
