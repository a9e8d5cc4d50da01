"""Experiments as data: declared, run, stored, judged by their claims, and reported."""
