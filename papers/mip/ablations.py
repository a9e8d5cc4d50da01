"""MIP paper, D.1.2: what R, λ and the bound b do to recovery."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ..reproduce.claims import (
    NOT_SEEN,
    OPEN,
    SEEN,
    Computed,
    Finding,
    Rises,
)
from ..reproduce.declared import MIP, Experiment, Scale
from ..reproduce.results import Middle, Results, clearly_above
from .setting import (
    ALSO,
    CHANCE,
    EXACT,
    MISTAKES,
    PAID,
    TOP_R,
    WIDE,
    SupportRecovery,
    figures,
)

ROW = "D.1.2 ablations"
POOLS = (2, 300, *range(1000, 15_000, 1000), 14_200, 14_300, 15_000)
LEVEL_ENDS = (292, 14_260)
"""Supports with at most one and two mistakes, 1 + 3·97 and 1 + 3·97 + 3·C(97, 2)."""

RIDGES = (120.0, 140.0, 160.0, 180.0, 200.0)
RADII = (0.7, 0.9, 1.1, 1.5, 2.0, 3.0)
BOUNDS = (0.5, 0.75, 1.0, 1.25, 1.5)

BASE = SupportRecovery(0.0, 4000, 100, 5, (TOP_R, MISTAKES, EXACT, WIDE), 100)


def pool(size: int, draws: int) -> SupportRecovery:
    """Make Top-R with R supports, beside the exact draw."""
    return SupportRecovery(float(size), 1000, 100, 3, (TOP_R, EXACT), draws, ridge=80.0, pool=size)


def ridge(value: float, draws: int) -> SupportRecovery:
    """Vary λ."""
    return replace(BASE, x=value, draws=draws, ridge=value)


def bound(value: float, draws: int) -> SupportRecovery:
    """Vary b = b_x = b_y at λ = 300."""
    return replace(BASE, x=value, draws=draws, ridge=300.0, bound=value)


def radius(value: float, draws: int) -> SupportRecovery:
    """Vary the radius r of the coefficients at λ = 120."""
    return replace(BASE, x=value, draws=draws, radius=value)


def _jumps(results: Results) -> Finding:
    """Compare what a listed support gains, on the same data, at level ends and elsewhere."""
    line = list(results.line("", TOP_R, CHANCE.key).items())
    steps = {(r, t): (b.value - a.value) / (t - r) for (r, a), (t, b) in pairwise(line)}
    ends = [step for step in steps if any(step[0] <= end < step[1] for end in LEVEL_ENDS)]
    others = [gain for step, gain in steps.items() if step not in ends]
    if len(ends) < len(LEVEL_ENDS) or not others:
        return Finding(OPEN, "nothing of it was measured")
    told = [f"R = {r:g} to {t:g}: {1e5 * steps[r, t]:.3g}" for r, t in ends]
    told.append(f"at most {1e5 * max(others):.3g} elsewhere, per 100,000 listed supports")
    largest = min(steps[step] for step in ends) > max(others)
    return Finding(SEEN if largest else NOT_SEEN, "; ".join(told))


def _maximum_inside(method: str) -> Computed:
    def look(results: Results) -> Finding:
        line: dict[float, Middle] = results.line("", method, CHANCE.key)
        if len(line) < 3:
            return Finding(OPEN, "nothing of it was measured")
        middles = list(line.values())
        ends = middles[0], middles[-1]
        x, best = max(line.items(), key=lambda item: item[1].value)
        worse = [clearly_above(best, end) for end in ends]
        told = f"by exact laws best {best} at b = {x:g}, {ends[0]} and {ends[1]} at the ends"
        return Finding(SEEN if all(worse) else NOT_SEEN, told)

    return Computed(f"{method}: bounds too small and too large both harm", look)


ABLATION_R = Experiment(
    name="mip-ablation-pool",
    paper=MIP,
    row=ROW,
    title="Top-R by the size of its pool: p = 100, s = 3, n = 1,000, λ = 80",
    figures=figures("R, listed supports"),
    claims=(
        Rises("a larger R is better", CHANCE.key, (TOP_R,)),
        Computed("the largest steps are where a level of mistakes ends (292 and 14,260)", _jumps),
    ),
    full=Scale(tuple(pool(size, 100) for size in POOLS), 10, 1.5),
    quick=Scale(tuple(pool(size, 50) for size in (2, 300, 1000, 14_200, 14_300)), 2, 0.2),
    also=ALSO,
    notes=(
        "ε = 1, SNR 5, ρ = 0.1, b = 0.5, r = 1.1. The exact draw has no R: ours, the same for all.",
        PAID,
    ),
)

ABLATION_RIDGE = Experiment(
    name="mip-ablation-ridge",
    paper=MIP,
    row=ROW,
    title="Recovery by λ: p = 100, s = 5, n = 4,000, b = 0.5",
    figures=figures("λ"),
    claims=(
        Rises("a very large λ harms top-R", CHANCE.key, (TOP_R,), falls=True),
        Rises("a very large λ harms mistakes", CHANCE.key, (MISTAKES,), falls=True),
    ),
    full=Scale(tuple(ridge(value, 100) for value in RIDGES), 10, 0.7),
    quick=Scale(tuple(ridge(value, 50) for value in (120.0, 200.0)), 2, 0.1),
    also=ALSO,
    notes=("ε = 1, SNR 5, ρ = 0.1, r = 1.1; exact draws and the wide pool are ours.", PAID),
)

ABLATION_BOUND = Experiment(
    name="mip-ablation-bound",
    paper=MIP,
    row=ROW,
    title="Recovery by the bound b of X and y: p = 100, s = 5, n = 4,000, λ = 300",
    figures=figures("b"),
    claims=(_maximum_inside(TOP_R), _maximum_inside(MISTAKES)),
    full=Scale(tuple(bound(value, 100) for value in BOUNDS), 10, 0.8),
    quick=Scale(tuple(bound(value, 50) for value in (0.5, 1.0, 1.5)), 2, 0.15),
    also=ALSO,
    notes=("ε = 1, SNR 5, ρ = 0.1, r = 1.1; exact draws and the wide pool are ours.", PAID),
)

ABLATION_RADIUS = Experiment(
    name="mip-ablation-radius",
    paper=MIP,
    row=ROW,
    title="Recovery by the radius r of the coefficients: p = 100, s = 5, n = 4,000, λ = 120",
    figures=figures("r"),
    claims=(
        Rises("ours: a larger r costs top-R", CHANCE.key, (TOP_R,), falls=True),
        Rises("ours: a larger r costs mistakes", CHANCE.key, (MISTAKES,), falls=True),
    ),
    full=Scale(tuple(radius(value, 100) for value in RADII), 10, 0.8),
    quick=Scale(tuple(radius(value, 50) for value in (0.7, 3.0)), 2, 0.1),
    also=ALSO,
    notes=(
        "ε = 1, SNR 5, ρ = 0.1, b = 0.5. The paper has r = 1.1 throughout; its coefficients have "
        "length 1. r enters Δ, so a generous radius is paid for.",
        PAID,
    ),
)
