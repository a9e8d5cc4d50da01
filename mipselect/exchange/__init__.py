"""Whole models as files for solvers that are not installed here, and the answers of these."""

from mipselect.exchange.exported import ExportedModel, export_model
from mipselect.exchange.imported import ImportedSolution, import_solution
from mipselect.exchange.settings import SolverSettings

__all__ = [
    "ExportedModel",
    "ImportedSolution",
    "SolverSettings",
    "export_model",
    "import_solution",
]
