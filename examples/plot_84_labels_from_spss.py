"""
A table with labels from SPSS
=============================

A survey office keeps its tables in SPSS. The file holds the codebook: what a variable means, what
1, 2 and 3 stand for, which codes mean *refused*. `describe` reads these, and no row. Ranges are
left to a person, and then one private model is fitted.
"""

# %%
# A file as an office writes it
# -----------------------------
# Codes with labels, an ordered scale, and 9 for people who did not answer.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyreadstat

rng = np.random.default_rng(4)
n = 5_000
health = rng.choice([1.0, 2.0, 3.0, 4.0, 9.0], n, p=[0.3, 0.35, 0.2, 0.1, 0.05])
smoking = rng.choice([1.0, 2.0, 3.0], n, p=[0.5, 0.3, 0.2])
age = rng.integers(18, 95, n).astype(float)
region = rng.choice([1.0, 2.0, 3.0, 4.0], n)
worse = np.where(health == 9.0, 1.0, health - 1.0)
visits = rng.poisson(np.clip(1 + 2 * worse + 2 * (smoking == 3) + 0.03 * (age - 50), 0.2, None))
table = pd.DataFrame(
    {"health": health, "smoking": smoking, "age": age, "region": region, "visits": visits * 1.0}
)
folder = tempfile.TemporaryDirectory()
survey = Path(folder.name) / "survey.sav"
pyreadstat.write_sav(
    table,
    survey,
    column_labels=["Health, as the person says", "Smoking", "Age", "Region", "Visits to a doctor"],
    variable_value_labels={
        "health": {1: "very good", 2: "good", 3: "fair", 4: "bad", 9: "no answer"},
        "smoking": {1: "never", 2: "former", 3: "current"},
        "region": {1: "north", 2: "east", 3: "south", 4: "west"},
    },
    missing_ranges={"health": [9]},
    variable_measure={"health": "ordinal"},
)

# %%
# What the file says of itself
# ----------------------------
# Labels became categories, the scale is ordered, and 9 is a code of no value. What is lacking are
# ranges: no tool may take them from the rows.

from mipselect.tables import TableSchema

schema = TableSchema.skeleton(survey)
for field in schema.fields:
    print(f"{field.name}, {field.type}: {', '.join(field.labels)}; lacks: {field.gap or 'nothing'}")

# %%
# What a person knows
# -------------------
# The questionnaire says who was asked, and how often people see a doctor is known.

content = schema.content
for entry in content["fields"]:
    if entry["name"] in ("age", "visits"):
        top = {"age": 100, "visits": 15}[entry["name"]]
        entry["constraints"] = {"minimum": 18 if entry["name"] == "age" else 0, "maximum": top}
schema = TableSchema.of(content)

# %%
# Fields and coefficients, as one release
# ---------------------------------------

from mipselect.regression import ObjectivePerturbationRegressor, SelectThenRegress
from mipselect.selectors import PermuteAndFlipSelector

model = SelectThenRegress(
    PermuteAndFlipSelector(2, epsilon=0.5),
    ObjectivePerturbationRegressor(epsilon=1.5, loss="huber(0.25)"),
)
model.fit_table(survey, schema, target="visits")
print(model.release_)

# %%
# The picture
# -----------
# Each point says how visits differ, by the words of the file.

axes = model.plot()
axes.figure.set_layout_engine("constrained")
plt.show()
folder.cleanup()
