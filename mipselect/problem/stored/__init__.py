"""Stored instances: problems and data that a TOML file describes."""
