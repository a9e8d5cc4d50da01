"""Blocks of rows: partitions that are drawn before the data are seen, and what is made of them."""
