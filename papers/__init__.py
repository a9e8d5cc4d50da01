"""Reproduction of the papers, and comparison of selectors: the commands bench, plot, reproduce."""
