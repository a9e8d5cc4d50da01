"""The form for a schema judges as the package does: the same mistakes, the same gaps."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.tables import TableSchema
from tests.support.faulty_schemas import faulty_schema
from tests.support.one_row_at_a_time import HOSPITAL

CELLS = {
    "categories[": {"categories"},
    "enum[": {"categories"},
    "missingValues": {"missing"},
    "minimum": {"minimum", "type"},
    "maximum": {"maximum", "type"},
    "2^53": {"minimum", "maximum"},
    "decimalChar": {"decimal", "group"},
    "bareNumber": {"decimal"},
    "trueValues": {"falseTexts"},
    "privacyUnit": {"role"},
    "name": {"name"},
    "weight": {"role", "categories"},
}
"""Words of a message of mipselect, and the cells that the form puts it to."""


NUMBER = {"name": "a", "type": "number"}
BY_HAND: list[dict[str, Any]] = [
    *(
        {"csvw-eo:privacyUnit": "a", "fields": [{**NUMBER, "constraints": {"maximum": end}}]}
        for end in (2**53 - 1, 2**53, 1e26)
    ),
    *(
        {"fields": [{**NUMBER, "categories": [0.5, 1], "missingValues": [text], **written}]}
        for text in ("+.5E0", "0,5", "1.", "1e0", "0 1", "true ", "0.500", "inf", "1_0", "", "a")
        for written in ({}, {"decimalChar": ","}, {"groupChar": " "})
    ),
]


KINDS_OF_GAPS = 7
"""None, categories, a type, another type, the minimum, the maximum, or both of them."""


def verdict_of(content: dict[str, Any]) -> tuple[str, list[str]]:
    """What mipselect says of a schema: its message, or what each field lacks."""
    try:
        schema = TableSchema.of(content)
    except InvalidInput as error:
        return str(error), []
    unit = schema.privacy_unit
    return "", ["" if field.name == unit else field.gap for field in schema.fields]


def test_the_form_judges_as_the_package_does(opened: Any) -> None:
    rng = random.Random(31)
    contents = [HOSPITAL, *BY_HAND, *(faulty_schema(rng) for _ in range(2000))]
    form = opened(HOSPITAL)
    verdicts = form.driver.execute_script(
        "return JSON.parse(arguments[0]).map(verdict)",
        json.dumps(contents),
    )
    seen: Counter[str] = Counter()
    for content, verdict in zip(contents, verdicts, strict=True):
        message, gaps = verdict_of(content)
        faults = [(fault["place"], fault["cell"]) for fault in verdict["faults"]]
        assert bool(message) == bool(faults), (content, message, verdict)
        if message:
            word = next(word for word in CELLS if word in message)
            place = int(message[7]) if message.startswith("fields[") else None
            assert any(cell in CELLS[word] and place in (None, at) for at, cell in faults), (
                content,
                message,
                verdict,
            )
            seen[word] += 1
        else:
            assert verdict["gaps"] == gaps, content
            seen.update(gaps)
    assert set(CELLS) <= set(seen)
    assert len(seen) == len(CELLS) + KINDS_OF_GAPS
