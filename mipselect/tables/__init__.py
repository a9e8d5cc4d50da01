"""Real tables: their public description, and the public map of every row into features."""

from mipselect.tables.encoders import Column
from mipselect.tables.equation import TableEquation, Term
from mipselect.tables.fields import Field
from mipselect.tables.mapping import FeatureTable, map_table
from mipselect.tables.model_table import ModelTable
from mipselect.tables.public_map import PublicMap
from mipselect.tables.schema import TableSchema
from mipselect.tables.units import TableCoefficients, Units

__all__ = [
    "Column",
    "FeatureTable",
    "Field",
    "ModelTable",
    "PublicMap",
    "TableCoefficients",
    "TableEquation",
    "TableSchema",
    "Term",
    "Units",
    "map_table",
]
