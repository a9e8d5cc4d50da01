"""
Auditing somebody else's mechanism
==================================

A colleague has written "report noisy max" by hand and says that it is private at ε = 1. The
audit takes plain functions, so it does not matter who wrote them. It looks for two neighbours
and an outcome whose probabilities differ by more than e^ε: a proof that something is wrong.
Finding none proves nothing.
"""

# %%
# Three versions
# --------------
# One is right. One forgets that *every* score can move; one draws noise of each item's own scale.

import math

import matplotlib.pyplot as plt
import numpy as np


def right(scores, rng):
    return int(np.argmax(np.asarray(scores) / 2 + rng.exponential(size=len(scores))))


def halved(scores, rng):
    return int(np.argmax(np.asarray(scores) + rng.exponential(size=len(scores))))


def own_scales(scores, rng):
    scales = 2.0 * np.array([0.2, 1.0, 1.0])  # 2Δ_a/ε
    return int(np.argmax(np.asarray(scores) + scales * rng.exponential(size=len(scores))))


# %%
# From draws alone
# ----------------
# `lower_bound` needs nothing but draws: on a pair of neighbours, a lower bound on ε that holds
# with 99 % confidence.

from mipselect.privacy.audit import ScoreVectors, largest_loss, law_of, lower_bound, worst_pair

pair = [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]
found = {
    name: lower_bound(sampler, *pair, draws=20_000)
    for name, sampler in (("right", right), ("halved", halved), ("own scales", own_scales))
}
for name, bound in found.items():
    print(f"{name}: {bound}")

# %%
# From the law, exactly
# ---------------------
# Where probabilities are known, the loss of a pair is a number and the worst pair can be searched
# for. The first law is the package's own; the second is a softmax that somebody wrote with ε in
# place of ε/2.

from mipselect.mechanisms import NoisyMax

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
