"""Distributions over items, sets and rankings from scores."""
