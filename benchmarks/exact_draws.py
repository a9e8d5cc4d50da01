"""Exact draws over all supports: time, acceptance and P(optimum), beside the other methods.

OMP_NUM_THREADS=1 python benchmarks/exact_draws.py            # the paper's p = 100 and p = 1,000
OMP_NUM_THREADS=1 python benchmarks/exact_draws.py large      # p = 10,000, against one X.T @ X
OMP_NUM_THREADS=1 python benchmarks/exact_draws.py correlated # where bounds are loose

CPU seconds of one thread: of the certified one-swap pool, of the certified levels (each from
data that nothing was computed for; a dash: not certified in a minute), and of the preparation and
the first draw together. P is the probability of the optimum: for the exact draw a proven interval,
for the chain a share of 20 seeded runs of 5,000 steps.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from exact_draw_timing import Plan
from timing import Setting

PAPER = (0.5, 0.75, 1.0, 2.0)
PLANS = {
    "paper": [
        Plan(Setting(3_000, 100), list(PAPER), rivals=True),
        Plan(Setting(4_000, 100), list(PAPER), rivals=True),
        Plan(Setting(5_000, 1_000), list(PAPER), rivals=True),
    ],
    "large": [
        Plan(Setting(6_000, 10_000), [0.5, 1.0], limit=600.0, rivals=True, repeats=1),
        Plan(Setting(6_000, 10_000), [0.75, 2.0], limit=600.0, rivals=True, repeats=1),
    ],
    "correlated": [
        Plan(Setting(8_000, 100, rho=0.7), [0.25, 0.5, 1.0, 2.0, 5.0, 10.0]),
        Plan(Setting(5_000, 1_000, rho=0.9), [1.0, 2.0], repeats=1),
        Plan(Setting(3_000, 300, support_size=10, rho=0.5, ridge=72.0), [1.0, 2.0, 5.0], repeats=1),
    ],
}
RIVALS = ("top-r", "top-r-wide", "mistakes", "mcmc")


def in_its_own_process(plan: Plan) -> dict[str, Any]:
    script = Path(__file__).with_name("exact_draw_timing.py")
    run = subprocess.run(
        [sys.executable, script, json.dumps(asdict(plan))],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def figure(value: float, digits: int = 2) -> str:
    return "–" if value != value else f"{value:.{digits}g}"


def probability(draw: dict[str, Any]) -> str:
    low, high = f"{draw['low']:.3f}", f"{draw['high']:.3f}"
    return low if low == high else f"{low} to {high}"


def show(plan: Plan) -> None:
    found = in_its_own_process(plan)
    setting = plan.setting
    print(f"\nn = {setting.n:,}, p = {setting.p:,}, s = {setting.support_size}, ρ = {setting.rho}")
    searched = found["pool"] + found["levels"]
    print(
        f"one X.T @ X {figure(found['unit'])} s; certified pool {figure(found['pool'])} s, levels "
        f"{figure(found['levels'])} s; peak memory {found['draws'][0]['memory']:,.0f} MiB\n"
    )
    heads = [
        "ε",
        "first draw s",
        "/ pool and levels",
        "/ X.T @ X",
        "acceptance",
        "next draw ms",
        "P",
    ]
    heads += [f"P, {name}" for name in RIVALS] if plan.rivals else []
    print(f"| {' | '.join(heads)} |")
    print(f"|{' ---: |' * len(heads)}")
    for draw in found["draws"]:
        if not draw["drawn"]:
            print(f"| {draw['epsilon']:g} | not within {draw['cpu']:.0f} s |")
            continue
        cells = [
            f"{draw['epsilon']:g}",
            figure(draw["cpu"]),
            figure(draw["cpu"] / searched),
            figure(draw["cpu"] / found["unit"]),
            f"{draw['acceptance']:.3f}",
            figure(1e3 * draw["further"]),
            probability(draw),
        ]
        cells += [f"{draw['rivals'][name]:.3f}" for name in RIVALS] if plan.rivals else []
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", nargs="?", choices=PLANS, default="paper")
    parser.add_argument("--part", type=int, help="only this one of the settings, from 0")
    options = parser.parse_args()
    plans = PLANS[options.which]
    for plan in plans if options.part is None else [plans[options.part]]:
        show(plan)


if __name__ == "__main__":
    main()
