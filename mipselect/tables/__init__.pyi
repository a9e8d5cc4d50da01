"""Names of the package and their modules: for types, and for `mipselect.lookup`."""

from mipselect.tables.check import FieldCheck as FieldCheck
from mipselect.tables.check import Finding as Finding
from mipselect.tables.check import PersonCheck as PersonCheck
from mipselect.tables.check import TableCheck as TableCheck
from mipselect.tables.check import check_table as check_table
from mipselect.tables.encoders import Column as Column
from mipselect.tables.encoders import TableEquation as TableEquation
from mipselect.tables.encoders import Term as Term
from mipselect.tables.fields import Field as Field
from mipselect.tables.parts import TableFile as TableFile
from mipselect.tables.public_map import ModelTable as ModelTable
from mipselect.tables.public_map import PublicMap as PublicMap
from mipselect.tables.schema import DerivedField as DerivedField
from mipselect.tables.schema import TableSchema as TableSchema
from mipselect.tables.schema_encoder import SchemaEncoder as SchemaEncoder
