"""Strict reader of what `release`, `select` and `fit` wrote: a card repeats what was checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from mipselect.cli.kept_files import MOST_BYTES
from mipselect.cli.public_fields import PUBLIC_FIELDS, public_under
from mipselect.disk import small_content, text_of
from mipselect.errors import InvalidInput, MipselectError
from mipselect.json_objects import parsed
from mipselect.privacy import Guarantee, Release
from mipselect.privacy.guarantee import ROW
from mipselect.regression import ModelRelease
from mipselect.reports.released import MODEL, SELECTION, LedgerNote, ReportedRelease
from mipselect.validation import (
    checked_flag,
    checked_integer,
    checked_line,
    checked_name,
)

LONGEST_PATH = 4_096


@dataclass(frozen=True)
class ReleasedFeatures:
    """Features of a release, which was paid for by itself.

    Attributes
    ----------
    file : str
        Name of its file.
    digest : str
        SHA-256 of the file.
    names : tuple of str
        What was drawn, and what was always in.
    guarantee : Guarantee
    """

    file: str
    digest: str
    names: tuple[str, ...]
    guarantee: Guarantee

    @classmethod
    def read(cls, path: Path, target: str) -> ReleasedFeatures:
        """Read the one draw of a release about the target; raise `InvalidInput` for another."""
        read = read_release(path)
        assert read.digest is not None
        if read.target not in (None, target):
            raise InvalidInput(f"{path}: is about {read.target}, and --target is {target}")
        if len(read.drawn) > 1:
            raise InvalidInput(
                f"{path}: has {len(read.drawn)} draws, and a model takes the features of one"
            )
        names = (*read.drawn[0].feature_names, *read.always)
        return cls(path.name, read.digest, names, read.guarantee)


def read_release(path: Path) -> ReportedRelease:
    """Read a release.

    Raises
    ------
    InvalidInput
        If it is none, or a seeded one, which promises nothing.
    """
    content = small_content(path, MOST_BYTES)
    report = parsed(text_of(content, path), str(path))
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
        if not all(release.private for release in read.drawn):
            raise InvalidInput("it has seeded draws")
        return replace(read, digest=sha256(content).hexdigest())
    except KeyError as error:
        raise InvalidInput(f"{path}: is no release: {error} is missing") from error
    except (MipselectError, TypeError, AttributeError, ValueError) as error:
        raise InvalidInput(f"{path}: is no release as mipselect writes it: {error}") from error


def checked_release(report: Mapping[str, Any]) -> ReportedRelease:
    """Return a selection or a model, checked; its draws may be seeded ones.

    Raises
    ------
    KeyError, MipselectError, TypeError, AttributeError, ValueError
        If something is missing or wrong.
    """
    model = ModelRelease.from_dict(report["model"]) if "model" in report else None
    if model is not None:
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
    sizes, solver = report.get("sizes"), report.get("solver")
    if sizes is not None and not sizes:
        raise InvalidInput("sizes must be None or a list of sizes, got none")
    source = checked_line(
        report["data"] if "data" in report else report["instance"], "the source", LONGEST_PATH
    )
    name = checked_name(Path(source).name, "the name")
    protected, public = report.get("protected_unit"), public_under(total.relation)
    read = {
        name: field.checked(report[name], name)
        for name, field in PUBLIC_FIELDS.items()
        if report.get(name) is not None
    }
    return ReportedRelease(
        name=name,
        kind=SELECTION if model is None else MODEL,
        guarantee=total,
        data=name,
        target=None if report.get("target") is None else checked_name(report["target"], "target"),
        method=checked_name(report["method"], "method"),
        regression=None if model is None else checked_name(report["regression"], "regression"),
        releases=releases if model is None else (),
        model=model,
        settings={key: value for key, value in read.items() if key in public},
        candidates=_names(report, "features", "a feature"),
        always=_names(report, "always", "a name of always"),
        features_of=_digest(report.get("features_of")),
        intercept=checked_flag(report.get("intercept", False), "intercept"),
        sizes=None if sizes is None else tuple(checked_integer(s, "a size", 1) for s in sizes),
        solver=None
        if solver is None
        else checked_name(f"{solver['name']} {solver['version']}", "the solver"),
        unit=ROW if protected is None else checked_name(protected, "the protected unit"),
        ledger=None if report.get("ledger") is None else ledger_note(report["ledger"]),
        version=checked_name(report["mipselect"], "the version"),
    )


def _names(report: Mapping[str, Any], key: str, what: str) -> tuple[str, ...]:
    """Return the names under a key; none where it is missing."""
    return tuple(checked_name(name, what) for name in report.get(key) or ())


def _digest(features_of: Mapping[str, Any] | None) -> str | None:
    """Return the SHA-256 of the release that features are of; None where they were drawn."""
    return None if features_of is None else checked_name(features_of["sha256"], "a SHA-256")


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
