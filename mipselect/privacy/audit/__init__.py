"""Audits of privacy: the largest privacy loss that can be found, and a lower bound on ε.

Works on plain functions, this package's mechanisms or somebody else's:

- a **law** takes data and returns the log probabilities of all outcomes, in a fixed order;
- a **sampler** takes data and a seeded generator and returns an outcome that can be hashed.

`largest_loss` looks at given pairs of neighbours, `worst_pair` searches for bad ones; both are
exact where the law is. `lower_bound` needs draws only. A loss above ε is a proof that the
mechanism is not ε-DP; one below it proves nothing, it is the best that was found.

For (ε, δ) and for outcomes that are real numbers: `largest_delta` computes the δ that given pairs
need at an ε, from probabilities and densities, `hockey_stick` from exact fractions,
`log_gaussian_delta` for normal noise, and `delta_bound` bounds it from draws.
"""

from mipselect.privacy.audit.hockey_stick import (
    Density,
    Divergence,
    MixedLaw,
    hockey_stick,
    largest_delta,
    log_gaussian_delta,
)
from mipselect.privacy.audit.hockey_stick_samples import DeltaBound, delta_bound
from mipselect.privacy.audit.neighbours import NeighbourSpace, ReplacedRow, ScoreVectors
from mipselect.privacy.audit.privacy_loss import PrivacyLoss, largest_loss, law_of, worst_pair
from mipselect.privacy.audit.quadrature import Box
from mipselect.privacy.audit.samples import LowerBound, lower_bound

__all__ = [
    "Box",
    "DeltaBound",
    "Density",
    "Divergence",
    "LowerBound",
    "MixedLaw",
    "NeighbourSpace",
    "PrivacyLoss",
    "ReplacedRow",
    "ScoreVectors",
    "delta_bound",
    "hockey_stick",
    "largest_delta",
    "largest_loss",
    "law_of",
    "log_gaussian_delta",
    "lower_bound",
    "worst_pair",
]

Loss = PrivacyLoss
"""The earlier name of `PrivacyLoss`."""
