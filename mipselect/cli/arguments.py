"""From the options of the command line to a method: which options it knows, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

from mipselect.cli.options import (
    AUTO,
    MethodKind,
    about,
    refuse,
    require_positive,
    search_options,
)
from mipselect.cli.sizes import parse_sizes
from mipselect.errors import InvalidInput
from mipselect.methods import (
    ExponentialMethod,
    KendallMethod,
    MCMCMethod,
    MistakesMethod,
    PrivateMethod,
    SampleAggregateMethod,
    SearchSettings,
    SISMethod,
    TopRMethod,
    correlations,
    sample_aggregate,
)
from mipselect.privacy.guarantee import RELATIONS
from mipselect.validation import checked_choice, checked_integer, checked_scale, checked_share


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """Values given for single methods, by the names of the options; None where none was given."""

    sizes: str | None = None
    complexity: float | None = None
    test_epsilon: float | None = None
    delta: float | None = None
    relation: str | None = None
    top_k: str | None = None
    alpha: float | None = None
    blocks: int | None = None
    mcmc_steps: int | None = None
    mcmc_radius: float | None = None
    pool_size: str | None = None
    solver: str | None = None
    tolerance: float | None = None
    time_limit: float | None = None

    def search(self) -> SearchSettings:
        """Those of a search, checked."""
        return search_options(
            pool_size=self.pool_size,
            solver=AUTO if self.solver is None else self.solver,
            tolerance=self.tolerance,
            time_limit=self.time_limit,
        )

    def of_scores(self, top_k: Collection[str]) -> dict[str, Any]:
        """The relation and what selects from scores, of those in `top_k`; only what was given."""
        if self.relation is not None:
            checked_choice(self.relation, "--relation", RELATIONS)
        if self.top_k is not None:
            checked_choice(self.top_k, "--top-k", top_k)
        return _stated(relation=self.relation, top_k=self.top_k)


@dataclass(frozen=True)
class _Kind:
    """One method: the fields of `MethodOptions` that it knows, and how it is built."""

    knows: tuple[str, ...]
    build: Callable[[float, MethodOptions], PrivateMethod]


def method_asked_for(name: MethodKind, epsilon: float, options: MethodOptions) -> PrivateMethod:
    """Build a method; raise `InvalidInput`, naming the option, for what is wrong or not its own."""
    require_positive("--epsilon", epsilon)
    options.search()
    kind = KINDS[name]
    for given in fields(options):
        value = getattr(options, given.name)
        if value is not None and given.name not in kind.knows:
            others = [other.value for other, it in KINDS.items() if given.name in it.knows]
            raise InvalidInput(
                f"{option_named(given.name)} does not apply to --method {name.value}, but to "
                f"{', '.join(others)}"
            )
    return kind.build(epsilon, options)


def option_named(field: str) -> str:
    """--top-k for top_k."""
    return "--" + field.replace("_", "-")


def _exponential(epsilon: float, options: MethodOptions) -> PrivateMethod:
    sizes = None if options.sizes is None else parse_sizes(options.sizes)
    limit = options.search().time_limit
    if options.complexity is None:
        return ExponentialMethod(epsilon=epsilon, sizes=sizes, time_limit=limit)
    if sizes is None or len(sizes) == 1:
        raise InvalidInput("--complexity is for a choice between sizes: give --sizes, such as 1-8")
    with about("--complexity"):
        return ExponentialMethod(
            epsilon=epsilon, sizes=sizes, complexity=options.complexity, time_limit=limit
        )


def _top_r(epsilon: float, options: MethodOptions) -> PrivateMethod:
    return TopRMethod(epsilon=epsilon, search=options.search())


def _mistakes(epsilon: float, options: MethodOptions) -> PrivateMethod:
    test_epsilon, delta = options.test_epsilon, options.delta
    if test_epsilon is None and delta is None:
        refuse(MethodKind.MISTAKES, {"--pool-size (without --test-epsilon)": options.pool_size})
    elif test_epsilon is None or delta is None:
        raise InvalidInput("--test-epsilon and --delta belong together: give both or neither")
    else:
        require_positive("--test-epsilon", test_epsilon)
        if not 0.0 < delta < 0.5:
            raise InvalidInput(f"--delta must lie strictly between 0 and 1/2, got {delta}")
    return MistakesMethod(
        epsilon=epsilon, test_epsilon=test_epsilon, delta=delta, search=options.search()
    )


def _sis(epsilon: float, options: MethodOptions) -> PrivateMethod:
    return SISMethod(epsilon=epsilon, **options.of_scores(correlations.MECHANISMS))


def _kendall(epsilon: float, options: MethodOptions) -> PrivateMethod:
    return KendallMethod(epsilon=epsilon, **options.of_scores(()))


def _sample_aggregate(epsilon: float, options: MethodOptions) -> PrivateMethod:
    if options.alpha is not None:
        require_positive("--alpha", options.alpha)
    if options.blocks is not None:
        checked_integer(options.blocks, "--blocks", 1)
    return SampleAggregateMethod(
        epsilon=epsilon,
        alpha=options.alpha,
        n_blocks=options.blocks,
        **options.of_scores(sample_aggregate.MECHANISMS),
    )


def _mcmc(epsilon: float, options: MethodOptions) -> PrivateMethod:
    if options.delta is not None:
        checked_share(options.delta, "--delta", closed=False)
    if options.mcmc_steps is not None:
        checked_integer(options.mcmc_steps, "--mcmc-steps", 1)
    if options.mcmc_radius is not None:
        checked_scale(options.mcmc_radius, "--mcmc-radius")
    stated = _stated(delta=options.delta, n_steps=options.mcmc_steps, radius=options.mcmc_radius)
    return MCMCMethod(epsilon=epsilon, **stated)


def _stated(**values: Any) -> dict[str, Any]:
    """Return the values that were given; for the rest the defaults are those of the method."""
    return {name: value for name, value in values.items() if value is not None}


KINDS: Mapping[MethodKind, _Kind] = {
    MethodKind.EXPONENTIAL: _Kind(("sizes", "complexity", "time_limit"), _exponential),
    MethodKind.TOP_R: _Kind(("pool_size", "solver", "tolerance", "time_limit"), _top_r),
    MethodKind.MISTAKES: _Kind(
        ("test_epsilon", "delta", "pool_size", "solver", "tolerance", "time_limit"), _mistakes
    ),
    MethodKind.SIS: _Kind(("top_k", "relation"), _sis),
    MethodKind.KENDALL: _Kind(("relation",), _kendall),
    MethodKind.SAMPLE_AGGREGATE: _Kind(("alpha", "blocks", "top_k", "relation"), _sample_aggregate),
    MethodKind.MCMC: _Kind(("delta", "mcmc_steps", "mcmc_radius"), _mcmc),
}
"""A further method is a line here and a name in `Method`."""
