"""`Codebook`: what somebody wrote down of the fields of a table, in whatever format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Codebook:
    """Public description of the fields of a table.

    Attributes
    ----------
    label : str
        Its file; "" if there is none.
    fields : mapping of str to mapping
        Properties of a field of a Table Schema, by its name.
    table : mapping
        Properties of the table.
    notes : tuple of str
        What a person should know besides.
    """

    label: str = ""
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    table: Mapping[str, Any] = field(default_factory=lambda: {"missingValues": [""]})
    notes: tuple[str, ...] = ()


NO_CODEBOOK = Codebook()
