"""Counts of what does not fit: a table beside its schema, value by value. SENSITIVE."""
