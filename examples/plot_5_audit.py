"""
Auditing somebody else's mechanism
==================================

A colleague has written a softmax of scores by hand and says that it is private at ε = 1. The
audit takes plain functions, so it does not matter who wrote them. It looks for two neighbours
and an outcome whose probabilities differ by more than e^ε: a proof that something is wrong.
Finding none proves nothing.
"""

# %%
# Two laws, exactly
# -----------------
# A law is a function from scores to the log probabilities of all outcomes. The first is the
# package's own; the second is a softmax that somebody wrote with ε in place of ε/2. The loss of a
# pair is a number, and the worst pair can be searched for.

import math

import matplotlib.pyplot as plt
import numpy as np

from mipselect.mechanisms import NoisyMax
from mipselect.privacy.audit import ScoreVectors, largest_loss, law_of, worst_pair

ours = law_of(lambda scores: NoisyMax(scores, 1.0, noise="gumbel"), outcomes=range(3))


def softmax(scores):
    logs = np.asarray(scores) * 1.0
    return logs - np.log(np.sum(np.exp(logs)))


space = ScoreVectors(3, low=0.0, high=8.0, sensitivity=1.0)
worst = {"ours": worst_pair(ours, space, starts=2), "softmax": worst_pair(softmax, space, starts=4)}
for name, loss in worst.items():
    print(f"{name}: {loss}")
assert worst["ours"].epsilon <= 1.0 + 1e-9 < worst["softmax"].epsilon

# %%
# The loss, as the scores come apart
# ----------------------------------

gaps = np.linspace(-6, 6, 61)
losses = {
    name: [largest_loss(law, [([g, 0.0, 0.0], [g + 1.0, -1.0, -1.0])]).epsilon for g in gaps]
    for name, law in (("ours", ours), ("softmax", softmax))
}
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(gaps, losses["ours"], "C0", label="ours")
axes.plot(gaps, losses["softmax"], "C3", label="softmax with ε for ε/2")
axes.axhline(1.0, color="0.5", linestyle=":", label="stated ε")
axes.set_xlabel("score of the first item, less that of the others")
axes.set_ylabel("privacy loss of a pair")
axes.set_ylim(0.0, math.ceil(max(losses["softmax"])) + 0.2)
axes.legend(fontsize="small")
plt.show()
