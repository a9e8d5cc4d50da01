"""Picture of the coefficients of a released model."""

from __future__ import annotations

import textwrap
from typing import Any

from mipselect.documents.pictures import COLOURS, require_matplotlib
from mipselect.privacy.guarantee import ROW
from mipselect.regression.release import ModelRelease
from mipselect.tables.encoders import PER_STEP, PER_UNIT, Term

WIDTH, ROW_HEIGHT, MARGINS = 7.0, 0.32, 1.4
"""Inches."""

LARGEST_HEIGHT = 40.0
TITLE_LETTERS = 76
RED = "#B00000"


def coefficient_plot(release: ModelRelease, axes: Any) -> Any:
    """Draw the terms of a model on axes of matplotlib; see `ModelRelease.plot`."""
    rule = release.in_units
    require_matplotlib()
    terms = [term for term in rule.terms if not term.aside]
    if axes is None:
        from matplotlib import pyplot

        height = min(MARGINS + ROW_HEIGHT * len(terms), LARGEST_HEIGHT)
        axes = pyplot.subplots(figsize=(WIDTH, height), layout="constrained")[1]
    axes.axvline(0.0, color="0.8", zorder=0)
    labels = []
    for place, term in enumerate(terms):
        label, units = whole_range(release, term)
        labels.append(label)
        axes.plot(units * term.coefficient, place, "o", color=COLOURS[0], markersize=5)
    # A dollar sign in a name is no mathematics.
    axes.set_yticks(range(len(terms)), labels=labels, parse_math=False)
    axes.set_ylim(len(terms) - 0.5, -0.5)
    axes.set_xlabel(f"change of {rule.aim}", parse_math=False)
    before, guarantee = release._said(ROW if release.table is None else release.table.unit)
    lines = [*before, f"{release.mechanism}.", guarantee]
    title = "\n".join(textwrap.fill(line, TITLE_LETTERS) for line in lines)
    colour = "black" if release.private else RED
    axes.set_title(title, fontsize="small", loc="left", color=colour, parse_math=False)
    return axes


def whole_range(release: ModelRelease, term: Term) -> tuple[str, float]:
    """Return what a coefficient is drawn for, and its units: the whole range of a number."""
    if release.table is None or term.kind not in (PER_UNIT, PER_STEP):
        return term.meaning, 1.0
    (encoder,) = (one for one in release.table.public.encoders if one.field.name == term.field)
    column = encoder.columns()[0]
    ends = [f"{column.offset + sign * column.scale:g}" for sign in (-1.0, 1.0)]
    if term.kind == PER_STEP:
        ends = [encoder.field.category_words[k] for k in (0, -1)]
    return f"{term.field} from {ends[0]} to {ends[1]}", 2.0 * column.scale
