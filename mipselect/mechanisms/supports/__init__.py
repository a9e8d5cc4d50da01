"""Distributions over the supports of s out of p features."""
