"""The search for the squared loss: Schur complements and diagonal dominance."""
