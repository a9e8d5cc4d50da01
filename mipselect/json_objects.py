"""JSON that strangers wrote: read strictly, checked against a schema, refused in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

from mipselect import disk
from mipselect.errors import InvalidInput
from mipselect.validation import shown


def read_json(path: Path, most: int) -> Any:
    """Read the content of a JSON file of at most so many bytes.

    Raises
    ------
    InvalidInput
        Naming the file, the place in it, and what is wrong: also for NaN and infinities, which are
        no JSON, and for a key that stands twice in one object.
    """
    return parsed(disk.small_text(path, most), str(path))


def parsed(text: str, what: str) -> Any:
    """Parse a JSON text; raise as `read_json` does, with `what` for the file."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_without_repetition)
    except RecursionError:
        raise InvalidInput(f"{what}: not valid JSON: it is nested too deeply") from None
    except ValueError as error:
        raise InvalidInput(f"{what}: not valid JSON: {error}") from error


def faults(content: Any, package: str, schema: str) -> Iterator[str]:
    """Yield what is wrong with the shape of a JSON value, a line each, in the order of its paths.

    Parameters
    ----------
    content : object
    package, schema : str
        Where the JSON Schema is: the name of a package, and of a file in it.
    """
    errors = _checker(package, schema).iter_errors(content)
    for error in sorted(errors, key=lambda e: [str(k) for k in e.path]):
        path = ""
        for step in error.absolute_path:
            path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
        yield f"{path or 'the file'} {_wanted(error)}"


@cache
def _checker(package: str, schema: str) -> Any:
    from jsonschema import Draft202012Validator

    text = resources.files(package).joinpath(schema).read_text("utf-8")
    return Draft202012Validator(json.loads(text))


def _wanted(error: Any) -> str:
    """Say what would be right, from an error of `jsonschema`, in our words, without long values."""
    match error.validator:
        case "required":
            present = error.instance
            return f"lacks {', '.join(key for key in error.validator_value if key not in present)}"
        case "additionalProperties":
            known = error.schema["properties"]
            return f"has {', '.join(shown(key) for key in error.instance if key not in known)}"
        case "type":
            wanted = error.validator_value
            kinds = [wanted] if isinstance(wanted, str) else wanted
            return f"must be of type {' or '.join(kinds)}, got {shown(error.instance)}"
        case "enum":
            wanted = ", ".join(map(str, error.validator_value))
            return f"must be one of {wanted}, got {shown(error.instance)}"
        case "const":
            return f"must be {shown(error.validator_value)}, got {shown(error.instance)}"
        case "minimum" | "maximum":
            sign = "≥" if error.validator == "minimum" else "≤"
            return f"must be {sign} {error.validator_value:g}, got {shown(error.instance)}"
        case "minItems" | "minLength":
            return "must not be empty"
        case "maxItems":
            return f"must have at most {error.validator_value} entries, got {shown(error.instance)}"
        case "maxLength":
            return f"must have at most {error.validator_value} letters, got {shown(error.instance)}"
        case _:
            said = f"must be a value, or {{value, label}}, got {shown(error.instance)}"
            number = isinstance(error.instance, int | float) and "missingValues" in error.path
            return f'{said}; in quotes, as texts are: "{error.instance}"' if number else said


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"{shown(key)} stands twice in one object")
            seen.add(key)
    return content
