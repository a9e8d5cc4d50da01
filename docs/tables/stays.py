"""Make up examples/stays.csv, the table of the tutorials: 3,000 stays in a hospital.

The length of a stay depends on age, on the ward and on crp; whether a patient smokes goes with hb
and pulse. All else is noise.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

PATH = Path(__file__).parents[2] / "examples" / "stays.csv"
NAMES = ("age", "sex", "ward", "pulse", "crp", "hb", "smoker", "visits", "days")
ROWS = 3_000


def rows() -> list[list[str]]:
    """Return the cells of every row."""
    rng = np.random.default_rng(20)
    age = np.clip(rng.normal(62, 16, ROWS), 18, 99).round()
    sex = rng.choice(["f", "m"], ROWS)
    ward = rng.choice(["surgery", "medicine", "heart"], ROWS, p=[0.4, 0.4, 0.2])
    pulse = rng.normal(78, 11, ROWS).clip(45, 140).round()
    crp = np.exp(rng.normal(2.3, 1.0, ROWS)).clip(0, 300).round()
    hb = rng.normal(13, 1.8, ROWS).clip(6, 18).round(1)
    visits = rng.poisson(1.2, ROWS).clip(0, 12)
    log_odds = -1.8 + 0.7 * (hb - 13) + 0.08 * (pulse - 78)
    smoker = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-log_odds)), "yes", "no")
    in_ward = 1.0 * (ward == "surgery") + 4.0 * (ward == "heart")
    days = 2 + 0.06 * (age - 40) + in_ward + 1.3 * np.log1p(crp) + rng.gamma(2.0, 1.0, ROWS)
    known = rng.random(ROWS) > 0.04
    cells = (
        *(age.astype(int), sex, ward, pulse.astype(int)),
        *(np.where(known, crp.astype(int).astype(str), ""), hb, smoker, visits),
        days.clip(1, 30).round().astype(int),
    )
    return [[str(cell) for cell in row] for row in zip(*cells, strict=True)]


def write(path: Path) -> None:
    """Write the table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([NAMES, *rows()])


if __name__ == "__main__":
    write(PATH)
