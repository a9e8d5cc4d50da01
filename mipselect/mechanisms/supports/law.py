"""Weights of supports: their sizes, their prior, and the exact rate.

w_S = μ(S) exp(-c R(S)),   μ(S) = p^{-a|S|} Π_{j∈S} ω_j / e_{|S|}(ω)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.search.soft.polynomials import subset_law

EPS = float(np.finfo(np.float64).eps)

MOST_ROWS = 2**31
"""Rows up to which draws pay for rounding under add-remove too; N. No sums are of more."""


@dataclass(frozen=True, eq=False)
class Prior:
    """The sizes that may be drawn, and the base measure μ; public.

    Attributes
    ----------
    sizes : tuple of int
        Rising.
    log_sizes : dict of int to float
        log μ by size, without the factors of the features.
    log_features : ndarray of shape (p,)
        log ω.
    """

    sizes: tuple[int, ...]
    log_sizes: dict[int, float]
    log_features: FloatArray

    @property
    def span(self) -> float:
        """No |log μ| is larger, nor any sum on the way to one."""
        sizes = max(abs(log) for log in self.log_sizes.values())
        return sizes + self.sizes[-1] * float(np.abs(self.log_features).max())


def complexity_prior(
    p: int, sizes: Sequence[int], complexity: float, weights: ArrayLike | None
) -> Prior:
    """Make μ(S) = p^{-a|S|} Π ω_j / e_{|S|}(ω); with ω = 1 this is p^{-a|S|} / C(p, |S|).

    References
    ----------
    Castillo, Schmidt-Hieber and van der Vaart, "Bayesian linear regression with sparse priors",
    2015, section 2.1.
    """
    logs = np.zeros(p) if weights is None else np.log(_checked_weights(weights, p))
    of_sizes = {}
    for size in sizes:
        # Equal weights leave nothing to choose with a single size, and log C is exact enough.
        total = _log_comb(p, size) if weights is None else subset_law(logs, size).log_total
        of_sizes[size] = -complexity * size * math.log(p) - total
    top = max(of_sizes.values())
    return Prior(tuple(sizes), {size: log - top for size, log in of_sizes.items()}, logs)


def checked_sizes(
    sizes: Iterable[int] | None, asked: Problem | Instance | BlockScores
) -> tuple[int, ...]:
    """Return the sizes as a rising tuple, the problem's own if none are given."""
    if sizes is None:
        return (asked.support_size,)
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        raise InvalidInput(f"sizes must be support sizes such as range(1, 9), got {sizes!r}")
    found = list(sizes)
    for size in found:
        if isinstance(size, bool) or not isinstance(size, int | np.integer):
            raise InvalidInput(f"sizes must be integers in 1..{asked.n_features}, got {size!r}")
        if not 1 <= size <= asked.n_features:
            raise InvalidInput(f"sizes must be in 1..{asked.n_features}, the features; got {size}")
    if not found:
        raise InvalidInput("sizes must have at least one support size")
    distinct = tuple(sorted({int(size) for size in found}))
    if isinstance(asked, BlockScores) and len(distinct) > 1:
        raise InvalidInput(
            f"a draw by block R² has one size, that of its scores, {asked.support_size}; got sizes "
            f"{', '.join(map(str, distinct))}"
        )
    return distinct


@dataclass(frozen=True)
class Rate:
    """c with ε-DP for what is really computed (docs/mathematics/exact-draws.md, (6)).

    Attributes
    ----------
    rate : float
        c = ε(1 - a) / (2w (1 + b)), w ≤ Δ half of the range of R' - R over all supports, with a and
        b above 4kη/ε and 4kγ; k = 1 for the exponential mechanism.
    rounding : float
        η: by how much the log of a weight may be off through rounding. Public.
    error : float
        γw: by how much a value of R may be off. Public.
    """

    rate: float
    rounding: float
    error: float

    @property
    def allowance(self) -> float:
        """Largest excess of a log weight over its bound: values are on either side of R. Public."""
        return 2.0 * self.rate * self.error + self.rounding


def exact_rate(
    epsilon: float, instance: Instance | BlockScores, prior: Prior, roundings: float = 1.0
) -> Rate:
    """Return the rate that is left of ε after the public errors of values and of rounding.

    Parameters
    ----------
    epsilon : float
    instance : Instance or BlockScores
        With the largest size that may be drawn.
    prior : Prior
        Its logs are rounded together with those that depend on the data.
    roundings : float
        k: how often the law pays what the exponential mechanism pays.

    Raises
    ------
    InvalidInput
        If rounding leaves less than half of ε.
    """
    n, largest = instance.n, instance.support_size

    def rounding(rows: int) -> float:
        # No prediction changes the loss of a row by more than nw, so values of R are no further
        # apart. No log weight, relative to that of a support, is larger than εn/2 and what the
        # prior adds; a draw adds logs of at most 1000 each.
        logs = 0.5 * epsilon * rows + prior.span + 1000.0 * (largest + 2)
        return 16.0 * EPS * (1.0 + logs)

    def of_logs(rows: int) -> float:
        return 4.0 * roundings * rounding(rows) / epsilon

    def of_values(rows: int) -> float:
        return 4.0 * roundings * instance.value_error_of(rows) * rows / (n * instance.oscillation)

    if "add-remove" in instance.problem.relations:
        a, b = with_another_row(of_logs, n), with_another_row(of_values, n)
    else:
        a, b = of_logs(n), of_values(n)
    if a > 0.5:
        # Under add-remove n is private: no message says it.
        raise InvalidInput(
            f"epsilon = {epsilon:g} is too small for exact draws in double precision with so many "
            f"rows and this prior: rounding alone costs {a * epsilon:.1g}"
        )
    rate = epsilon * (1.0 - a) / (2.0 * instance.oscillation * (1.0 + b))
    return Rate(rate, rounding(n), instance.value_error_of(n))


def with_another_row(share: Callable[[int], float], n: int, most_rows: int = MOST_ROWS) -> float:
    """Compute h(n) with h(n) - n(h(n+1) - h(n)) ≥ 2 share(n+1) for n below N, and h ≥ 2 share.

    It is 2n(share(N)/N + Σ share(t)/(t(t-1))) over n < t ≤ N, where a share counts between powers
    of 2 as at the next one.

    Parameters
    ----------
    share : callable
        Does not fall from one power of 2 to the next.
    n : int
    most_rows : int
        N.

    References
    ----------
    docs/mathematics/exact-draws.md, (6).
    """
    last = max(n, most_rows)
    added, low = share(last) / last, n
    while low < last:
        high = min(2 ** low.bit_length(), last)
        added += share(high) * (1.0 / low - 1.0 / high)
        low = high
    return 2.0 * n * added


def _checked_weights(weights: ArrayLike, p: int) -> FloatArray:
    array = np.asarray(weights)
    if array.shape != (p,) or array.dtype.kind not in "iuf":
        raise InvalidInput(f"prior_weights must be {p} numbers > 0, one per feature")
    values = array.astype(np.float64)
    if not np.all((values >= 1e-100) & (values <= 1e100)):
        raise InvalidInput("prior_weights must be numbers between 1e-100 and 1e100")
    return values


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
