"""Experiments of the papers, and the command `reproduce`."""
