"""Every setting of a command with its value and its origin, for `--show-settings`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from mipselect.cli.declared import DeclaredOption
from mipselect.cli.output import deliver, heading, table_of
from mipselect.cli.streams import one_line

DEFAULT = "default"
MISSING = "must be given"
NONE = "none"


@dataclass(frozen=True)
class SettingOrigin:
    """A setting as a command would have it.

    Attributes
    ----------
    option : DeclaredOption
    value : object
        None where it is not given and has no default that is a value.
    source : str
        "command line", "mipselect.toml [defaults]", "environment" or "default".
    """

    option: DeclaredOption
    value: Any
    source: str

    @property
    def origin(self) -> str:
        """The source, or that it must be given."""
        is_missing = self.option.required and self.source == DEFAULT
        return MISSING if is_missing else self.source

    @property
    def plain(self) -> Any:
        """The value as JSON has it."""
        if isinstance(self.value, Enum):
            return self.value.value
        return str(self.value) if isinstance(self.value, Path) else self.value

    @property
    def text(self) -> str:
        """The value, or words for what stands in its place."""
        if self.origin == MISSING:
            return ""
        if self.source == DEFAULT and self.option.default_in_words:
            return self.option.default_in_words
        if isinstance(self.value, bool):
            return str(self.value).lower()
        if isinstance(self.value, list):
            return "; ".join(map(str, self.value))
        return NONE if self.value is None else str(self.plain)


def show_settings(command: str, origins: Sequence[SettingOrigin], *, as_json: bool) -> None:
    """Print settings with their origins, as a table or as one JSON object."""

    def render(console: Console) -> None:
        heading(console, f"{command}: settings; nothing was read, drawn or spent")
        table = table_of("setting", "from", "value", fold=("from", "value"))
        for each in origins:
            cells = (each.option.name, each.origin, each.text)
            table.add_row(*(escape(one_line(cell)) for cell in cells))
        console.print(table)

    report = {
        "command": command,
        "show_settings": True,
        "sensitive": False,
        "settings": {
            each.option.key: {
                "value": each.plain,
                "from": each.origin,
                **({"default": each.text} if each.source == DEFAULT and each.text else {}),
            }
            for each in origins
        },
    }
    deliver(report, render, as_json=as_json, output=None)
