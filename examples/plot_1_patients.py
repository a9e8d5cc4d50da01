"""
A patient table, from the file to a published private model
===========================================================

A hospital has a CSV file with a row for each patient and wants to publish which few
measurements predict the length of stay, and by how much. Everything that leaves the building is
drawn with differential privacy, and paid for from one budget.

The file is made up here, so that the example runs anywhere.
"""

# %%
# The table, and what is public about it
# --------------------------------------
# Codes for missing values and blanks included. In the world the file is there already.

import csv
import json
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(7)
folder, n = Path(mkdtemp()), 12_000
names = ["age", "systolic", "crp", "hb", "sodium", "glucose", "bmi", "pulse", "temp", "wbc"]
low = np.array([18, 80, 0, 60, 120, 50, 14, 40, 34, 1.0])
high = np.array([100, 200, 200, 180, 155, 300, 50, 160, 42, 30.0])
share = rng.beta(2.0, 2.0, (n, len(names)))  # where each value lies in its range
stay = 12 + 14 * (share[:, 0] - 0.5) + 18 * (share[:, 2] - 0.5) - 10 * (share[:, 3] - 0.5)
stay = np.clip(stay + 3 * rng.standard_normal(n), 0, 30)

with (folder / "patients.csv").open("w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow([*names, "los_days"])
    for row, days in zip(low + share * (high - low), stay, strict=True):
        cells = [f"{value:.1f}" for value in row]
        if rng.random() < 0.05:
            cells[rng.integers(len(cells))] = rng.choice(["", "-99"])
        writer.writerow([*cells, f"{days:.1f}"])

# %%
# The schema holds public knowledge: ranges from a codebook, never from the rows. ``required``
# makes a missing value the middle of its range; otherwise it would have a column of its own.


def field(name, minimum, maximum):
    limits = {"minimum": float(minimum), "maximum": float(maximum), "required": True}
    return {"name": name, "type": "number", "constraints": limits}


fields = [field(*each) for each in zip([*names, "los_days"], [*low, 0], [*high, 30], strict=True)]
schema_file = folder / "patients.schema.json"
schema_file.write_text(json.dumps({"missingValues": ["", "-99"], "fields": fields}))

# %%
# One budget, in a file
# ---------------------
# ε = 2 and δ = 1e-6 for this study, whoever draws and whenever.

from mipselect import Ledger

ledger = Ledger.create(folder / "study.ledger", epsilon=2.0, delta=1e-6, unit="patient")
print(ledger)

# %%
# Which columns, and what model
# -----------------------------
# The schema's map takes every row to numbers in [-1, 1], one row at a time. Then columns are
# drawn exactly from the exponential mechanism over all supports, and coefficients with AdaSSP.

from mipselect.regression import AdaSSPRegressor, SelectThenRegress
from mipselect.selectors import ExponentialSelector
from mipselect.tables import TableSchema

model = SelectThenRegress(
    ExponentialSelector(3),
    AdaSSPRegressor(delta=1e-6),
    epsilon=2.0,
    ledger=ledger,
)
model.fit_table(folder / "patients.csv", TableSchema.read(schema_file), target="los_days")
print(model.release_)  # private: this may be published

# %%
# What is published
# -----------------
# The release, as JSON, is all that leaves: columns, coefficients, and the guarantee of
# both. Nobody can draw again from this budget.

published = json.dumps(model.release_.to_dict(), indent=1)
(folder / "model.json").write_text(published)
print(ledger.remaining)

# %%
# In the units of the table: days of stay per unit of each measurement. The picture shows released
# numbers only, so it is as private as they are.

release = model.release_
figure, axes = plt.subplots(figsize=(6, 2.4), layout="constrained")
half = dict(zip(names, 0.5 * np.subtract(high, low), strict=True))
effects = {term.field: half[term.field] * term.coefficient for term in release.in_units.terms}
axes.barh(list(effects), list(effects.values()), color="C0")
axes.axvline(0.0, color="0.5", linewidth=1)
axes.set_xlabel("days of stay for half of the column's range")
axes.set_title("released: private at ε = 2, δ = 1e-6")
plt.show()

# %%
# How good is it? This looks at the data again, so it stays in the building.

rows = pd.read_csv(folder / "patients.csv").query("age > 0 and crp > 0 and hb > 0")
error = rows["los_days"] - model.predict(rows)
print(f"SENSITIVE: R² on the table {1 - error.var() / rows['los_days'].var():.3f}")
