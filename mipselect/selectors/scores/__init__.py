"""Scores and values of features, computed from rows or their sums: formulas, and no draw."""
