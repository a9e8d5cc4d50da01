"""Noise: its laws, its largest values, and exact draws."""
