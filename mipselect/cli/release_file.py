"""Files of releases, read strictly: a report repeats what was checked, and nothing sensitive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from mipselect.disk import faults, parsed, small_content, text_of
from mipselect.errors import InvalidInput, MipselectError
from mipselect.privacy import Guarantee, Release
from mipselect.privacy.guarantee import ROW
from mipselect.privacy.public_fields import public_settings
from mipselect.quality import Quality
from mipselect.reports.release_report import (
    EVALUATION,
    MODEL,
    SELECTION,
    LedgerNote,
    ReportedRelease,
    field_words,
    of_object,
    titles_in_words,
)
from mipselect.validation import (
    checked_flag,
    checked_integer,
    checked_line,
    checked_name,
    checked_number,
    shown,
)

MOST_BYTES = 100_000_000
"""Bytes of a file of a release."""

GUARANTEES = ("guarantee", "guarantee_of_all_draws")
"""Keys of the guarantee in a file, which has one of them."""

LONGEST_PATH = 4_096

COMMANDS = "give what 'mipselect select', 'release', 'fit' or 'evaluate' wrote with --output"

SENSITIVE_FILE = (
    "is sensitive: it was computed from the data without any privacy, and must never be put into a "
    "report"
)


def released_features(path: Path, target: str) -> ReportedRelease:
    """Read the draw of a release about the target; raise `InvalidInput` for another."""
    read = read_release(path)
    if not read.private or read.drawn is None:
        raise InvalidInput(f"{path}: is not private: its draw was seeded, or it has none")
    if read.target not in (None, target):
        raise InvalidInput(f"{path}: is about {read.target}, and --target is {target}")
    return read


def read_release(path: Path) -> ReportedRelease:
    """Read a selection, a model or an evaluation; also a seeded one, which is marked so.

    Raises
    ------
    InvalidInput
        Naming the file and the key, if it is none, or sensitive.
    """
    content = small_content(path, MOST_BYTES)
    report = parsed(text_of(content, path), str(path))
    if not isinstance(report, dict):
        raise InvalidInput(f"{path}: is no release: it must be a JSON object, got {shown(report)}")
    try:
        found = _of_kind(report)
    except KeyError as error:
        raise InvalidInput(f"{path}: is no release: {error} is missing") from error
    except RecursionError:
        raise InvalidInput(f"{path}: is no release: it is nested too deeply") from None
    except (MipselectError, TypeError, AttributeError, ValueError) as error:
        raise InvalidInput(f"{path}: {error}") from error
    return replace(
        found,
        name=checked_name(path.name, f"{path}: the name of the file"),
        digest=sha256(content).hexdigest(),
    )


def _of_kind(report: Mapping[str, Any]) -> ReportedRelease:
    """Describe what `select`, `release` or `fit` drew, or `evaluate` measured."""
    if "format" in report:
        from mipselect.regression import ModelRelease

        # What `ModelRelease.save` wrote: its table and ledger are not known.
        return of_object(ModelRelease.from_dict(report), "model")
    _require_release(report)
    kind, found = _drawn(report)
    of_all = "guarantee_of_all_draws" if kind == SELECTION else "guarantee"
    guarantee = Guarantee.from_dict(report[of_all])
    if found.guarantee != guarantee:
        raise InvalidInput("is no release: its guarantees contradict each other")
    if guarantee.private is not report["private"]:
        raise InvalidInput("is no release: private contradicts its guarantee")
    target, unit, paid = (report.get(key) for key in ("target", "protected_unit", "ledger"))
    data, ledger = _file_name(report, "data" if "data" in report else "instance"), None
    if paid is not None:
        ledger = LedgerNote(
            checked_name(paid["identity"], "the identity of the ledger"),
            checked_name(paid["unit"], "the unit"),
            checked_integer(paid["head"]["number"], "the row", 0),
            checked_name(paid["head"]["hash"], "the hash"),
        )
    read: dict[str, Any] = {
        "name": data,
        "guarantee": guarantee,
        "data": data,
        "target": None if target is None else checked_name(target, "target"),
        "unit": ROW if unit is None else checked_name(unit, "the protected unit"),
        "ledger": ledger,
        "version": checked_name(report["mipselect"], "the version"),
    }
    if kind == EVALUATION:
        return ReportedRelease(quality=found, about=_file_name(report, "model"), **read)
    of, model = report.get("features_of"), found if kind == MODEL else None
    return ReportedRelease(
        method=checked_name(report["method"], "method"),
        selection=found if model is None else None,
        model=model,
        settings=_settings(report, guarantee.relation),
        candidates=_names(report, "features", "a feature"),
        always=_names(report, "always", "a name of always"),
        features_of=None if of is None else checked_name(of["sha256"], "a SHA-256"),
        titles=titles_in_words(report) if model is None else field_words(model),
        near_chance=checked_flag(report.get("nearly_blind") or False, "nearly_blind"),
        # Models may be equal: table and ledger tell them apart.
        **read,
    )


def _drawn(report: Mapping[str, Any]) -> tuple[str, Any]:
    """Read the release itself, and say of which kind it is."""
    if "quality" in report:
        quality = {"quality": report["quality"]}
        for fault in faults(quality, "mipselect.regression", "model_schema.json"):
            if fault.startswith("quality"):
                raise InvalidInput(fault)
        return EVALUATION, Quality.from_dict(report["quality"])
    if "model" in report:
        # Only where there is one, what reads tables is imported: it takes long.
        from mipselect.regression import ModelRelease

        return MODEL, ModelRelease.from_dict(report["model"])
    if len(report["releases"]) != 1:
        raise InvalidInput("it must have one draw")
    (entry,) = report["releases"]
    return SELECTION, Release(
        tuple(entry["support"]),
        tuple(entry["feature_names"]),
        Guarantee.from_dict(entry["guarantee"]),
        entry["mechanism"],
        entry["private"],
    )


def _require_release(report: Mapping[str, Any]) -> None:
    """Refuse what is sensitive or no release. A seeded draw says so itself, and is let through."""
    if report.get("dry_run"):
        raise InvalidInput("is no release: with --dry-run nothing was drawn")
    # A report of no draws may not be sensitive.
    is_seeded = report.get("private") is False and not report.keys().isdisjoint(GUARANTEES)
    if report.get("sensitive") is True and not is_seeded:
        raise InvalidInput(SENSITIVE_FILE)
    for key in ("private", "sensitive"):
        if not isinstance(report.get(key), bool):
            given = f"must be true or false, got {shown(report.get(key))}"
            found = given if key in report else "is missing"
            raise InvalidInput(f"is no release: {key} {found}; {COMMANDS}")
    if report.keys().isdisjoint(("model", "releases", "quality")):
        raise InvalidInput(f"is no release that a report has words for; {COMMANDS}")


def _file_name(report: Mapping[str, Any], key: str) -> str:
    """Return the name of a file without its folder."""
    return checked_name(Path(checked_line(report[key], key, LONGEST_PATH)).name, key)


def _settings(report: Mapping[str, Any], relation: str) -> dict[str, Any]:
    """Read the public settings; those that tell the number of rows only where it is public."""
    told = public_settings(report, hides_n=relation != "replace-one")
    if checked_flag(report.get("intercept", False), "intercept"):
        told["intercept"] = "yes"
    return {name: _checked(value, name) for name, value in told.items()}


def _checked(value: Any, name: str) -> str | float | tuple[float, ...]:
    """Return a public setting that was read; raise `InvalidInput` if it is of another kind."""
    if isinstance(value, str):
        return checked_name(value, name)
    for number in value if isinstance(value, list) and value else [value]:
        checked_number(number, name, "a text or a finite number", lambda v: abs(v) <= 1e300)
    found: float | tuple[float, ...] = tuple(value) if isinstance(value, list) else value
    return found


def _names(report: Mapping[str, Any], key: str, what: str) -> tuple[str, ...]:
    """Return the names under a key; none where it is missing."""
    return tuple(checked_name(name, what) for name in report.get(key) or ())
