"""TOML files that people write: instances, defaults of a project, facts of a report."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mipselect.disk import small_text
from mipselect.errors import InvalidInput
from mipselect.validation import printable


def toml_text(content: Mapping[str, Mapping[str, Any]]) -> str:
    """Write sections whose texts, numbers, truth values and lists JSON writes alike."""
    return "\n".join(
        f"[{name}]\n"
        + "".join(f"{key} = {json.dumps(v, ensure_ascii=False)}\n" for key, v in s.items())
        for name, s in content.items()
    )


def read_toml(path: Path, most: int) -> dict[str, Any]:
    """Read the content of a TOML file of at most so many bytes.

    Raises
    ------
    InvalidInput
        If it cannot be read, is too large or no TOML.
    """
    text = small_text(path, most)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InvalidInput(f"{path}: not valid TOML: it is nested too deeply") from None
    except ValueError as error:
        # An integer with thousands of digits is a plain ValueError.
        raise InvalidInput(f"{path}: not valid TOML: {printable(str(error))}") from error
