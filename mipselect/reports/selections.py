"""Fields that were drawn, and how often."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from mipselect.documents.blocks import Block, IntervalPlot, Paragraph, PlotRow, TextTable
from mipselect.reports.released import ReportedRelease
from mipselect.reports.words import plural
from mipselect.validation import joined


def selection_blocks(one: ReportedRelease) -> Iterator[Block]:
    """Describe the draws of a selection."""
    draws = len(one.releases)
    names = [release.feature_names or tuple(map(str, release.support)) for release in one.releases]
    size = len(names[0]) if len({len(each) for each in names}) == 1 else None
    fields = "" if size is None else f" of {plural(size, 'field')}"
    whence = f" among {plural(len(one.candidates), 'field')}" if one.candidates else ""
    each = " each" if draws > 1 and size is not None else ""
    yield Paragraph(f"{plural(draws, 'random draw')}{fields}{each}{whence}.")
    counts = Counter(name for each in names for name in each)
    listed = sorted(counts, key=lambda name: -counts[name])
    if draws == 1:
        yield TextTable(("field that was drawn",), tuple((_named(one, name),) for name in names[0]))
        yield Paragraph(
            "The draw prefers fields that go with the target, and is random all the same: another "
            "draw may choose others. A field that is missing here need not be unimportant."
        )
        return
    yield IntervalPlot(
        tuple(
            PlotRow(_named(one, name), share, 0.0, share, f"{counts[name]} of {draws}")
            for name, share in ((name, 100.0 * counts[name] / draws) for name in listed)
        ),
        "percent of the draws that chose the field",
    )
    yield Paragraph(
        "Each draw prefers fields that go with the target, and is random all the same. A field in "
        f"which the draws agree is a safer answer than one that came once.{_by_chance(one, size)}"
    )


def separate_draws(releases: Iterable[ReportedRelease]) -> list[str]:
    """Say where draws of fields are several for one target, and may answer differently."""
    drawn: dict[tuple[str | None, str | None], list[ReportedRelease]] = defaultdict(list)
    for one in releases:
        if one.draws_fields:
            drawn[one.data, one.target].append(one)
    return [_separate(each) for each in drawn.values() if len(each) > 1]


def _separate(draws: Sequence[ReportedRelease]) -> str:
    target, count = draws[0].target or "the target", len(draws)
    answers = {frozenset(release.feature_names) for one in draws for release in one.drawn}
    differ = "They name the same fields."
    if len(answers) > 1:
        differ = "They name different fields, and none of them corrects another."
    return (
        f"{joined([one.name for one in draws])} are {'two' if count == 2 else count} draws of "
        f"fields for {target}, each random by itself and paid for by itself. {differ}"
    )


def _named(one: ReportedRelease, name: str) -> str:
    """Name a field, with its title where the release has it."""
    words = one.titles.get(name)
    return f"{name} ({words})" if words else name


def _by_chance(one: ReportedRelease, size: int | None) -> str:
    """Return the share of draws with a field, without any look at the data."""
    if not one.candidates or size is None:
        return ""
    share = size / len(one.candidates)
    draws = len(one.releases)
    return (
        f" By chance alone, without any look at the data, a field would come in "
        f"{share * draws:.2g} of {draws} draws."
    )
