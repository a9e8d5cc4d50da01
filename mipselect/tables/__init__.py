"""Real tables: their public description, and the public map of every row into features.

`SchemaEncoder` is looked up when it is first used: scikit-learn takes longer to load than all of
the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mipselect.tables.check.field_check import FieldCheck, PersonCheck
from mipselect.tables.check.findings import Finding
from mipselect.tables.check.fits import TrialFit
from mipselect.tables.check.passes import check_table
from mipselect.tables.check.table_check import TableCheck
from mipselect.tables.derivations import DerivedField
from mipselect.tables.encoders import Column
from mipselect.tables.equation import TableEquation
from mipselect.tables.fields import Field
from mipselect.tables.mapping import FeatureTable, map_table
from mipselect.tables.model_table import ModelTable
from mipselect.tables.public_map import PublicMap
from mipselect.tables.schema import TableSchema
from mipselect.tables.table_file import TableFile
from mipselect.tables.terms import Term
from mipselect.tables.units import TableCoefficients, Units

if TYPE_CHECKING:
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
    "TrialFit",
    "Units",
    "check_table",
    "map_table",
]


def __getattr__(name: str) -> Any:
    if name != "SchemaEncoder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mipselect.tables.schema_encoder import SchemaEncoder

    return SchemaEncoder
