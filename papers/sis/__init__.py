"""Experiments of the paper on feature selection from private correlations."""
