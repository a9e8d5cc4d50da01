"""MIP paper's data, ours: support recovery by ε, with bounds and from blocks of rows."""

from __future__ import annotations

from ..reproduce.claims import Ahead
from ..reproduce.declared import MIP, Experiment, Scale
from .setting import (
    ALSO,
    BLOCKS,
    EXACT,
    FLIP,
    FLIP_BLOCKS,
    MISTAKES,
    ON_BLOCKS,
    PAID,
    TOP_R,
    TRUTH,
    SupportRecovery,
    figures,
)

EPSILONS = (0.25, 0.35, 0.5, 0.75, 1.0, 2.0)


def by_epsilon(epsilon: float, n: int, p: int, draws: int) -> SupportRecovery:
    """Take the data of figure 1a, or those of D.1.3 with p = 1,000, at another ε."""
    methods = (TOP_R, MISTAKES, EXACT, FLIP, BLOCKS, FLIP_BLOCKS)
    return SupportRecovery(
        epsilon, n, p, 5, methods, draws, panel=f"p = {p:,}, n = {n:,}", epsilon=epsilon
    )


BY_EPSILON = Experiment(
    name="mip-epsilon",
    paper=MIP,
    row="Figure 1a",
    title="Support recovery by ε: least squares, s = 5, with public bounds and without any",
    figures=figures("ε"),
    claims=(
        Ahead(
            "ours: permute-and-flip is never behind the exponential mechanism",
            TRUTH.key,
            FLIP,
            (EXACT,),
            never_behind=True,
        ),
        Ahead(
            "ours: blocks without bounds are never behind the loss with the paper's bounds",
            TRUTH.key,
            BLOCKS,
            (EXACT, MISTAKES, TOP_R),
            never_behind=True,
        ),
    ),
    full=Scale(
        tuple(
            by_epsilon(epsilon, n, p, 100)
            for n, p in ((3000, 100), (5000, 1000))
            for epsilon in EPSILONS
        ),
        10,
        8.0,
    ),
    quick=Scale(tuple(by_epsilon(epsilon, 3000, 100, 20) for epsilon in (0.5, 1.0)), 1, 0.2),
    also=ALSO,
    notes=("SNR 5, ρ = 0.1, b_x = b_y = 0.5, r = 1.1, λ = 120.", PAID, ON_BLOCKS),
)
