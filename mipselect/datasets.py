"""Generators of the papers, and the diabetes data that come with scikit-learn."""

from mipselect.problem.descriptions import correlated_gaussian, diabetes, logistic_gaussian

__all__ = ["correlated_gaussian", "diabetes", "logistic_gaussian"]
