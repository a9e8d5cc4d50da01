"""One HTML page with a form for a schema: markup, style and scripts put together."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from mipselect.disk import regular_file, unreadable
from mipselect.tables.fields import Field
from mipselect.tables.schema import TableSchema
from mipselect.validation import LAST_INTEGER

SCRIPTS = ("rules.js", "cells.js", "view.js", "main.js")

MARK = b'<meta name="generator" content="mipselect schema edit">'
"""Stands in every page, within the first `HEAD` bytes."""

HEAD = 1000


def form_page(schema: TableSchema, file_name: str) -> str:
    """Return the page.

    Parameters
    ----------
    schema : TableSchema
        What the form begins with; all of it is in the page.
    file_name : str
        Name under which the page saves the schema.

    Notes
    -----
    The page runs its own script and style alone, known by their hashes, and loads nothing: so
    says its Content-Security-Policy.
    """
    style = _part("form.css")
    script = '"use strict";\n' + "\n".join(map(_part, SCRIPTS))
    parts = {
        "title": escape(file_name),
        "policy": _policy(script, style),
        "style": style,
        "schema": _embedded(schema.content, file_name),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _part("form.html"))


def is_form_page(path: Path) -> bool:
    """Return whether a file was written by `form_page`."""
    try:
        with regular_file(path).open("rb") as file:
            return MARK in file.read(HEAD)
    except OSError as error:
        raise unreadable(path, error) from error


def _part(name: str) -> str:
    return resources.files("mipselect.tables.form").joinpath(name).read_text("utf-8")


def _policy(script: str, style: str) -> str:
    directives = {
        "default-src": "'none'",
        "script-src": _source(script),
        "style-src": _source(style),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _embedded(content: dict[str, Any], file_name: str) -> str:
    """Return JSON that no text in it can end, with numbers that JavaScript would round as texts.

    Such a text begins with a mark that stands nowhere else.
    """
    plain, mark = json.dumps(content), "number:"
    while mark in plain:
        mark += ":"
    gaps = _gaps()
    page = {
        "file": file_name,
        "mark": mark,
        "content": _marked(content, mark),
        "types": list(gaps),
        "gaps": gaps,
    }
    escapes = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}
    return json.dumps(page).translate(escapes)


def _gaps() -> dict[str, list[str]]:
    """Return what fields without categories lack, by their types.

    Each type has four: without ends, with a minimum, a maximum, and both.
    """
    text = resources.files("mipselect.tables").joinpath("table_schema.json").read_text("utf-8")
    types = json.loads(text)["$defs"]["field"]["properties"]["type"]["enum"]
    ends = [(None, None), (0.0, None), (None, 1.0), (0.0, 1.0)]
    return {
        kind: [Field("field", kind, minimum=low, maximum=high).gap for low, high in ends]
        for kind in types
    }


def _marked(value: Any, mark: str) -> Any:
    match value:
        case dict():
            return {key: _marked(entry, mark) for key, entry in value.items()}
        case list():
            return [_marked(entry, mark) for entry in value]
        case int() | float() if abs(value) > LAST_INTEGER:
            return mark + json.dumps(value).replace("Infinity", "1e999")
        case _:
            return value
