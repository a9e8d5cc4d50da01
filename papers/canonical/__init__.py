"""Experiments of the paper on canonical Lipschitz selection."""
