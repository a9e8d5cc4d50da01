"""
A hospital's categories, adjusted for age and sex
=================================================

Which of a ward, a diagnosis group, a drug class and a few measurements matter for blood
pressure, in an analysis that is adjusted for age and sex? Categories are one feature each,
whatever the number of their levels, and cost no more noise than a number: a row has length one
in each of them.
"""

# %%
# A table with categories
# -----------------------

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

rng = np.random.default_rng(3)
n = 6_000
wards = [f"ward {k}" for k in range(12)]
drugs = ["none", "statin", "ace", "beta", "diuretic"]
groups = ["E", "I", "J", "K", "N", "other"]
age, sex = rng.uniform(18, 95, n), rng.integers(0, 2, n)
ward, drug, group = (rng.integers(0, len(levels), n) for levels in (wards, drugs, groups))
bmi, sodium, pulse = rng.uniform(16, 45, n), rng.uniform(125, 150, n), rng.uniform(45, 140, n)
effect_of_drug = np.array([18.0, 0.0, -18.0, -9.0, 9.0])
pressure = 120 + 0.35 * (age - 55) + 5 * sex + effect_of_drug[drug] + 1.1 * (bmi - 30)
pressure = np.clip(pressure + 7 * rng.standard_normal(n), 80, 200)

table = pa.table(
    {
        "age": age,
        "sex": np.array(["f", "m"])[sex],
        "ward": np.array(wards)[ward],
        "drug": np.array(drugs)[drug],
        "icd": np.array(groups)[group],
        "bmi": bmi,
        "sodium": sodium,
        "pulse": pulse,
        "systolic": pressure,
    }
)

# %%
# What is public about it
# -----------------------

from mipselect.tables import TableSchema


def number(name, low, high):
    constraints = {"minimum": low, "maximum": high, "required": True}
    return {"name": name, "type": "number", "constraints": constraints}


def category(name, levels):
    return {
        "name": name,
        "type": "string",
        "categories": list(levels),
        "constraints": {"required": True},
    }


schema = TableSchema.of(
    {
        "fields": [
            number("age", 18, 95),
            category("sex", ["f", "m"]),
            category("ward", wards),
            category("drug", drugs),
            category("icd", groups),
            number("bmi", 16, 45),
            number("sodium", 125, 150),
            number("pulse", 45, 140),
            number("systolic", 80, 200),
        ]
    }
)

# %%
# ``always`` puts age and sex, and an intercept, into every support; the six others are chosen
# from.

from mipselect import ExponentialMechanism, Instance, Ledger

problem = Instance.from_table(
    table, schema, target="systolic", support_size=2, always=["age", "sex"]
)
print(problem.feature_names)
print(f"Δ = {problem.sensitivity:.2e}, for 2 features of up to 12 columns each")

# %%
# One private draw
# ----------------

ledger = Ledger(epsilon=1.0)
draw = ExponentialMechanism(problem, epsilon=1.0)
release = draw.release(ledger)
print(release)

# %%
# What the draw is like
# ---------------------
# How likely each feature is to be drawn says more about the table than a release does. It is for
# the people who may see the data, and is marked so.

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for epsilon, color in ((0.1, "0.75"), (0.3, "0.5"), (1.0, "C3")):
    chances = ExponentialMechanism(problem, epsilon).inclusion_probabilities()
    axes.plot(problem.feature_names, chances, "o-", color=color, label=f"ε = {epsilon}")
axes.set_ylabel("probability of being drawn")
axes.set_title("SENSITIVE: do not publish", color="C3")
axes.legend()
plt.show()

# %%
# And in the units of the table, sensitive as well:

print(problem.fit_in_units(release.support))
