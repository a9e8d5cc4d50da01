"""Experiments of the paper on variable selection by integer programming."""
