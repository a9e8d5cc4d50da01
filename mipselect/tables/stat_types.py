"""Types of columns in files of SPSS, Stata and SAS, by their storage and their format."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

DAY = 86_400.0
SPSS, SIXTY = -12_219_379_200.0, -315_619_200.0
"""Seconds from 1970 to the beginning of time: 14 October 1582, and 1960 of Stata and SAS."""

EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_799.0
"""Seconds from 1970 to the first and the last one of the years 1 to 9999."""

OF_SPSS = {
    **dict.fromkeys(("DATE", "ADATE", "EDATE", "JDATE", "SDATE"), "date"),
    **dict.fromkeys(("DATETIME", "YMDHMS"), "datetime"),
}
DATE_OF_SAS = re.compile(
    "DATE|DAY|JULIAN|(WORD|WEEK)DAT[EX]|[BE]8601DA|(DDMMYY|YYMMDD)[BDNPS]?|MMDDYY[BDNPS]?"
)
MOMENT_OF_SAS = re.compile("DATETIME|DATEAMPM|[BE]8601DT")
WHOLE = ("int8", "int16", "int32")


@dataclass(frozen=True)
class StatType:
    """A type of a Table Schema, and what the numbers of a date count.

    Attributes
    ----------
    kind : str
        string, integer, number, date or datetime.
    unit : float
        Seconds that 1 stands for, of a date or a time.
    zero : float
        Seconds from 1970 to where 0 is.
    """

    kind: str
    unit: float = 0.0
    zero: float = 0.0

    @property
    def is_text(self) -> bool:
        """True of a column of texts."""
        return self.kind == "string"

    def array(self, numbers: NDArray[np.float64]) -> pa.Array:
        """Put numbers into an Arrow column, null for NaN and for dates beyond the calendar.

        Shape (rows,).
        """
        if self.unit == 0.0:
            return pa.array(numbers, mask=np.isnan(numbers))
        with np.errstate(over="ignore", invalid="ignore"):
            seconds = np.floor(numbers * self.unit + self.zero)
            none = ~((seconds >= EARLIEST) & (seconds <= LATEST))
        moments = np.where(none, 0.0, seconds).astype("datetime64[s]")
        if self.kind == "date":
            moments = moments.astype("datetime64[D]")
        return pa.array(moments, mask=none)


def type_of(path: str, storage: str, shown_as: str | None) -> StatType:
    """Return the type of a column.

    Parameters
    ----------
    path : str
        Whose ending says the program.
    storage : str
        double, float, int8, int16, int32, string or string_ref.
    shown_as : str or None
        The format of the column: F8.2, %td, DATE9.
    """
    if storage.startswith("string"):
        return StatType("string")
    ending = path.lower().rpartition(".")[2]
    shown = shown_as or ""
    if ending == "dta":
        return _of_stata(shown) or StatType("integer" if storage in WHOLE else "number")
    name = re.sub(r"[\d.]+$", "", shown.upper())
    if ending in ("sav", "zsav"):
        kind = OF_SPSS.get(name)
        if kind:
            return StatType(kind, 1.0, SPSS)
        whole = re.fullmatch(r"[FN]\d+(\.0)?", shown.upper())
        return StatType("integer" if whole else "number")
    if DATE_OF_SAS.fullmatch(name):
        return StatType("date", DAY, SIXTY)
    return StatType("datetime", 1.0, SIXTY) if MOMENT_OF_SAS.fullmatch(name) else StatType("number")


def _of_stata(shown: str) -> StatType | None:
    """Return the type of a date or a time of Stata; weeks, months and years are numbers."""
    shown = re.sub(r"^%[-+]?", "%", shown)
    if shown.startswith(("%td", "%d")):
        return StatType("date", DAY, SIXTY)
    if shown.startswith(("%tc", "%tC")):
        return StatType("datetime", 1e-3, SIXTY)
    return None
