"""
What makes the rent? A mixed frame, as it is
============================================

Categories, truth values and gaps stay as they are: a public schema says what the frame can hold,
and ``fit_table`` selects fields and fits their coefficients as one private release. It says how
well it predicts, and shows itself as text, as a frame and as a picture.
"""

# %%
# A frame of flats
# ----------------
# Each row is a household that told its rent. One in ten does not know when the house was built.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(11)
n = 12_000
X = pd.DataFrame(
    {
        "area": rng.gamma(6.0, 12.0, n).clip(15, 200).round(),
        "built": np.where(rng.random(n) < 0.1, np.nan, rng.integers(1900, 2024, n)),
        "district": rng.choice(["centre", "north", "river", "south"], n, p=[0.3, 0.3, 0.1, 0.3]),
        "balcony": rng.random(n) < 0.4,
        "floor": rng.integers(0, 9, n),
        "pets": rng.choice(["none", "cat", "dog"], n),
    }
)
places = {"centre": 350, "north": 0, "river": 200, "south": 60}
y = 250 + 9.0 * X["area"] + X["district"].map(places) + 40 * X["balcony"]
y = (y + rng.normal(0, 120, n)).clip(0, 2500).round()
flats = X.assign(rent=y)

# %%
# What is public about it
# -----------------------
# From the questionnaire, not from the rows: ranges that most flats are in, and lists of categories.
# The year may be missing; for ``required`` fields there is no term for missing values at all.

from mipselect.tables import TableSchema


def number(name, low, high, required=True):
    limits = {"minimum": low, "maximum": high, "required": required}
    return {"name": name, "type": "number", "constraints": limits}


def category(name, levels):
    entry = {"name": name, "type": "string", "categories": levels}
    return {**entry, "constraints": {"required": True}}


schema = TableSchema.of(
    {
        "fields": [
            number("area", 15, 200),
            number("built", 1900, 2024, required=False),
            category("district", ["north", "centre", "river", "south"]),
            {"name": "balcony", "type": "boolean", "constraints": {"required": True}},
            number("floor", 0, 12),
            category("pets", ["none", "cat", "dog"]),
            number("rent", 0, 2500),
        ]
    }
)

# %%
# The model
# ---------
# The ledger pays for it once. Coefficients are in euros. Terms that say nothing unless somebody has
# such a value are counted. A fifth of the flats is kept apart from the fit, and says how well it
# predicts, at no further cost.

from mipselect import Ledger
from mipselect.regression import AdaSSPRegressor, SelectThenRegress
from mipselect.selectors import ExponentialSelector

ledger = Ledger(epsilon=1.0, delta=1e-6)
model = SelectThenRegress(
    ExponentialSelector(2),
    AdaSSPRegressor(delta=1e-6),
    epsilon=1.0,
    quality_share=0.2,
    ledger=ledger,
)
model.fit_table(flats, schema, target="rent")
print(model.summary())

# %%
# The same as a frame, for tables and figures of one's own. Terms that are ``aside`` are in it too:

print(model.to_frame().drop(columns=["kind", "reference"]).to_string(index=False))

# %%
# A picture that may be published
# -------------------------------
# A year or a square metre is little and a district is much, so that numbers are drawn for their
# whole public range. The guarantee is its title.

axes = model.plot()
axes.set_xlabel("euros of rent")
plt.show()
