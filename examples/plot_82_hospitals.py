"""
Several hospitals that may not pool their rows
==============================================

Four hospitals want one selection of fields. No row may leave any of them. Each adds up its own
table under one public schema, the sums are added, and one private draw is made from the total. It
is the same draw as from the pooled table, to the last bit of the sums.
"""

# %%
# Four tables
# -----------
# One hospital is large, three are small; alone, the small ones would find little.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(12)
names = ["age", "pulse", "systolic", "sodium", "crp", "weight", "height", "visits"]
low = np.array([18, 40, 80, 120, 0, 40, 140, 0])
high = np.array([100, 160, 200, 155, 200, 160, 210, 20])


def hospital(n):
    shares = rng.beta(2, 2, (n, len(names)))
    days = 15 + 8 * (shares[:, 0] - 0.5) + 9 * (shares[:, 4] - 0.5) - 7 * (shares[:, 7] - 0.5)
    table = pd.DataFrame(low + shares * (high - low), columns=names)
    return table.assign(days=(days + rng.normal(0, 3, n)).clip(0, 30))


tables = {
    "north": hospital(6000),
    "south": hospital(700),
    "east": hospital(900),
    "west": hospital(500),
}

# %%
# One schema, four sums
# ---------------------
# `Moments.of` runs in each hospital. What it returns is sensitive: it goes to the place that adds
# up, by agreement or by a secure sum of integers.

from mipselect import ExponentialMechanism, Instance, Moments
from mipselect.tables import TableSchema

limits = {name: (float(a), float(b)) for name, a, b in zip(names, low, high, strict=True)}
schema = TableSchema.of_numbers({**limits, "days": (0.0, 30.0)})
sums = {name: Moments.of(table, schema, target="days") for name, table in tables.items()}
together = sums["north"] + sums["south"] + sums["east"] + sums["west"]
pooled = Moments.of(pd.concat(tables.values()), schema, target="days")
print("the same to the last bit:", np.array_equal(together.matrix, pooled.matrix))

# %%
# One draw
# --------

instance = Instance.from_moments(together, support_size=3)
print(ExponentialMechanism(instance, epsilon=1.0).release())

# %%
# How much it helps
# -----------------
# The probability of the three right fields, from each hospital alone and from all. These are
# exact, and sensitive in the world.


def chance(moments, epsilon=1.0):
    law = ExponentialMechanism(Instance.from_moments(moments, support_size=3), epsilon=epsilon)
    return float(np.exp(law.log_probability([0, 4, 7])))


chances = {name: chance(each) for name, each in {**sums, "together": together}.items()}
print({name: round(value, 2) for name, value in chances.items()})
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.bar(list(chances), list(chances.values()), color=["grey"] * 4 + ["tab:blue"])
axes.axhline(1 / 56, linestyle="--", color="black", label="a uniform draw")
axes.set(ylabel="probability of the right three fields", ylim=(0, 1))
axes.legend()
plt.show()
