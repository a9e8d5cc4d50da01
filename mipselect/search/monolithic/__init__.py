"""Whole models in Pyomo, solved at once by a MIP solver."""
