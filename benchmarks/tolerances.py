"""What a small tolerance costs a search: the same problems at the default τ and at 0.05.

    python -m benchmarks.tolerances [--limit 60]

τΔ is paid for in ε, so it should be as small as time and rounding allow. Interleaved in one
process; CPU seconds and subproblems of pool and levels together.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.timing import Setting, instance_of
from mipselect import Instance, NotCertified, mistake_levels, top_supports
from mipselect.search.options import DEFAULT_TOLERANCE

WIDE = 0.05
SETTINGS = (
    Setting(4000, 100),
    Setting(5000, 1000),
    Setting(3000, 100, loss="hinge", ridge=200.0),
    Setting(1000, 100, 5, rho=0.9, ridge=24.0),
    Setting(200, 100, 5, rho=0.9, ridge=4.8),
    Setting(5000, 300, 5, snr=0.5, rho=0.9, ridge=15.0),
    Setting(1000, 300, 5, snr=0.5, rho=0.5, ridge=24.0),
    Setting(5000, 300, 10, rho=0.5, ridge=120.0),
    Setting(5000, 1000, 8, rho=0.9, ridge=120.0),
    Setting(1000, 1000, 5, snr=0.5, rho=0.5, ridge=24.0),
)


def measured(instance: Instance, tolerance: float, limit: float) -> tuple[float, int, bool]:
    """CPU seconds, subproblems, and whether both searches are certified."""
    started, subproblems, certified = time.process_time(), 0, True
    for search in (top_supports, mistake_levels):
        try:
            found = search(instance, tolerance=tolerance, time_limit=limit)
        except NotCertified as refusal:
            found, certified = refusal.partial, False
        subproblems += 0 if found is None else found.effort.subproblems
    return time.process_time() - started, subproblems, certified


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each search")
    limit = parser.parse_args().limit
    print(f"| problem | s at {WIDE:g} | s at {DEFAULT_TOLERANCE:g} | ratio | subproblems | |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for setting in SETTINGS:
        measured(instance_of(setting), WIDE, limit)
        wide = measured(instance_of(setting), WIDE, limit)
        small = measured(instance_of(setting), DEFAULT_TOLERANCE, limit)
        told = f"{setting.loss}, n = {setting.n:,}, p = {setting.p:,}, s = {setting.support_size}"
        told += f", ρ = {setting.rho:g}, SNR {setting.snr:g}"
        counts = f"{wide[1]:,} → {small[1]:,}"
        proof = "" if wide[2] and small[2] else f"certified: {wide[2]}, {small[2]}"
        ratio = small[0] / wide[0]
        print(f"| {told} | {wide[0]:.2f} | {small[0]:.2f} | {ratio:.2f} | {counts} | {proof} |")


if __name__ == "__main__":
    main()
