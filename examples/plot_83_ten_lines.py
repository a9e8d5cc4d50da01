"""
Teaching differential privacy in ten lines
==========================================

For a lecture: a mechanism in ten lines, the definition checked on two neighbours, and a mistake
that looks harmless. Nothing here needs a table.
"""

# %%
# A mechanism in ten lines
# ------------------------
# A class votes for one of five dishes. The exponential mechanism releases the winner: a dish with
# one vote more is drawn e^(ε/2) times as often.

import matplotlib.pyplot as plt
import numpy as np


def law(votes, epsilon):
    weights = np.exp(0.5 * epsilon * (votes - votes.max()))
    return weights / weights.sum()


def winner(votes, epsilon, rng):
    return rng.choice(len(votes), p=law(votes, epsilon))


votes = np.array([9, 8, 4, 3, 1])
print(law(votes, 1.0).round(3), winner(votes, 1.0, np.random.default_rng(0)))

# %%
# The definition, checked
# -----------------------
# A pupil changes their vote from the second dish to the first. No dish becomes more than e^ε times
# as probable, or less.

neighbour = votes + np.array([1, -1, 0, 0, 0])
ratios = law(neighbour, 1.0) / law(votes, 1.0)
print(np.log(ratios).round(3), "all within ±1:", bool(np.all(np.abs(np.log(ratios)) <= 1)))

# %%
# A mistake, and who finds it
# ---------------------------
# A colleague forgets the 2: "one vote changes a count by one". But a changed vote moves two
# counts. The audit of mipselect looks at all neighbours, and finds the loss.

from mipselect.privacy.audit import ScoreVectors, law_of, worst_pair


class Careless:
    def __init__(self, scores):
        self.weights = law(np.asarray(scores), 2.0)

    def log_probability(self, outcome):
        return float(np.log(self.weights[outcome]))


space = ScoreVectors(3, low=0.0, high=10.0, sensitivity=1.0)
careless = worst_pair(law_of(Careless, outcomes=range(3)), space, starts=2)
print("claims ε = 1:", careless)

# %%
# The same by mipselect, exactly
# ------------------------------
# `NoisyMax` draws in integers from the operating system, and charges a ledger first.

from mipselect import Ledger
from mipselect.mechanisms import NoisyMax

ledger = Ledger(epsilon=2.0)
print(NoisyMax(votes, 1.0).release(ledger))
print(ledger)

# %%
# The picture for the lecture
# ---------------------------

epsilons = np.geomspace(0.05, 5, 60)
laws = np.array([law(votes, epsilon) for epsilon in epsilons])
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
styles = ("-", "--", "-.", ":", "-")
for dish, style in enumerate(styles):
    axes.plot(epsilons, laws[:, dish], style, label=f"{votes[dish]} votes")
axes.set(xscale="log", xlabel="ε", ylabel="probability of being released")
axes.legend()
plt.show()
