"""Real tables: their public description, and the public map of every row into features."""

from mipselect.tables.encoders import Column
from mipselect.tables.fields import Field
from mipselect.tables.mapping import FeatureTable, Units, map_table
from mipselect.tables.public_map import PublicMap
from mipselect.tables.schema import TableSchema

__all__ = ["Column", "FeatureTable", "Field", "PublicMap", "TableSchema", "Units", "map_table"]
