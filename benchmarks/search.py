"""Times every usable back end on the same instances, in units of one X.T @ X.

python -m benchmarks.search                 # the paper's settings, p = 100 and 1,000, both losses
python -m benchmarks.search --large         # and p = 10,000
python -m benchmarks.search --hard          # weak signal and strong correlation too
python -m benchmarks.search --loss hinge --solvers native,highs --json
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace

from benchmarks.stored import Record, add_json_option, print_records
from benchmarks.timing import Setting, Timing
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
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.timing", json.dumps(asdict(setting))],
        capture_output=True,
        text=True,
        check=True,
    )
    return Timing(**json.loads(run.stdout))


def timed(settings: list[Setting], solvers: list[str]) -> Iterator[Record]:
    for setting in settings:
        for solver in solvers:
            timing = in_its_own_process(replace(setting, solver=solver))
            certified = {(True, True): "yes", (False, False): "no"}.get(
                (timing.pool_certified, timing.levels_certified), "in part"
            )
            yield {
                "loss": setting.loss,
                "n": setting.n,
                "p": setting.p,
                "supports": float(math.comb(setting.p, setting.support_size)),
                "snr": setting.snr,
                "rho": setting.rho,
                "solver": solver,
                "unit_seconds": timing.unit,
                "pool_seconds": timing.pool_seconds,
                "levels_seconds": timing.levels_seconds,
                "ratio": timing.ratio,
                "certified": certified,
                "mib": timing.memory,
                "remark": timing.remark,
            }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", action="store_true", help="also p = 10,000")
    parser.add_argument("--hard", action="store_true", help="also weak and correlated signals")
    parser.add_argument("--loss", choices=("squared", "hinge"), help="default: both")
    parser.add_argument("--solvers", help="comma-separated; default: all that are usable here")
    add_json_option(parser)
    options = parser.parse_args()
    settings = PAPER + HINGE + HARD * options.hard + LARGE * options.large
    if options.loss is not None:
        settings = [setting for setting in settings if setting.loss == options.loss]
    solvers = options.solvers.split(",") if options.solvers else list(available_solvers())
    print_records(timed(settings, solvers), as_json=options.json)


if __name__ == "__main__":
    main()
