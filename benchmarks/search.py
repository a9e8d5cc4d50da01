"""Times every usable back end on the same instances, in units of one X.T @ X.

python benchmarks/search.py            # the paper's settings, p = 100 and p = 1,000, both losses
python benchmarks/search.py --large    # and p = 10,000
python benchmarks/search.py --hard     # weak signal and strong correlation too
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table
from timing import Setting, Timing

from mipselect import available_solvers

PAPER = [Setting(4_000, 100), Setting(5_000, 1_000)]
LARGE = [Setting(6_000, 10_000)]
HINGE = [
    replace(Setting(n, p), loss="hinge", ridge=200.0, time_limit=300.0)
    for n, p in ((3_000, 100), (5_000, 1_000))
]
HARD = [
    replace(setting, snr=snr, rho=rho, time_limit=30.0)
    for setting in PAPER
    for snr, rho in ((0.5, 0.1), (5.0, 0.9))
]


def in_its_own_process(setting: Setting) -> Timing:
    script = Path(__file__).with_name("timing.py")
    run = subprocess.run(
        [sys.executable, script, json.dumps(asdict(setting))],
        capture_output=True,
        text=True,
        check=True,
    )
    return Timing(**json.loads(run.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also p = 10,000")
    parser.add_argument("--hard", action="store_true", help="also weak and correlated signals")
    parser.add_argument("--solvers", help="comma-separated; default: all that are usable here")
    options = parser.parse_args()
    settings = PAPER + HINGE + HARD * options.hard + LARGE * options.large
    solvers = options.solvers.split(",") if options.solvers else list(available_solvers())
    table = Table(title="one-swap pool and all mistake levels; unit: one X.T @ X")
    for column in ("loss", "n", "p", "SNR", "ρ", "solver", "unit s", "pool s", "levels s", "ratio"):
        table.add_column(column, justify="right")
    for column in ("certified", "MiB", "remark"):
        table.add_column(column)
    console = Console(width=150)
    for setting in settings:
        for solver in solvers:
            timing = in_its_own_process(replace(setting, solver=solver))
            certified = {(True, True): "yes", (False, False): "no"}.get(
                (timing.pool_certified, timing.levels_certified), "in part"
            )
            table.add_row(
                setting.loss, f"{setting.n:,}", f"{setting.p:,}",
                f"{setting.snr:g}", f"{setting.rho:g}", solver,
                f"{timing.unit:.4f}", f"{timing.pool_seconds:.3f}", f"{timing.levels_seconds:.3f}",
                f"{timing.ratio:.1f}", certified, f"{timing.memory:.0f}", timing.remark,
            )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    main()
