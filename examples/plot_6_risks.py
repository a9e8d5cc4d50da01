"""
Who comes back? Risks that can be acted on
==========================================

A model of two classes that may leave the building: which fields, odds per unit of each, and a
probability for every patient. Whom to call is then a threshold that costs no further ε.
"""

# %%
# A table of stays
# ----------------
# One stay in seven is followed by another within a month.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(4)
n = 12_000
table = pd.DataFrame(
    {
        "age": np.clip(rng.normal(62, 16, n), 18, 100).round(),
        "sex": rng.choice(["f", "m"], n),
        "visits": rng.negative_binomial(0.6, 0.35, n).clip(0, 20),
        "ward": rng.choice(["surgery", "medicine", "heart"], n, p=[0.4, 0.4, 0.2]),
        "days": np.exp(rng.normal(1.3, 0.6, n)).clip(1, 30).round(),
        "pulse": rng.normal(78, 11, n).clip(40, 150).round(),
    }
)
log_odds = -2.6 + 0.45 * table["visits"].clip(0, 8) + 0.8 * (table["ward"] == "heart")
log_odds += 0.02 * (table["age"] - 62)
table["again"] = rng.random(n) < 1 / (1 + np.exp(-log_odds))
print(f"{table['again'].mean():.1%} come back")

# %%
# What is public about it
# -----------------------

from mipselect.tables import TableSchema


def number(name, low, high):
    limits = {"minimum": low, "maximum": high, "required": True}
    return {"name": name, "type": "number", "constraints": limits}


def category(name, levels):
    entry = {"name": name, "type": "string", "categories": levels}
    return {**entry, "constraints": {"required": True}}


schema = TableSchema.of(
    {
        "fields": [
            number("age", 18, 100),
            category("sex", ["f", "m"]),
            number("visits", 0, 20),
            category("ward", ["surgery", "medicine", "heart"]),
            number("days", 0, 30),
            number("pulse", 40, 150),
            {"name": "again", "type": "boolean", "constraints": {"required": True}},
        ]
    }
)

# %%
# One private model
# -----------------
# Half of ε selects two fields and the other half pays for their coefficients. A coefficient adds to
# the logarithm of the odds, so that per unit the odds are multiplied.

from mipselect import Ledger
from mipselect.regression import ObjectivePerturbationClassifier, SelectThenRegress
from mipselect.selectors import ExponentialSelector

train, new = table.iloc[:8_000], table.iloc[8_000:]
ledger = Ledger(epsilon=2.0)
model = SelectThenRegress(
    ExponentialSelector(2), ObjectivePerturbationClassifier(), epsilon=2.0, ledger=ledger
).fit_table(train, schema, target="again")
print(model.release_)

# %%
# Probabilities, and whom to call
# -------------------------------
# More than one half is likely for few. With 400 calls to make in 4,000 stays a lower threshold is
# of more use: it is a choice of those who call, made on the released model.

risks = model.predict_proba(new)[:, 1]
print(f"mean risk {risks.mean():.1%}, and {new['again'].mean():.1%} come back")
threshold = float(np.sort(risks)[-400])
called = model.release_.predict(new, threshold=threshold)
print(f"above {threshold:.2f}: {called.sum()} calls, {new['again'][called].mean():.0%} come back")

# %%
# Are they right? A picture of it looks at the new rows, and is as sensitive as these are.

edges = np.quantile(risks, np.linspace(0, 1, 11))
group = np.clip(np.searchsorted(edges, risks, side="right") - 1, 0, 9)
said = [risks[group == k].mean() for k in np.unique(group)]
seen = [new["again"][group == k].mean() for k in np.unique(group)]
figure, axes = plt.subplots(figsize=(4.5, 4), layout="constrained")
axes.plot([0, 0.7], [0, 0.7], color="0.8")
axes.plot(said, seen, "o-")
axes.set_xlabel("risk by the private model, by tenths of the rows")
axes.set_ylabel("share that came back")
axes.set_title("SENSITIVE: do not publish", color="C3")
plt.show()
