"""Real tables: their public description, and the public map of every row into features.

Names are looked up when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mipselect.lookup import looked_up

if TYPE_CHECKING:
    from mipselect.tables.check import FieldCheck, Finding, PersonCheck, TableCheck, check_table
    from mipselect.tables.derived import DerivedField
    from mipselect.tables.encoders import Column
    from mipselect.tables.equation import TableEquation, Term
    from mipselect.tables.fields import Field
    from mipselect.tables.model_table import ModelTable
    from mipselect.tables.public_map import PublicMap
    from mipselect.tables.schema import TableSchema
    from mipselect.tables.schema_encoder import SchemaEncoder
    from mipselect.tables.table_file import TableFile

_HOMES = {
    "Column": "encoders",
    "DerivedField": "derived",
    "Field": "fields",
    "FieldCheck": "check",
    "Finding": "check",
    "ModelTable": "model_table",
    "PersonCheck": "check",
    "PublicMap": "public_map",
    "SchemaEncoder": "schema_encoder",
    "TableCheck": "check",
    "TableEquation": "equation",
    "TableFile": "table_file",
    "TableSchema": "schema",
    "Term": "equation",
    "check_table": "check",
}

__all__ = [
    "Column",
    "DerivedField",
    "Field",
    "FieldCheck",
    "Finding",
    "ModelTable",
    "PersonCheck",
    "PublicMap",
    "SchemaEncoder",
    "TableCheck",
    "TableEquation",
    "TableFile",
    "TableSchema",
    "Term",
    "check_table",
]

__getattr__ = looked_up(__name__, _HOMES)
