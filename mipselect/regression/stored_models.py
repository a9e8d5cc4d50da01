"""The shape of a stored model, checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.json_objects import faults
from mipselect.privacy.guarantee import Guarantee
from mipselect.quality.measures import Quality
from mipselect.regression.rows import RowMap
from mipselect.tables.model_table import ModelTable
from mipselect.validation import shown

FORMAT = "mipselect-model"
VERSION = 1
SHAPE = "model_schema.json"
FORMAT_KEYS = ("format", "version")


def fields_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Read the arguments of a `ModelRelease` from what its `to_dict` wrote.

    Raises
    ------
    InvalidInput
        With what is missing or wrong.
    """
    if not isinstance(stored, Mapping) or stored.get("format") != FORMAT:
        raise InvalidInput(f"not a stored model: its format must be {FORMAT!r}")
    if stored.get("version") != VERSION:
        raise InvalidInput(
            f"a stored model of version {shown(stored.get('version'))}; this package reads "
            f"version {VERSION}"
        )
    for fault in faults(stored, "mipselect.regression", SHAPE):
        raise InvalidInput(f"not a stored model: {fault}")
    fields = {name: value for name, value in stored.items() if name not in FORMAT_KEYS}
    table, quality = fields.pop("table", None), fields.pop("quality", None)
    guarantee, rows = Guarantee.from_dict(fields.pop("guarantee")), {**fields.pop("rows")}
    for name in ("x_bound", "unit"):
        rows[name] = None if rows[name] is None else tuple(rows[name])
    if "fields" in rows:
        rows["fields"] = tuple(rows["fields"])
    for name in ("support", "feature_names", "columns", "footnotes"):
        fields[name] = tuple(fields[name])
    for name in ("coefficients", "classes"):
        fields[name] = None if fields[name] is None else tuple(fields[name])
    return {
        **fields,
        "guarantee": guarantee,
        "rows": RowMap(**rows),
        "table": None if table is None else ModelTable.from_dict(table),
        "quality": None if quality is None else Quality.from_dict(quality),
    }
