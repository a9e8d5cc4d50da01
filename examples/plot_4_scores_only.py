"""
You only have scores
====================

A registry counts how many patients take each of 2,000 drugs, and wants to name the twenty that
are taken most. No regression, no search: a score for each item, and how far one person can move
it.
"""

# %%
# Counts
# ------

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(11)
counts = np.sort(rng.zipf(1.35, 2_000).clip(max=60_000))[::-1].copy()
counts[:40] += np.linspace(4_000, 0, 40).astype(int)
print(counts[:20])

# %%
# The draw
# --------
# One person more raises every count by 0 or 1, all in one direction: half of that is the
# sensitivity. Canonical Lipschitz draws the set of twenty at once, without composition.

from mipselect import Ledger
from mipselect.mechanisms import CanonicalLipschitz, OneShotTopK, Peeling

k, public = 20, {"sensitivity": 0.5, "relation": "add-remove"}
ledger = Ledger(epsilon=0.1, relation="add-remove")
release = CanonicalLipschitz(counts, k, 0.1, **public).release(ledger)
print(release)
print(f"{len(set(release.support) & set(range(k)))} of the true top {k}")  # sensitive!

# %%
# How much is gained over one item after the other
# ------------------------------------------------
# The probability of exactly the true top twenty, by the laws themselves, not by simulation.
# Peeling and one-shot with Gumbel noise are one law; permute-and-flip in one shot is a little
# better.


def top_twenty(epsilon):
    exact = CanonicalLipschitz(counts, k, epsilon, **public).event_probability("TOP")
    good = CanonicalLipschitz(counts, k, epsilon, **public).event_probability("GOOD")
    peeled = np.exp(Peeling(counts, k, epsilon, **public).log_probability(range(k)))
    flipped = OneShotTopK(counts, k, epsilon, noise="exponential", **public)
    return exact, good, peeled, np.exp(flipped.log_probability(range(k)))


grid = np.geomspace(0.02, 20.0, 13)
exact, good, peeled, flipped = np.array([top_twenty(epsilon) for epsilon in grid]).T
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.semilogx(grid, exact, "C0-", label="canonical Lipschitz")
axes.semilogx(grid, good, "C0:", label='the same, "GOOD": two misses in the tail do not count')
axes.semilogx(grid, flipped, "C1-", label="one-shot, exponential noise")
axes.semilogx(grid, peeled, "C2--", label="peeling, Gumbel noise")
axes.set_xlabel("ε")
axes.set_ylabel(f"P(the true top {k})")
axes.legend(fontsize="small")
plt.show()

# %%
# Which mechanism for which scores is in the guide: :doc:`/scores`.
