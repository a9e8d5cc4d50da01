"""`mipselect report`: a set of releases for epidemiologists, boards and the public.

Their files are read strictly: a report repeats what was checked, and nothing sensitive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.output import Delivery, check_output, line
from mipselect.cli.start import say
from mipselect.disk import faults, parsed, small_content, text_of
from mipselect.errors import InvalidInput, about
from mipselect.privacy import Guarantee, Release
from mipselect.privacy.guarantee import ROW, amount
from mipselect.privacy.public_fields import public_settings
from mipselect.quality import Quality
from mipselect.validation import checked_line, checked_name, checked_number, joined

if TYPE_CHECKING:
    from mipselect.reports.release_report import ReportedRelease

EXAMPLES = """Examples:

mipselect report fields.json model.json --output report.html

mipselect report model.json quality.json --output report.md \\
    --title "Blood pressure in the clinic study"
"""


@options
class ReportArguments:
    """Arguments of `report`."""

    files: list[Path] = argument(
        "RELEASE.json...",
        "What 'select', 'release', 'fit', 'evaluate' or another private command wrote with "
        "--output.",
    )
    title: str = option(
        "--title", "Title of the report.", default="", show_default="the name of the table"
    )
    facts: Path | None = option(
        "--facts",
        "What only people know, for the blanks of the last section.",
        metavar="FILE.toml",
        show_default="blanks stay",
    )
    delivery: Delivery = group(
        Delivery,
        help={
            "--output": "Receives the report, of HTML or Markdown by its ending; without it "
            "Markdown is printed."
        },
    )


LONGEST_TITLE, LONGEST_PATH = 300, 4_096
"""Characters of a title, and of the path of a table."""

LARGEST = 100_000_000
"""Bytes of a file of a release."""

GUARANTEES = ("guarantee", "guarantee_of_all_draws")
"""Keys of the guarantee in a file, which has one of them."""

COMMANDS = "give what 'mipselect select', 'release', 'fit' or 'evaluate' wrote with --output"

SENSITIVE_FILE = (
    "is sensitive: it was computed from the data without any privacy, or drawn with a seed, and is "
    "no release"
)


@command
def report(arguments: ReportArguments) -> None:
    """Write a report on releases for everybody: results, guarantee, costs, how to cite.

    One HTML file, which loads nothing and can be printed, or Markdown. Nothing
    in it depends on data but the releases. The last section is for ethics boards.
    What is sensitive, such as a report of 'solve', is refused.
    """
    from mipselect.reports import ReleaseReport
    from mipselect.reports.methods import read_facts

    pages = {".html": ReleaseReport.html, ".md": ReleaseReport.markdown}
    output = arguments.delivery.output
    read = [*arguments.files, *filter(None, [arguments.facts])]
    check_output(output, read, endings=pages, replace=arguments.delivery.replace)
    if arguments.title:
        checked_line(arguments.title, "--title", LONGEST_TITLE)
    facts = {} if arguments.facts is None else read_facts(arguments.facts)
    releases = read_each(arguments.files)
    made = ReleaseReport(title=arguments.title, releases=releases, facts=facts)
    content = None if output is None else pages[output.suffix](made).encode()

    def render(console: Console) -> None:
        if output is None:
            console.print(made.markdown(), markup=False, soft_wrap=True, end="")
        else:
            names = joined([one.name for one in releases])
            line(console, f"A report on {names}, {amount(made.total)} in all.")

    report = {"command": "report", "sensitive": False, "private": True, **made.to_dict()}
    arguments.delivery.deliver(report, render, content)
    for warning in made.warnings:
        say(f"warning: {warning}")


def read_each(files: Sequence[Path]) -> tuple[ReportedRelease, ...]:
    """Read each release; raise `InvalidInput` for a file that is given twice."""
    found = [read_release(path) for path in files]
    for k, path in enumerate(files):
        if path.resolve() in [other.resolve() for other in files[:k]]:
            raise InvalidInput(f"{path}: the file is given twice, and would be counted twice")
        if before := [other.name for other in files[:k]].count(path.name):
            found[k] = replace(found[k], name=f"{path.name} ({before + 1})")
    return tuple(found)


def released_features(path: Path, target: str) -> ReportedRelease:
    """Read the draw of a release about the target; raise `InvalidInput` for another."""
    read = read_release(path)
    if read.drawn is None:
        raise InvalidInput(f"{path}: has no draw of features")
    if read.target not in (None, target):
        raise InvalidInput(f"{path}: is about {read.target}, and --target is {target}")
    return read


def read_release(path: Path) -> ReportedRelease:
    """Read a selection, a model or an evaluation.

    Raises
    ------
    InvalidInput
        Naming the file and the key, if it is none, or sensitive.
    """
    content = small_content(path, LARGEST)
    report = parsed(text_of(content, path), str(path))
    with about(str(path)):
        try:
            found = _of_kind(report)
        except RecursionError:
            raise InvalidInput("is no release: it is nested too deeply") from None
        name = checked_name(path.name, "the name of the file")
    return replace(found, name=name, digest=sha256(content).hexdigest())


def _of_kind(report: Any) -> ReportedRelease:
    """Describe what `select`, `release` or `fit` drew, or `evaluate` measured."""
    from mipselect.reports.release_report import LedgerNote, of_object, words_of

    if isinstance(report, dict) and "format" in report:
        from mipselect.regression import ModelRelease

        # What `ModelRelease.save` wrote: its table and ledger are not known.
        return of_object(ModelRelease.from_dict(report), "model")
    _require_release(report)
    data = _file_name(report, "data" if "data" in report else "instance")
    paid = report.get("ledger")
    known = of_object(_drawn(report), data)
    guarantee = Guarantee.from_dict(next(report[key] for key in GUARANTEES if key in report))
    if known.guarantee != guarantee:
        raise InvalidInput("is no release: its guarantees contradict each other")
    if guarantee.private is not report["private"]:
        raise InvalidInput("is no release: private contradicts its guarantee")
    known = replace(
        known,
        data=data,
        target=_line(report, "target"),
        unit=_line(report, "protected_unit") or ROW,
        ledger=paid
        and LedgerNote(
            checked_name(paid["identity"], "the identity of the ledger"),
            checked_name(paid["unit"], "the unit"),
            paid["head"]["number"],
            checked_name(paid["head"]["hash"], "the hash"),
        ),
        version=_line(report, "mipselect"),
    )
    if known.quality is not None:
        return replace(known, about=_file_name(report, "model"))
    of, titles = report.get("features_of"), report.get("titles") or {}
    return replace(
        known,
        method=_line(report, "method"),
        settings=_settings(report, guarantee.relation),
        candidates=_names(report, "features"),
        always=_names(report, "always"),
        features_of=of and checked_name(of["sha256"], "a SHA-256"),
        titles=known.titles or {name: words_of(entry) for name, entry in titles.items()},
        near_chance=report.get("nearly_blind") or False,
    )


def _require_release(report: Any) -> None:
    """Refuse what is sensitive, or has not the shape of a release."""
    if isinstance(report, dict):
        if report.get("dry_run"):
            raise InvalidInput("is no release: with --dry-run nothing was drawn")
        if report.get("sensitive") is True:
            raise InvalidInput(SENSITIVE_FILE)
        if report.keys().isdisjoint(("model", "releases", "quality")):
            raise InvalidInput(f"is no release that a report has words for; {COMMANDS}")
        if report.keys().isdisjoint(GUARANTEES):
            raise InvalidInput(f"is no release: it has no guarantee; {COMMANDS}")
    for fault in faults(report, "mipselect.reports", "release_schema.json"):
        raise InvalidInput(f"is no release: {fault}; {COMMANDS}")


def _drawn(report: Mapping[str, Any]) -> Release | Quality:
    """Read the release itself."""
    if "quality" in report:
        quality = {"quality": report["quality"]}
        for fault in faults(quality, "mipselect.regression", "model_schema.json"):
            if fault.startswith("quality"):
                raise InvalidInput(fault)
        return Quality.from_dict(report["quality"])
    if "model" in report:
        # Only where there is one, what reads tables is imported: it takes long.
        from mipselect.regression import ModelRelease

        return ModelRelease.from_dict(report["model"])
    (entry,) = report["releases"]
    return Release(
        tuple(entry["support"]),
        tuple(entry["feature_names"]),
        Guarantee.from_dict(entry["guarantee"]),
        entry["mechanism"],
        entry["private"],
    )


def _line(report: Mapping[str, Any], key: str) -> str | None:
    """Return a text of one printable line; None where it is missing."""
    return None if report.get(key) is None else checked_name(report[key], key)


def _names(report: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the names under a key; none where it is missing."""
    return tuple(checked_name(name, f"a name of {key}") for name in report.get(key) or ())


def _file_name(report: Mapping[str, Any], key: str) -> str:
    """Return the name of a file without its folder."""
    return checked_name(Path(checked_line(report[key], key, LONGEST_PATH)).name, key)


def _settings(report: Mapping[str, Any], relation: str) -> dict[str, Any]:
    """Read the public settings; those that tell the number of rows only where it is public."""
    told = public_settings(report, hides_n=relation != "replace-one")
    if report.get("intercept"):
        told["intercept"] = "yes"
    return {name: _checked(value, name) for name, value in told.items()}


def _checked(value: Any, name: str) -> str | float | tuple[float, ...]:
    """Return a public setting that was read; raise `InvalidInput` if it is of another kind."""
    if isinstance(value, str):
        return checked_name(value, name)
    for number in value if isinstance(value, list) and value else [value]:
        wanted = "a text or a finite number"
        checked_number(number, name, wanted, lambda v: abs(v) <= 1e300)
    found: float | tuple[float, ...] = tuple(value) if isinstance(value, list) else value
    return found
