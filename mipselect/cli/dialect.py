"""A table as commands are given it, and options that say how its files are written."""

from __future__ import annotations

from typing import Any

from mipselect.cli.declared import argument, group, option, options
from mipselect.cli.options import stated
from mipselect.errors import InvalidInput
from mipselect.tables.table_file import TableFile

TABLE = "A .csv, .parquet, .arrow, .sav, .dta, .sas7bdat, .xpt or .xlsx file, a folder or a pattern"
TAB = ("tab", "\\t")
"""Ways to give a tab."""


@options
class DialectOptions:
    """Delimiter, encoding and sheet of a table."""

    PANEL = "Way in which DATA is written"

    delimiter: str | None = option(
        "--delimiter",
        "Of a CSV file: what stands between two values.",
        metavar="CHAR|tab",
        show_default="a comma",
    )
    encoding: str | None = option(
        "--encoding",
        "Of a CSV file, or one of SPSS, Stata or SAS: its letters, such as latin-1 or cp1252.",
        metavar="NAME",
        show_default="utf-8, or what the file says",
    )
    sheet: str | None = option(
        "--sheet", "Of an Excel file: which sheet.", metavar="NAME", show_default="the first"
    )

    @property
    def keywords(self) -> dict[str, Any]:
        """Options that were given, as arguments of `TableFile`."""
        mark = "\t" if self.delimiter in TAB else self.delimiter
        return stated(delimiter=mark, encoding=self.encoding, sheet=self.sheet)

    def source(self, data: str) -> TableFile:
        """Return the table; raise `InvalidInput`, naming the option, for what is none of them."""
        try:
            return TableFile(data, **self.keywords)
        except InvalidInput as error:
            raise InvalidInput(f"--{error}") from None


@options
class TableArgument:
    """A table, and the way in which it is written."""

    data: str = argument("DATA", f"{TABLE}.")
    dialect: DialectOptions = group(DialectOptions)

    @property
    def source(self) -> TableFile:
        """The table, with the way in which it is written."""
        return self.dialect.source(self.data)

    @property
    def head(self) -> dict[str, Any]:
        """First entries of a report, after the command."""
        return {"data": self.data, **self.dialect.keywords}
