"""Record of what was counted of a source of several files, so that an interrupted pass goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mipselect.errors import InvalidInput
from mipselect.tables.moments import stored
from mipselect.tables.moments.block_columns import Columns
from mipselect.tables.moments.stored import Stored
from mipselect.tables.moments.sums import Sums
from mipselect.tables.parts import Part
from mipselect.validation import listed, shown

SECONDS_BETWEEN_NOTES = 10.0
"""Seconds between two times that the file is written."""


class Notes:
    """Record of what has been counted, in a file."""

    def __init__(self, path: Path, columns: Columns, totals: Sums) -> None:
        self._path, self._totals = path, totals
        self._counted = Stored(columns, totals.totals, {}, whole=False)
        self._written = time.monotonic()

    def go_on(self, parts: Sequence[Part]) -> list[Part]:
        """Return the parts that are left, after those in the file are in the totals."""
        if not os.path.lexists(self._path):
            return list(parts)
        found = stored.read(self._path)
        same = found.columns.to_dict() == self._counted.columns.to_dict()
        if not same or found.totals.shape != self._totals.totals.shape:
            raise InvalidInput(
                f"{self._path}: what was counted is of another schema, target or number of folds; "
                "remove the file to begin again"
            )
        files = {part.label: part.file for part in parts}
        absent = [label for label in found.counted if label not in files]
        if absent:
            raise InvalidInput(
                f"{self._path}: counted files are not in the source any more: {listed(absent)}"
            )
        for label, file in found.counted.items():
            if file != files[label]:
                raise InvalidInput(
                    f"{shown(label)} was changed since it was counted in {self._path}; remove that "
                    "file to begin again"
                )
        self._counted = replace(found, whole=False)
        self._totals += Sums.of(found.totals)
        return [part for part in parts if part.label not in found.counted]

    def note(self, part: Part, totals: Sums) -> None:
        """Note that a part is done: it and the totals with it become known in one step."""
        counted = {**self._counted.counted, part.label: part.file}
        self._counted = replace(self._counted, totals=totals.totals.copy(), counted=counted)
        if time.monotonic() - self._written >= SECONDS_BETWEEN_NOTES:
            self.write()

    def write(self) -> None:
        """Write what has been counted so far, if anything has."""
        if self._counted.counted:
            stored.write(self._path, self._counted)
        self._written = time.monotonic()
