"""Selectors compared on the same data: what runs, what is stored of it, and its summary."""
