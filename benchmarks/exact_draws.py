"""Exact draws over all supports: time, acceptance and P(optimum), beside the other methods.

OMP_NUM_THREADS=1 python -m benchmarks.exact_draws            # the paper's p = 100 and p = 1,000
OMP_NUM_THREADS=1 python -m benchmarks.exact_draws large      # p = 10,000, against one X.T @ X
OMP_NUM_THREADS=1 python -m benchmarks.exact_draws correlated # where bounds are loose
OMP_NUM_THREADS=1 python -m benchmarks.exact_draws paper large correlated --json

CPU seconds of one thread: of the certified one-swap pool, of the certified levels (each from
data that nothing was computed for; left out where they are not certified in a minute), and of the
preparation and the first draw together. The probability is that of the optimum: for the exact draw
a proven interval, for the chain a share of 20 seeded runs of 5,000 steps.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from benchmarks.exact_draw_timing import Plan
from benchmarks.stored import Record, add_json_option, print_records
from benchmarks.timing import Setting

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


def in_its_own_process(plan: Plan) -> dict[str, Any]:
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.exact_draw_timing", json.dumps(asdict(plan))],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def probability(draw: dict[str, Any]) -> str:
    low, high = f"{draw['low']:.3f}", f"{draw['high']:.3f}"
    return low if low == high else f"{low} to {high}"


def measured(plan: Plan) -> Iterator[Record]:
    """One record a draw; what was not reached in time is left out of it."""
    found = in_its_own_process(plan)
    setting = plan.setting
    searched = found["pool"] + found["levels"]
    for draw in found["draws"]:
        numbers = {
            "unit_seconds": found["unit"],
            "pool_seconds": found["pool"],
            "levels_seconds": found["levels"],
            "mib": found["draws"][0]["memory"],
        }
        if draw["drawn"]:
            numbers |= {
                "first_draw_seconds": draw["cpu"],
                "of_pool_and_levels": draw["cpu"] / searched,
                "of_product": draw["cpu"] / found["unit"],
                "acceptance": draw["acceptance"],
                "next_draw_ms": 1e3 * draw["further"],
            }
        yield {
            "n": setting.n,
            "p": setting.p,
            "s": setting.support_size,
            "rho": setting.rho,
            "epsilon": draw["epsilon"],
            **{name: value for name, value in numbers.items() if not math.isnan(value)},
            **({"probability": probability(draw)} if draw["drawn"] else {}),
            **draw["rivals"],
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("which", nargs="*", metavar="{" + ",".join(PLANS) + "}", default=["paper"])
    parser.add_argument("--part", type=int, help="only this one of the settings, from 0")
    add_json_option(parser)
    options = parser.parse_args()
    if unknown := set(options.which) - set(PLANS):
        parser.error(f"{sorted(unknown)}: it must be of {', '.join(PLANS)}")
    plans = [plan for which in options.which for plan in PLANS[which]]
    plans = plans if options.part is None else [plans[options.part]]
    print_records((each for plan in plans for each in measured(plan)), as_json=options.json)


if __name__ == "__main__":
    main()
