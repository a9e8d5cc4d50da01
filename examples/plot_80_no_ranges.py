"""
No ranges at all
================

Most private methods ask for the range of every column. Here nobody knows any: incomes have a long
tail, one column is in millimetres and another in tonnes, and a few values are absurd. Blocks of
rows need no range. The picture shows what one absurd value does to a selection, and what it does
not.
"""

# %%
# A table in wild units
# ---------------------
# The target depends on three columns. One row has an income of a thousand millions.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(8)
n = 6_000
table = pd.DataFrame(
    {
        "income": np.exp(rng.normal(10.5, 0.6, n)),
        "height_mm": rng.normal(1700, 90, n),
        "freight_t": rng.gamma(2.0, 0.004, n),
        **{f"noise {k}": rng.standard_t(3, n) * 10.0**k for k in range(9)},
    }
)
scaled = (table - table.mean()) / table.std()
y = scaled["income"] + 0.8 * scaled["height_mm"] + 0.6 * scaled["freight_t"] + rng.normal(0, 1.5, n)
table.loc[0, "income"] = 1e9

# %%
# Three columns, without a range
# ------------------------------
# A draw from all supports of three columns, at ε = 0.5.

from mipselect import Ledger
from mipselect.selectors import PermuteAndFlipSelector

ledger = Ledger(epsilon=0.5)
selector = PermuteAndFlipSelector(3, epsilon=0.5, ledger=ledger).fit(table, y)
print(selector.release_)

# %%
# The absurd row moves one block
# ------------------------------
# The exact probabilities of the draw, with the absurd value and without it. In the world these
# numbers are sensitive, and would stay inside.

best = [0, 1, 2]
other = table.assign(income=table["income"].where(table["income"] < 1e8, table["income"].median()))


def chance(frame, epsilon):
    drawn = PermuteAndFlipSelector(3, epsilon=epsilon, random_state=0)
    return float(np.exp(drawn.mechanism(frame, y).log_probability(best)))


epsilons = (0.05, 0.1, 0.2, 0.5, 1.0)
with_it = [chance(table, epsilon) for epsilon in epsilons]
without = [chance(other, epsilon) for epsilon in epsilons]
print([f"{a:.2f} {b:.2f}" for a, b in zip(with_it, without, strict=True)])

# %%
# The picture
# -----------

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(epsilons, with_it, "o-", label="with the absurd value")
axes.plot(epsilons, without, "s--", label="without it")
axes.set(xscale="log", xlabel="ε", ylabel="probability of the three columns", ylim=(-0.02, 1.05))
axes.legend()
plt.show()
