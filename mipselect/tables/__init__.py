"""Real tables: their public description, and the public map of every row into features."""

from mipselect.tables.encoders import Column
from mipselect.tables.fields import Field
from mipselect.tables.mapping import FeatureTable, map_table
from mipselect.tables.public_map import PublicMap
from mipselect.tables.schema import TableSchema
from mipselect.tables.units import TableCoefficients, Units

__all__ = [
    "Column",
    "FeatureTable",
    "Field",
    "PublicMap",
    "TableCoefficients",
    "TableSchema",
    "Units",
    "map_table",
]
