"""`TableFile`: a file of a table, with what one has to know to read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mipselect.errors import InvalidInput
from mipselect.tables.transcoded import UTF8, checked_encoding
from mipselect.validation import set_fields, shown

COMMA = ","


@dataclass(frozen=True)
class TableFile:
    """A table in files, with the way they are written; a source wherever a path is one.

    Parameters
    ----------
    path : str or Path
        A file, a URL, a folder or a pattern.
    delimiter : str
        What stands between two values of a CSV file: one ASCII character.
    encoding : str
        Encoding of CSV, SPSS, Stata and SAS files, by its name in Python. Files of the
        last three usually say theirs, which holds unless another one than UTF-8 is given.
    sheet : str, optional
        Sheet of an Excel file; default: the first one.

    Raises
    ------
    InvalidInput
        Naming what is wrong with one of them.

    Notes
    -----
    What is given must apply: a delimiter for a Parquet file is refused when it is opened.

    A value that cannot be decoded is in no list of categories and is no number; nothing is
    refused for it, and no other value changes.

    Examples
    --------
    >>> from mipselect.tables import TableFile
    >>> TableFile("visits.csv", delimiter=";", encoding="cp1252").delimiter
    ';'
    """

    path: str | Path
    delimiter: str = COMMA
    encoding: str = UTF8
    sheet: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | Path):
            raise InvalidInput(f"path must be a str or a Path, got {shown(self.path)}")
        mark = self.delimiter
        plain = isinstance(mark, str) and len(mark) == 1 and (mark.isprintable() or mark == "\t")
        if not plain or not mark.isascii() or mark == '"' or mark.isalnum():
            raise InvalidInput(
                "delimiter must be one character of ASCII between two values, such as ';' or a "
                f"tab, and no letter, digit or quote; got {shown(mark)}"
            )
        if self.sheet is not None and not isinstance(self.sheet, str):
            raise InvalidInput(f"sheet must be the name of a sheet, got {shown(self.sheet)}")
        set_fields(self, encoding=checked_encoding(self.encoding))

    def __str__(self) -> str:
        return str(self.path)

    @property
    def is_utf8(self) -> bool:
        """True unless another encoding was given."""
        return self.encoding == UTF8
