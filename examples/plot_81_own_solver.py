"""
Your own MIP solver
===================

A certified search hands small mixed-integer programs to a solver. Here that is ``milp`` of SciPy,
which mipselect does not know. A class with two methods is enough, and whatever it answers is
proven again.
"""

# %%
# A master and a solver
# ---------------------
# A master is a program with one column of 0 or 1 for each feature, and a last one, the bound.

import math

import matplotlib.pyplot as plt
import numpy as np
import scipy
from scipy.optimize import Bounds, milp

from mipselect.backends.protocols import (
    Capability,
    Master,
    MasterSolution,
    MipStatus,
    SolverStatus,
    rounded,
)

solves = []


class ScipyMaster(Master):
    def __init__(self, columns, cardinality):
        super().__init__(columns, cardinality, tolerance=1e-6)
        self.rows, self.least, self.most = [], [], []
        self.count(np.arange(columns), cardinality, cardinality)

    def add_row(self, coefficients, least, most):
        self.rows.append(coefficients)
        self.least.append(least)
        self.most.append(most)

    def run(self, *, cutoff, time_limit):
        z = np.append(np.ones(self.columns), 0.0)
        options = {"mip_rel_gap": 0.0}
        if math.isfinite(time_limit):
            options["time_limit"] = max(time_limit, 0.0)
        found = milp(
            1.0 - z,
            integrality=z,
            constraints=(np.array(self.rows), self.least, self.most),
            bounds=Bounds(np.where(z, 0.0, -np.inf), np.where(z, 1.0, cutoff)),
            options=options,
        )
        ends = {0: MipStatus.OPTIMAL, 1: MipStatus.TIME_LIMIT, 2: MipStatus.INFEASIBLE}
        status, chosen, bound = ends.get(found.status, MipStatus.FAILED), None, -math.inf
        if status is MipStatus.OPTIMAL:
            chosen, bound = rounded(found.x[:-1]), found.mip_dual_bound
        solves.append(self.columns)
        nodes = int(found.mip_node_count or 0)
        return MasterSolution(status, chosen, bound, nodes, found.message)


class ScipySolver:
    status = SolverStatus("scipy", True, "", scipy.__version__, frozenset({Capability.MILP}))

    def __init__(self, threads=None, seed=0):
        pass  # milp has no such options

    def master(self, columns, cardinality):
        return ScipyMaster(columns, cardinality)


# %%
# The same answer, with the same proof
# ------------------------------------
# Columns are correlated here, so that bounds alone do not prove everything.

from mipselect import Instance, load_instance, top_supports

stored = load_instance("correlated-p100")
rows = slice(0, 4000)
instance = Instance(
    np.asarray(stored.X)[rows, :18],
    np.asarray(stored.y)[rows],
    support_size=5,
    x_bound=stored.x_bound,
    y_bound=stored.y_bound,
    coef_bound=stored.coef_bound,
    ridge=60.0,
)
by_scipy = top_supports(instance, 20, solver=ScipySolver())
by_bounds = top_supports(instance, 20, solver="native")
print(f"{len(solves)} masters of {min(solves, default=0)} to {max(solves, default=0)} features")
print(by_scipy.supports[0], by_scipy.certified)
assert np.allclose(by_scipy.values, by_bounds.values, rtol=1e-9)

# %%
# The picture
# -----------
# Values of the pool, and the bound that is proven for all other of the 8,568 supports.

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(by_scipy.values, "o", label="native and scipy agree")
axes.axhline(by_scipy.rest_bound, linestyle="--", color="grey", label="proven for all others")
axes.set(xlabel="rank of the support", ylabel="value R(S)")
axes.legend()
plt.show()
