"""Real tables: their public description, and the public map of every row into features.

`SchemaEncoder` is looked up when it is first used, for scikit-learn takes longer to load than all
of the rest; so is the check of a table, which most commands have no use for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mipselect.tables.derived import DerivedField
from mipselect.tables.encoders import Column
from mipselect.tables.equation import TableCoefficients, TableEquation, Term, Units
from mipselect.tables.fields import Field
from mipselect.tables.mapping import FeatureTable, map_table
from mipselect.tables.model_table import ModelTable
from mipselect.tables.public_map import PublicMap
from mipselect.tables.schema import TableSchema
from mipselect.tables.table_file import TableFile

if TYPE_CHECKING:
    from mipselect.tables.check import FieldCheck, Finding, PersonCheck, TableCheck, check_table
    from mipselect.tables.schema_encoder import SchemaEncoder

__all__ = [
    "Column",
    "DerivedField",
    "FeatureTable",
    "Field",
    "FieldCheck",
    "Finding",
    "ModelTable",
    "PersonCheck",
    "PublicMap",
    "SchemaEncoder",
    "TableCheck",
    "TableCoefficients",
    "TableEquation",
    "TableFile",
    "TableSchema",
    "Term",
    "Units",
    "check_table",
    "map_table",
]


_LATER = {
    "FieldCheck": "check",
    "Finding": "check",
    "PersonCheck": "check",
    "SchemaEncoder": "schema_encoder",
    "TableCheck": "check",
    "check_table": "check",
}
"""Modules of names that are looked up when they are first used."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
