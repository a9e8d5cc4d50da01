"""Files of releases for a report: of every kind, also seeded ones, but nothing sensitive."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from mipselect.cli.card_content import card_of
from mipselect.cli.card_parts import with_facts
from mipselect.cli.kept_files import GUARANTEES, MOST_BYTES
from mipselect.cli.release_file import (
    LONGEST_PATH,
    checked_release,
    ledger_note,
)
from mipselect.cli.reported_contents import content_blocks
from mipselect.disk import small_content, text_of
from mipselect.errors import InvalidInput, MipselectError
from mipselect.json_objects import faults, parsed
from mipselect.privacy import Guarantee
from mipselect.privacy.guarantee import ROW
from mipselect.quality import Quality
from mipselect.regression import ModelRelease
from mipselect.regression.coefficients import CoefficientTable
from mipselect.regression.release import FORMAT, SHAPE
from mipselect.reports.field_words import field_words, titles_in_words
from mipselect.reports.release_report import of_object
from mipselect.reports.released import EVALUATION, ReportedRelease
from mipselect.validation import checked_flag, checked_line, checked_name, shown

SENSITIVE_FILE = (
    "is sensitive: it was computed from the data without any privacy, and must never be put into a "
    "report"
)


def read_reported(path: Path, facts: Mapping[str, str]) -> ReportedRelease:
    """Read a release of any kind; facts fill the blanks of its card.

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
        found = _of_kind(report, facts)
        if found.model is not None and found.model.has_model:
            # A file may hold numbers from which no intervals can be computed.
            CoefficientTable.of(found.model)
    except KeyError as error:
        raise InvalidInput(f"{path}: is no release: {error} is missing") from error
    except (IndexError, ArithmeticError) as error:
        raise InvalidInput(f"{path}: the numbers of its model are no release: {error}") from error
    except RecursionError:
        raise InvalidInput(f"{path}: is no release: it is nested too deeply") from None
    except (MipselectError, TypeError, AttributeError, ValueError) as error:
        raise InvalidInput(f"{path}: {error}") from error
    return replace(
        found,
        name=checked_name(path.name, f"{path}: the name of the file"),
        digest=sha256(content).hexdigest(),
    )


def _of_kind(report: Mapping[str, Any], facts: Mapping[str, str]) -> ReportedRelease:
    if report.get("format") == FORMAT:
        return _of_stored_model(report)
    _require_release(report)
    if isinstance(report.get("model"), dict) or "releases" in report:
        return _of_checked(report, facts)
    return _of_another(report)


def _require_release(report: Mapping[str, Any]) -> None:
    """Refuse what is sensitive or no release. A seeded draw says so itself, and is let through."""
    if report.get("dry_run"):
        raise InvalidInput("is no release: with --dry-run nothing was drawn")
    # A report of no draws may not be sensitive.
    is_seeded = report.get("private") is False and not report.keys().isdisjoint(GUARANTEES)
    if report.get("sensitive") is True and not is_seeded:
        raise InvalidInput(SENSITIVE_FILE)
    for key in ("private", "sensitive"):
        given = f"must be true or false, got {shown(report.get(key))}"
        if not isinstance(report.get(key), bool):
            raise InvalidInput(
                f"is no release: {key} {given if key in report else 'is missing'}; give what "
                "'mipselect select', 'release', 'fit' or 'evaluate' wrote with --output"
            )


def _of_checked(report: Mapping[str, Any], facts: Mapping[str, str]) -> ReportedRelease:
    """Describe a selection or a model of the command line, with its card and what was drawn."""
    read = checked_release(report)
    # Two fits whose private tests failed have equal models: table and ledger tell them apart.
    compared = report["model"] if read.has_model else report
    card = with_facts(card_of(read), facts)
    return replace(
        read,
        guarantee=_agreeing(read.guarantee, report),
        titles=titles_in_words(report) if read.model is None else field_words(read.model),
        near_chance=checked_flag(report.get("nearly_blind") or False, "nearly_blind"),
        twin=_twin(compared),
        card=tuple(card.blocks(level=3)) if read.private else (),
    )


def _of_stored_model(report: Mapping[str, Any]) -> ReportedRelease:
    """Describe a model that `ModelRelease.save` wrote; its table and ledger are not known."""
    model = ModelRelease.from_dict(report)
    return replace(of_object(model, "model"), twin=_twin(report))


def _of_another(report: Mapping[str, Any]) -> ReportedRelease:
    """Describe an evaluation, or a private release that has no words of its own here."""
    command, quality, about = checked_name(report["command"], "command"), None, None
    if command == "evaluate":
        for fault in faults({"quality": report["quality"]}, "mipselect.regression", SHAPE):
            if fault.startswith("quality"):
                raise InvalidInput(fault)
        quality = Quality.from_dict(report["quality"])
        about = _file_name(report, "model")
    names = {key: report.get(key) for key in ("target", "protected_unit", "mipselect")}
    target, unit, version = (
        None if name is None else checked_name(name, key) for key, name in names.items()
    )
    key = "guarantee_of_all_draws" if "guarantee_of_all_draws" in report else "guarantee"
    guarantee = _agreeing(Guarantee.from_dict(report[key]), report)
    if quality is not None and quality.guarantee != guarantee:
        raise InvalidInput("is no release: its guarantees contradict each other")
    ledger = report.get("ledger")
    return ReportedRelease(
        name=command,
        kind=command if quality is None else EVALUATION,
        guarantee=guarantee,
        data=_file_name(report, "data") or _file_name(report, "instance"),
        target=target,
        quality=quality,
        contents=() if quality is not None else tuple(content_blocks(report)),
        about=about,
        unit=unit or ROW,
        ledger=None if ledger is None else ledger_note(ledger),
        version=version,
        twin=_twin(report),
    )


def _file_name(report: Mapping[str, Any], key: str) -> str | None:
    """Return the name of a file without its folder; None where the key is missing."""
    if report.get(key) is None:
        return None
    return checked_name(Path(checked_line(report[key], key, LONGEST_PATH)).name, key)


def _agreeing(guarantee: Guarantee, report: Mapping[str, Any]) -> Guarantee:
    """Return the guarantee of a report; refuse one that says otherwise whether it is private."""
    if guarantee.private is not report["private"]:
        raise InvalidInput("is no release: private contradicts its guarantee")
    return guarantee


def _twin(released: Mapping[str, Any]) -> str:
    """Compute a hash that two files of the same release share, however they are written."""
    return sha256(json.dumps(released, sort_keys=True).encode()).hexdigest()
