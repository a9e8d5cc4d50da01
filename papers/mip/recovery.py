"""MIP paper, D.1.3: recovery for other s, SNR, ρ and p."""

from __future__ import annotations

from dataclasses import replace

from ..reproduce.claims import (
    AHEAD,
    BEHIND,
    NOT_SEEN,
    OPEN,
    SEEN,
    Ahead,
    AheadInTheEnd,
    Claim,
    Computed,
    Finding,
    Rises,
    compared,
)
from ..reproduce.declared import MIP, Experiment, Scale
from ..reproduce.results import Results
from .setting import (
    ALSO,
    EXACT,
    MCMC,
    MCMC_LONG,
    MISTAKES,
    PAID,
    PUBLISHED,
    TOP_R,
    TRUTH,
    VOTES,
    WIDE,
    SupportRecovery,
    figures,
)

ROW = "D.1.3"
METHODS = (*PUBLISHED, EXACT, WIDE)
ROWS = (3000, 4000, 5000, 6000, 7000, 8000)
BASE = SupportRecovery(0.0, 4000, 100, 5, METHODS, 50, 5)

NOTES = (
    PAID,
    "ε = 1, λ = 120, b = 0.5, r = 1.1; SNR 5 and ρ = 0.1 where they do not vary. Chains of 1,000 "
    "steps with ‖β‖₁ ≤ 3.5; √n blocks of unclipped rows vote for the non-zeros of a Lasso of "
    "penalty 20. The paper names no numbers of rows: its claims are of some large enough n.",
)
LONG_NOTE = (
    "A chain changes one column in a step, so that 1,000 steps, which its code has at p = 100, "
    "reach few of so many columns. Chains of 10 p steps are ours, and few of them are drawn."
)


def sizes(draws: int, ns: tuple[int, ...]) -> tuple[SupportRecovery, ...]:
    """Vary the rows, for s = 5 and 8."""
    return tuple(
        replace(BASE, x=float(n), n=n, s=s, draws=draws, panel=f"s = {s}")
        for s in (5, 8)
        for n in ns
    )


def strengths(draws: int, values: tuple[float, ...]) -> tuple[SupportRecovery, ...]:
    """Vary the signal-to-noise ratio, n = 4,000."""
    return tuple(replace(BASE, x=value, snr=value, draws=draws) for value in values)


def correlations(draws: int, values: tuple[float, ...]) -> tuple[SupportRecovery, ...]:
    """Vary the correlation of neighbouring columns, n = 8,000."""
    return tuple(replace(BASE, x=value, rho=value, n=8000, draws=draws) for value in values)


def large(p: int, n: int, draws: int) -> SupportRecovery:
    """Take many columns."""
    methods = (*PUBLISHED, EXACT)
    return replace(BASE, x=float(n), n=n, p=p, methods=methods, draws=draws, panel=f"p = {p:,}")


def long_chains(p: int, n: int, draws: int) -> SupportRecovery:
    """Take as many steps for each column as there are at p = 100."""
    few = large(p, n, draws)
    return replace(few, methods=(MCMC_LONG,), steps=10 * p)


RIVALS = (MCMC, VOTES)


def _by_rows(*rivals: str) -> tuple[Claim, ...]:
    return (
        *(
            AheadInTheEnd(
                f"{method} is ahead of MCMC and samp-agg for large enough n",
                TRUTH.key,
                method,
                rivals,
            )
            for method in (MISTAKES, TOP_R)
        ),
        Ahead("mistakes is ahead of top-R", TRUTH.key, MISTAKES, (TOP_R,)),
        Rises("recovery rises with n", TRUTH.key, (TOP_R, MISTAKES)),
    )


def _asked(where: str) -> tuple[Claim, ...]:
    """Claim it for large enough n, and check at an n that the paper does not name."""
    return tuple(
        Ahead(f"ours: {method} is ahead of MCMC and samp-agg, {where}", TRUTH.key, method, RIVALS)
        for method in (MISTAKES, TOP_R)
    )


def _larger(results: Results) -> Finding:
    """Compare s = 8 with s = 5 for the same n."""
    states, told = [], []
    for method in (TOP_R, MISTAKES):
        few, many = (results.line(f"s = {s}", method, TRUTH.key) for s in (5, 8))
        for n in few:
            if n in many:
                states.append(compared(few[n], many[n]))
                told.append(f"{method}, n = {n:,.0f}: {few[n]} and {many[n]}")
    if not told:
        return Finding(OPEN, "nothing of it was measured")
    verdict = NOT_SEEN if BEHIND in states else SEEN if AHEAD in states else OPEN
    return Finding(verdict, "; ".join(told))


def _ours(text: str = "ours: the exact draw is never behind top-R or mistakes") -> Ahead:
    return Ahead(text, TRUTH.key, EXACT, (TOP_R, MISTAKES), never_behind=True)


BY_SIZE = Experiment(
    name="mip-size",
    paper=MIP,
    row=ROW,
    title="Recovery by rows for s = 5 and 8: p = 100, ε = 1",
    figures=figures("n, rows"),
    claims=(
        *_by_rows(*RIVALS),
        Computed("a larger s needs more rows: recovery is behind that of s = 5", _larger),
        _ours(),
    ),
    full=Scale(sizes(50, (3000, 4000, 6000, 8000, 16_000)), 5, 1.5),
    quick=Scale(sizes(30, (4000,)), 1, 0.2),
    also=ALSO,
    notes=NOTES,
)

BY_SNR = Experiment(
    name="mip-snr",
    paper=MIP,
    row=ROW,
    title="Recovery by the signal-to-noise ratio: p = 100, s = 5, n = 4,000, ε = 1",
    figures=figures("SNR", log_x=True),
    claims=(
        Rises("a smaller SNR is worse", TRUTH.key, (TOP_R, MISTAKES)),
        *_asked("n = 4,000"),
        _ours(),
    ),
    full=Scale(strengths(50, (0.5, 1.0, 2.0, 3.0, 5.0, 10.0)), 10, 1.1),
    quick=Scale(strengths(30, (1.0, 5.0)), 2, 0.1),
    also=ALSO,
    notes=NOTES,
)

BY_RHO = Experiment(
    name="mip-rho",
    paper=MIP,
    row=ROW,
    title="Recovery by correlation ρ: p = 100, s = 5, n = 8,000, ε = 1",
    figures=figures("ρ"),
    claims=(
        Rises("a larger ρ is worse", TRUTH.key, (TOP_R, MISTAKES), falls=True),
        *_asked("n = 8,000"),
        _ours(),
    ),
    full=Scale(correlations(50, (0.1, 0.3, 0.5, 0.7, 0.9)), 10, 1.2),
    quick=Scale(correlations(30, (0.1, 0.7)), 2, 0.2),
    also=ALSO,
    notes=NOTES,
)

BY_P = Experiment(
    name="mip-large",
    paper=MIP,
    row=ROW,
    title="Recovery by rows: p = 1,000, s = 5, ε = 1",
    figures=figures("n, rows"),
    claims=(
        *_by_rows(*RIVALS, MCMC_LONG),
        _ours(),
    ),
    full=Scale(
        tuple(recipe for n in ROWS for recipe in (large(1000, n, 50), long_chains(1000, n, 10))),
        10,
        4.0,
    ),
    quick=Scale((large(1000, 5000, 30), long_chains(1000, 5000, 2)), 1, 0.2),
    also=ALSO,
    notes=(*NOTES, LONG_NOTE),
)

BY_VERY_LARGE_P = Experiment(
    name="mip-very-large",
    paper=MIP,
    row=ROW,
    title="Recovery by rows: p = 10,000, s = 5, ε = 1",
    figures=figures("n, rows"),
    claims=(
        *_by_rows(*RIVALS, MCMC_LONG),
        _ours(),
    ),
    full=Scale(
        (large(10_000, 6000, 50), large(10_000, 8000, 50), long_chains(10_000, 8000, 2)), 10, 20.0
    ),
    quick=Scale((large(2000, 5000, 20), long_chains(2000, 5000, 1)), 1, 0.2),
    also=ALSO,
    notes=(*NOTES, LONG_NOTE, "Needs about 2 GiB of memory; --quick has p = 2,000."),
)
