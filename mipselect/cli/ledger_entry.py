"""The ledger that a release is charged to: opened before anything else, and told of at the end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.output import InterruptedDelivery
from mipselect.cli.sizes import sizes_in_words
from mipselect.errors import InvalidInput
from mipselect.privacy import Ledger

NOTED = (
    *("command", "instance", "data", "schema", "target", "p", "support_size", "complexity"),
    *("x_bound", "y_bound", "coef_bound", "ridge", "loss", "target_shift", "pool_size"),
    *("tolerance", "top_k", "alpha", "blocks", "mcmc_steps", "mcmc_radius", "mipselect"),
)
"""What a ledger notes of what was asked, by the keys of a report."""

KEY_VARIABLE = "MIPSELECT_LEDGER_KEY"
"""Names the file of a key where no option does."""

NOTHING_REMEMBERS = (
    "No --ledger was given: nothing remembers this release, and further ones add to it."
)


class InterruptedDraw(InterruptedDelivery):
    """An interrupt came when the ledger may have been charged already."""


def given_key(option: Path | None) -> Path | None:
    """The file of the key: what an option names, or else the environment; None for neither."""
    if option is not None:
        return option
    named = os.environ.get(KEY_VARIABLE)
    return Path(named) if named else None


def ledger_files(file: Path | None, key_file: Path | None) -> list[Path]:
    """The files of the ledger and of its key, which no output may replace."""
    return [path for path in (file, given_key(key_file)) if path is not None]


def opened(file: Path | None, part: str | None, key_file: Path | None = None) -> Ledger | None:
    """Open what --ledger names, for the part of --part, with the key of --ledger-key.

    Raises
    ------
    InvalidInput, LedgerBroken
    """
    if file is None:
        if part is not None:
            raise InvalidInput("--part goes with --ledger: it says what the ledger is charged for")
        if key_file is not None:
            raise InvalidInput("--ledger-key goes with --ledger: it is the key of the ledger")
        return None
    ledger = Ledger.open(file, key_file=given_key(key_file))
    ledger.require_key()
    if part is None:
        return ledger
    column, equals, value = part.partition("=")
    if not (column and equals and value):
        raise InvalidInput(f"--part must be COLUMN=VALUE, such as hospital=A, got {part!r}")
    return ledger.part(column, value)


def charged_report(ledger: Ledger | None) -> Mapping[str, Any] | None:
    """Return the place of a release in its ledger, as part of a JSON object; None without one."""
    if ledger is None or ledger.path is None or (head := ledger.head) is None:
        return None
    return {
        "file": ledger.path.name,
        "identity": ledger.identity,
        "unit": ledger.unit,
        "head": {"number": head.number, "hash": head.hash},
        "remaining": ledger.remaining.to_dict(),
    }


def print_charged(console: Console, charged: Mapping[str, Any] | None) -> None:
    """Print what `charged_report` tells."""
    if charged is None:
        console.print(NOTHING_REMEMBERS)
        return
    left = charged["remaining"]
    amount = f"ρ = {left['rho']:.15g}" if "rho" in left else f"ε = {left['epsilon']:.15g}"
    if left["delta"] > 0.0:
        amount += f", δ = {left['delta']:.15g}"
    console.print(
        f"Ledger {charged['file']}: charged; {amount} is left. Its row "
        f"{charged['head']['number']} is {charged['head']['hash']}.",
        markup=False,
        soft_wrap=True,
    )


def noted(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a ledger notes of a report of a question: what is public and short, never n."""
    told = {key: asked[key] for key in NOTED if asked.get(key) is not None}
    if "schema" in told:
        told["schema_sha256"] = sha256(Path(told["schema"]).read_bytes()).hexdigest()
    for key in ("data", "schema"):
        if key in told:
            told[key] = Path(told[key]).name
    if asked.get("sizes") is not None:
        told["sizes"] = sizes_in_words(asked["sizes"])
    if asked.get("features") is not None:
        told["features_sha256"] = sha256(json.dumps(asked["features"]).encode()).hexdigest()
    return told


@contextmanager
def told_of_the_ledger(ledger: Ledger | None) -> Iterator[None]:
    """Say of an interrupt that the ledger may have been charged."""
    try:
        yield
    except KeyboardInterrupt:
        if ledger is None:
            raise
        raise InterruptedDraw(
            "interrupted: nothing was released, and what was charged to the ledger stays charged; "
            f"'mipselect ledger show {ledger.path}' tells"
        ) from None
