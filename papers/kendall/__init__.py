"""Experiments of the paper on Kendall's correlation before private regression."""
