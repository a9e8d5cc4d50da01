"""MIP paper, figure 1: support recovery by rows, least squares (a) and hinge loss (b, D.2)."""

from __future__ import annotations

from ..reproduce.claims import Ahead, AheadInTheEnd, Claim, Rises
from ..reproduce.declared import MIP, Experiment, Scale
from .setting import (
    ALSO,
    BLOCKS,
    EXACT,
    FLIP,
    FLIP_BLOCKS,
    MCMC,
    MCMC_CODE,
    MISTAKES,
    ON_BLOCKS,
    OURS,
    PAID,
    PUBLISHED,
    SIZES,
    TOP_R,
    TRUTH,
    VOTES,
    WIDE,
    SupportRecovery,
    figures,
)

SQUARED_ROWS = (3000, 4000, 5000, 6000, 7000, 8000)
HINGE_ROWS = (3000, 4000, 5000, 6000)
OF_HINGE = (EXACT, FLIP, BLOCKS, FLIP_BLOCKS)
"""Ours; labels of blocks are numbers, and their loss is the squared one."""


def squared(n: int, draws: int, vote_draws: int) -> SupportRecovery:
    """Make figure 1a at n rows."""
    methods = (*PUBLISHED, MCMC_CODE, *OURS, SIZES)
    return SupportRecovery(float(n), n, 100, 5, methods, draws, vote_draws)


def hinge(n: int, p: int, draws: int, vote_draws: int, *ours: str) -> SupportRecovery:
    """Make figure 1b at n rows; the paper's λ = 100 is 200 in our normalisation."""
    methods = (TOP_R, MISTAKES, VOTES, *ours)
    return SupportRecovery(
        float(n), n, p, 5, methods, draws, vote_draws, f"p = {p:,}", ridge=200.0, loss="hinge"
    )


FIGURE_1A = Experiment(
    name="mip-1a",
    paper=MIP,
    row="Figure 1a",
    title="Support recovery by rows: least squares, p = 100, s = 5, ε = 1",
    figures=figures("n, rows"),
    claims=(
        Ahead("mistakes is ahead of top-R", TRUTH.key, MISTAKES, (TOP_R,)),
        AheadInTheEnd(
            "mistakes is ahead of MCMC and samp-agg for large enough n",
            TRUTH.key,
            MISTAKES,
            (MCMC, VOTES),
        ),
        AheadInTheEnd(
            "top-R is ahead of MCMC and samp-agg for large enough n",
            TRUTH.key,
            TOP_R,
            (MCMC, VOTES),
        ),
        Rises("recovery rises with n", TRUTH.key, PUBLISHED),
        Ahead(
            "ours: the exact draw is never behind top-R, mistakes or a wide pool",
            TRUTH.key,
            EXACT,
            (TOP_R, MISTAKES, WIDE),
            never_behind=True,
        ),
    ),
    full=Scale(tuple(squared(n, 50, 5) for n in SQUARED_ROWS), 10, 6.0),
    quick=Scale(tuple(squared(n, 20, 1) for n in (3000, 5000)), 2, 0.3),
    also=ALSO,
    notes=(
        "SNR 5, ρ = 0.1, b_x = b_y = 0.5, r = 1.1, λ = 120; chains of 1,000 steps with ‖β‖₁ ≤ 3.5; "
        "√n blocks of unclipped rows vote for the non-zeros of a Lasso of penalty 20.",
        PAID,
        "The chain has the stated law; the published "
        "comparison ran code that omits a factor 2, drawn here as MCMC at 2ε.",
        "Mistakes is drawn from a uniform member of the level, as it is defined, and needs a "
        "condition that is counted in the table.",
        "Ours: exact draws, with the size known and not, permute-and-flip, both on blocks too, and "
        "a pool of 100,000.",
        ON_BLOCKS,
    ),
)

HINGE_NOTES = (
    "Labels by a logistic law; b_x = 0.5, r = 1.1; the paper's λ = 100 is 200 here.",
    PAID,
    "Samp-agg: on √n blocks the ℓ1-hinge model with the smallest penalty that leaves at most "
    "s non-zeros, as a linear program.",
)

HINGE_CLAIMS: tuple[Claim, ...] = (
    Ahead("mistakes is ahead of top-R", TRUTH.key, MISTAKES, (TOP_R,)),
    AheadInTheEnd(
        "mistakes is ahead of samp-agg for large enough n", TRUTH.key, MISTAKES, (VOTES,)
    ),
    AheadInTheEnd("top-R is ahead of samp-agg for large enough n", TRUTH.key, TOP_R, (VOTES,)),
    Rises("recovery rises with n", TRUTH.key, (TOP_R, MISTAKES, VOTES)),
    Ahead(
        "ours: the exact draw is never behind top-R or mistakes",
        TRUTH.key,
        EXACT,
        (TOP_R, MISTAKES),
        never_behind=True,
    ),
)

FIGURE_1B = Experiment(
    name="mip-1b",
    paper=MIP,
    row="Figure 1b, D.2 hinge",
    title="Support recovery by rows: hinge loss, p = 100, s = 5, ε = 1",
    figures=figures("n, rows"),
    claims=HINGE_CLAIMS,
    full=Scale(tuple(hinge(n, 100, 50, 2, *OF_HINGE) for n in HINGE_ROWS), 10, 12.0),
    quick=Scale(tuple(hinge(n, 100, 20, 1, *OF_HINGE) for n in (3000,)), 1, 0.3),
    also=ALSO,
    notes=(
        *HINGE_NOTES,
        "An earlier measurement, with loops as in the paper's code, had shown 0.66 for top-R and "
        "0.88 for mistakes at p = 100 and n = 3,000. They stop at a relative gap of 5e-3, so that "
        "the R-th value is up to 0.5 % too high, and data sets on which they end too late or in "
        "the wrong order are thrown away: that is another mechanism. What the paper defines has "
        "the exact law below. λ has no part in it: the ball ‖β‖ ≤ r is active on the optimum and "
        "on supports with up to three mistakes, as far as was looked, and λ adds the same to the "
        "values of all of them.",
    ),
)

FIGURE_1B_LARGE = Experiment(
    name="mip-1b-large",
    paper=MIP,
    row="Figure 1b, D.2 hinge",
    title="Support recovery by rows: hinge loss, p = 1,000, s = 5, ε = 1",
    figures=figures("n, rows"),
    claims=HINGE_CLAIMS,
    full=Scale(tuple(hinge(n, 1000, 50, 1, *OF_HINGE) for n in HINGE_ROWS), 10, 60.0),
    quick=Scale((hinge(3000, 200, 20, 1, *OF_HINGE),), 1, 0.2),
    also=ALSO,
    notes=(*HINGE_NOTES, "--quick has p = 200."),
)
