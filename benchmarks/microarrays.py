"""DP-SIS against the two-stage selector on the microarrays of the DP-SIS paper.

    python -m benchmarks.microarrays [FOLDER]

As in section 5 of the paper: columns and class codes are centred and scaled to a largest |entry|
of 1, k = 5, and the reference are the 5 largest |coefficients| of a non-private Lasso with
λ = 0.1. "Scaled" is read as the paper defines it for DP-SIS, an infinity norm of 1, and λ as the
`alpha` of scikit-learn, which divides the squares by 2n. The Lasso, reference and ballots, runs on
columns of variance 1 and on the class codes as they are: on columns with a norm of 1 it has no
coefficients at all at this λ.

Draws are seeded. Centring and scaling here look at the data, as in the paper, and are no part of
any guarantee.
"""

from __future__ import annotations
