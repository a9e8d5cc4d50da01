"""Experiments of the paper on heterogeneous sensitivities."""
