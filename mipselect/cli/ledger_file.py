"""The ledger that the commands of `mipselect ledger` are about, and what is fixed about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mipselect.cli.declared import argument, option, options
from mipselect.cli.ledger_entry import KEY_VARIABLE, given_key, ledger_files
from mipselect.cli.output import picked
from mipselect.privacy import Ledger


@options
class LedgerFile:
    """A ledger, and the key that it was created with."""

    file: Path = argument("FILE", "The file of the ledger.")
    key_file: Path | None = option(
        "--key-file",
        "The key that the ledger was created with.",
        metavar="KEY",
        show_default=f"{KEY_VARIABLE}, or none",
    )

    @property
    def key(self) -> Path | None:
        """File of the key, from the option or the environment."""
        return given_key(self.key_file)

    @property
    def files(self) -> list[Path]:
        """Files that no output may replace."""
        return ledger_files(self.file, self.key_file)

    def opened(self) -> Ledger:
        """Open the ledger, with its key if there is one."""
        return Ledger.open(self.file, key_file=self.key)


def head_of(ledger: Ledger) -> dict[str, Any]:
    """Return what is fixed about a ledger, as part of a JSON object."""
    return {
        **picked(ledger, "identity", "currency", "unit", "relation"),
        "budget": ledger.budget.to_dict(),
        "key": key_of(ledger),
    }


def key_of(ledger: Ledger) -> dict[str, Any] | None:
    """Return which key there is, and whether the rows were checked with it."""
    if ledger.key_identity is None:
        return None
    return {"identity": ledger.key_identity, "checked": not ledger.locked}
