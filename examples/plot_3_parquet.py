"""
Ten million rows in Parquet
===========================

Rows come from a folder of Parquet files, are mapped as they are read, and are kept as float32:
the table never has to fit into memory as text or doubles, and products are formed in double
precision in blocks. Here it is done with 200,000 rows, so that this page is built quickly;
``python examples/plot_3_parquet.py 10000000`` does it with ten million.
"""

# %%
# A folder of files
# -----------------

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

rows = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 200_000
temporary = TemporaryDirectory()
folder, part, fields = Path(temporary.name), 100_000, 12
names = [f"m{j:02d}" for j in range(fields)]
effects = np.array([0.30, 0.0, -0.25, 0.0, 0.0, 0.20, 0.0, 0.0, 0.0, 0.15, 0.0, 0.0])
for number, start in enumerate(range(0, rows, part)):
    rng = np.random.default_rng([5, number])
    X = rng.uniform(0.0, 10.0, (min(part, rows - start), fields)).astype(np.float32)
    y = X @ effects + rng.normal(0.0, 2.0, len(X)) + 3.0
    columns = {name: X[:, j] for j, name in enumerate(names)}
    table = pa.table({**columns, "outcome": y.astype(np.float32)})
    pq.write_table(table, folder / f"part-{number:04d}.parquet")
print(f"{rows:,} rows in {len(list(folder.iterdir()))} files")

# %%
# From the folder to a problem
# ----------------------------

from mipselect import ExponentialMechanism, Instance
from mipselect.tables import TableSchema


def field(name, low, high):
    limits = {"minimum": low, "maximum": high, "required": True}
    return {"name": name, "type": "number", "constraints": limits}


schema = TableSchema.of(
    {"fields": [*(field(name, 0, 10) for name in names), field("outcome", 0, 15)]}
)
began = time.perf_counter()
problem = Instance.from_table(folder, schema, target="outcome", support_size=4)
seconds = {"read and map": time.perf_counter() - began}
print(f"Δ = {problem.sensitivity:.2e}: the more rows, the less one of them can do")

# %%
# Many rows, little noise
# -----------------------
# With n rows a difference in R of 1/n costs the same, whatever n: at a hundredth of the usual ε
# the true columns are still drawn nearly always.

began = time.perf_counter()
draw = ExponentialMechanism(problem, epsilon=0.01 if rows >= 10**6 else 0.1)
print(draw.release())
seconds["cells and draw"] = time.perf_counter() - began

# %%
# What would have come of smaller ε? This looks at the law, so it is sensitive.

grid = np.geomspace(1e-3, 1.0, 13) * min(1.0, 200_000 / rows)
chance = [
    float(np.exp(ExponentialMechanism(problem, e).log_probability([0, 2, 5, 9]))) for e in grid
]
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.semilogx(grid, chance, "C3o-")
axes.set_xlabel("ε")
axes.set_ylabel("P(the four true columns)")
axes.set_title(f"SENSITIVE: {rows:,} rows", color="C3")
plt.show()

print({what: f"{value:.1f} s" for what, value in seconds.items()})
temporary.cleanup()
