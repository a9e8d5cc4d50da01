"""Strict reader of what `release`, `select` and `fit` wrote: a card repeats what was checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mipselect.cli.public_fields import PUBLIC_FIELDS
from mipselect.disk import small_text
from mipselect.errors import InvalidInput, MipselectError
from mipselect.privacy import Guarantee, Release
from mipselect.regression import ModelRelease
from mipselect.reports.released import LedgerNote
from mipselect.validation import (
    checked_flag,
    checked_integer,
    checked_line,
    checked_name,
    shown,
)

LARGEST = 100_000_000
LONGEST_PATH = 4_096


@dataclass(frozen=True)
class ReleaseFile:
    """A release that was read from a file, checked.

    Attributes
    ----------
    name : str
        Name of the instance or the table, without its folder.
    target : str or None
    method : str
    releases : tuple of Release
    one, total : Guarantee
        Guarantees of one draw and of all.
    settings : mapping
        By the names of `PUBLIC_FIELDS`, as far as they were given.
    sizes : tuple of int or None
    features : tuple of str or None
    always : tuple of str
        Names that are in every model.
    intercept : bool
    protected : str or None
        The column of a schema that says whose row it is.
    solver : str or None
    ledger : LedgerNote or None
    version : str
        Version of mipselect.
    model : ModelRelease or None
        What `fit` drew; it is the one of `releases` then.
    regression : str or None
        How its coefficients were drawn.
    """

    name: str
    target: str | None
    method: str
    releases: tuple[Release, ...]
    one: Guarantee
    total: Guarantee
    settings: Mapping[str, int | float | str | tuple[float, ...]]
    sizes: tuple[int, ...] | None
    features: tuple[str, ...] | None
    always: tuple[str, ...]
    intercept: bool
    protected: str | None
    solver: str | None
    ledger: LedgerNote | None
    version: str
    model: ModelRelease | None = None
    regression: str | None = None


def read_release(path: Path) -> ReleaseFile:
    """Read a release.

    Raises
    ------
    InvalidInput
        If it is none, or a seeded one, which promises nothing.
    """
    try:
        report = json.loads(small_text(path, LARGEST), parse_constant=_no_number)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path}: is not JSON: {error}") from error
    if not isinstance(report, dict) or not {"releases", "model"} & set(report):
        raise InvalidInput(
            f"{path}: is no release; give what 'mipselect release', 'select' or 'fit' wrote with "
            "--output"
        )
    if report.get("private") is not True or report.get("sensitive") is not False:
        raise InvalidInput(
            f"{path}: is not private: its draws were seeded, or it was computed from the data; "
            "there is no guarantee for a card to state"
        )
    try:
        read = checked_release(report)
        if not all(release.private for release in read.releases):
            raise InvalidInput("it has seeded draws")
        return read
    except KeyError as error:
        raise InvalidInput(f"{path}: is no release: {error} is missing") from error
    except (MipselectError, TypeError, AttributeError, ValueError) as error:
        raise InvalidInput(f"{path}: is no release as mipselect writes it: {error}") from error


def checked_release(report: Mapping[str, Any]) -> ReleaseFile:
    """Return a selection or a model, checked; its draws may be seeded ones.

    Raises
    ------
    KeyError, MipselectError, TypeError, AttributeError, ValueError
        If something is missing or wrong.
    """
    model = None
    if "model" in report:
        model = ModelRelease.from_dict(report["model"])
        releases: tuple[Release, ...] = (model,)
        one = total = Guarantee.from_dict(report["guarantee"])
    else:
        releases = tuple(map(_release, report["releases"]))
        one = Guarantee.from_dict(report["guarantee_of_one_draw"])
        total = Guarantee.from_dict(report["guarantee_of_all_draws"])
    if not releases:
        raise InvalidInput("it has no draws")
    least = one.times(len(releases))
    is_less = total.epsilon < least.epsilon or total.delta < least.delta
    if is_less or any(release.guarantee != one for release in releases):
        raise InvalidInput("its guarantees contradict each other")
    features, sizes, solver = (report.get(key) for key in ("features", "sizes", "solver"))
    if sizes is not None and not sizes:
        raise InvalidInput("sizes must be None or a list of sizes, got none")
    protected = report.get("protected_unit")
    source = report["data"] if "data" in report else report["instance"]
    return ReleaseFile(
        name=checked_name(Path(checked_line(source, "the source", LONGEST_PATH)).name, "the name"),
        target=None if report.get("target") is None else checked_name(report["target"], "target"),
        method=checked_name(report["method"], "method"),
        releases=releases,
        one=one,
        total=total,
        settings={
            name: field.checked(report[name], name)
            for name, field in PUBLIC_FIELDS.items()
            if report.get(name) is not None
        },
        sizes=None if sizes is None else tuple(checked_integer(s, "a size", 1) for s in sizes),
        features=None
        if features is None
        else tuple(checked_name(name, "a feature") for name in features),
        always=tuple(checked_name(name, "a name of always") for name in report.get("always") or ()),
        intercept=checked_flag(report.get("intercept", False), "intercept"),
        protected=None if protected is None else checked_name(protected, "the protected unit"),
        solver=None
        if solver is None
        else checked_name(f"{solver['name']} {solver['version']}", "the solver"),
        ledger=None if report.get("ledger") is None else ledger_note(report["ledger"]),
        version=checked_name(report["mipselect"], "the version"),
        model=model,
        regression=None if model is None else checked_name(report["regression"], "regression"),
    )


def _release(entry: Mapping[str, Any]) -> Release:
    return Release(
        tuple(entry["support"]),
        tuple(entry["feature_names"]),
        Guarantee.from_dict(entry["guarantee"]),
        entry["mechanism"],
        entry["private"],
    )


def ledger_note(note: Mapping[str, Any]) -> LedgerNote:
    """Return the place in a ledger that was written as JSON."""
    return LedgerNote(
        checked_name(note["identity"], "the identity of the ledger"),
        checked_name(note["unit"], "the unit"),
        checked_integer(note["head"]["number"], "the row", 0),
        checked_name(note["head"]["hash"], "the hash"),
    )


def _no_number(text: str) -> float:
    raise InvalidInput(f"{shown(text)} is not JSON")
