"""Bounds that every search uses."""
