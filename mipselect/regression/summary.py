"""Summary of a released model, as text and as HTML for a notebook."""

from __future__ import annotations

from mipselect.documents.blocks import TextTable
from mipselect.documents.pages import html_part
from mipselect.privacy.guarantee import ROW
from mipselect.privacy.release import line_block
from mipselect.regression.coefficient_notes import reading_notes
from mipselect.regression.coefficients import LEVEL, CoefficientTable
from mipselect.regression.release import ModelRelease
from mipselect.validation import checked_share

ELSEWHERE = "to_frame() has them"
HEADINGS = ("coefficient", f"{100.0 * LEVEL:g} % interval", "odds", "")


def summary_text(release: ModelRelease, level: float) -> str:
    """Write the model in words; see `ModelRelease.summary`."""
    checked_share(level, "level", closed=False)
    before, after = _around(release)
    if release.has_model:
        table = CoefficientTable.of(release, level)
        before += [*table.lines(), *reading_notes(table, ELSEWHERE)]
    return "\n".join([*before, *after])


def summary_html(release: ModelRelease) -> str:
    """Write the summary with a table of the coefficients: escaped, without scripts and styles."""
    before, after = _around(release)
    if not release.has_model:
        return html_part(map(line_block, [*before, *after]))
    table = CoefficientTable.of(release, LEVEL)
    rows = [cells for _, cells in table.listed()]
    kept = [k for k in range(len(HEADINGS)) if any(cells[k] for cells in rows)]
    made = TextTable(
        tuple(HEADINGS[k] for k in kept), tuple(tuple(cells[k] for k in kept) for cells in rows)
    )
    lines = [*before, table.head], [*reading_notes(table, ELSEWHERE), *after]
    return html_part([*map(line_block, lines[0]), made, *map(line_block, lines[1])])


def _around(release: ModelRelease) -> tuple[list[str], list[str]]:
    """Write the lines before the coefficients, and those behind them."""
    table = release.table
    before, guarantee = release._said(ROW if table is None else table.unit)
    drawn = "" if release.has_model else ": no model, for the private test failed"
    before.append(f"Model: {release.mechanism}{drawn}")
    features = release.feature_names or tuple(map(str, release.support))
    always = "" if table is None or not table.always else f"; always in: {', '.join(table.always)}"
    before.append(f"Features: {', '.join(features)}{always}")
    quality = [] if release.quality is None else [*release.quality.lines]
    return before, [*quality, guarantee, *(f"Note: {note}." for note in release.footnotes)]
