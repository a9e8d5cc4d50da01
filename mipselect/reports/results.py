"""Models in words: their fields, and a table of their coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mipselect.regression import ModelRelease
from mipselect.regression.coefficients import CoefficientTable, reading_notes
from mipselect.reports.released import one_line
from mipselect.tables.encoders import INTERCEPT, Term
from mipselect.validation import plural


def model_in_words(model: ModelRelease, told: Mapping[str, str]) -> dict[str, Any]:
    """Describe a model, of whose fields `told` has the titles, by the names in the template."""
    names = model.feature_names or tuple(map(str, model.support))
    always = () if model.table is None else model.table.always
    kept = f"; always in: {', '.join(always)}" if always else ""
    found = {"fields": f"{plural(len(names), 'field')} in the model: {', '.join(names)}{kept}."}
    if not model.has_model:
        return found
    table = CoefficientTable.of(model)
    level = "" if table.reason else f"{100.0 * table.level:g} % interval"
    titles = ("what differs", f"estimate{unit_of_target(model)}", level, "odds")
    rows = [(_meaning(row.term, told), *cells[:3]) for row, cells in table.listed()]
    there = [k for k, title in enumerate(titles) if title and any(row[k] for row in rows)]
    return {
        **found,
        "titles": [titles[k] for k in there],
        "rows": [[row[k] for k in there] for row in rows],
        "numbers": titles[1:],
        "notes": reading_notes(table),
    }


def _meaning(term: Term, told: Mapping[str, str]) -> str:
    """Say what differs, with the title of its field where that says more than the unit."""
    words = told.get(term.field, "")
    says_more = words and words != f"in {term.unit}" and term.kind != INTERCEPT
    return f"{term.meaning} ({words})" if says_more else term.meaning


def unit_of_target(model: ModelRelease) -> str:
    """Write the unit of the target as the end of a phrase; "" for classes and unknown units."""
    if model.table is None or model.classes is not None:
        return ""
    for entry in model.table.schema.content["fields"]:
        if entry["name"] == model.table.target and (unit := one_line(entry.get("unit"))):
            return f", in {unit}"
    return ""
