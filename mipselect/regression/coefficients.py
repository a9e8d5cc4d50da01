"""Coefficients of a released model: for summary, frame, picture and report."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from mipselect.documents.pictures import COLOURS, require_matplotlib
from mipselect.privacy.guarantee import ROW
from mipselect.regression.perturbed_objective import HUBER
from mipselect.regression.release import ModelRelease
from mipselect.tables.encoders import CATEGORY, INTERCEPT, PER_STEP, PER_UNIT, TableEquation, Term


def coefficient_frame(release: ModelRelease) -> Any:
    """Return all coefficients as a frame of pandas; see `ModelRelease.to_frame`."""
    import pandas as pd

    rule = release.in_units
    columns: dict[str, list[Any]] = {
        name: [getattr(term, name) for term in rule.all_terms]
        for name in ("field", "kind", "category", "reference", "coefficient")
    }
    if rule.log_odds:
        columns["odds_ratio"] = [_odds_ratio(term) for term in rule.all_terms]
    return pd.DataFrame({**columns, "aside": [term.aside for term in rule.all_terms]})


def _odds_ratio(term: Term) -> float:
    """Return the factor by which a term multiplies the odds.

    It is ``inf`` beyond all doubles, and NaN for the intercept.
    """
    if term.kind == INTERCEPT:
        return math.nan
    return math.inf if term.odds_ratio is None else term.odds_ratio


def reading_notes(release: ModelRelease) -> list[str]:
    """Write sentences that say once how to read the rows, and what is left out of them."""
    rule = release.in_units
    notes = [f"{_of_a_coefficient(release, rule)}."]
    if HUBER in release.mechanism:
        notes.append(
            "Large errors count by their size and not by its square: where the target has a long "
            "tail, predictions lie between its median and its mean. For means take the squared "
            "loss."
        )
    if any(term.kind == CATEGORY for term in rule.terms):
        notes.append("The coefficient of a category that few rows have, or none, is mostly noise.")
    if release.table is not None and release.table.weight is not None:
        notes.append(f"Rows counted by the survey weight {release.table.weight}.")
    if release.table is not None and (ranges := release.table.ranges):
        told = [f"{name} {low:.6g} to {high:.6g}" for name, (low, high) in ranges.items()]
        notes.append(
            "Numbers count within their ranges, or the parts that were found to hold most values, "
            f"and as the middle where they are missing: {', '.join(told)}."
        )
    notes += [
        f"The range of {drawn['field']}, {drawn['minimum']:.4g} to {drawn['maximum']:.4g}, was "
        f"found privately, with ε = {drawn['epsilon']:.6g} of this release."
        for drawn in release.drawn_ranges
    ]
    if rule.left_out:
        notes.append(
            f"Not listed: {rule.left_out}; to_frame() and the file of the release have them."
        )
    return notes


def _of_a_coefficient(release: ModelRelease, rule: TableEquation) -> str:
    """Say what a coefficient is in units of, or what it is added to."""
    noise = "with noise for privacy beside the error of any sample"
    if rule.step:
        return f"A coefficient is in steps of {rule.target}, {noise}: {rule.step}"
    if rule.log_odds:
        return (
            "A coefficient is added to the logarithm of the odds of the class, which it multiplies "
            f"by the number shown, {noise}"
        )
    column = release.table is None
    per = "per unit of its column" if column else "in units of the target"
    return f"A coefficient is {per}, {noise}"


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


def summary_text(release: ModelRelease) -> str:
    """Write the model in words; see `ModelRelease.summary`."""
    table = release.table
    lines, guarantee = release._said(ROW if table is None else table.unit)
    drawn = "" if release.has_model else ": no model, for the private test failed"
    features = ", ".join(release.feature_names or map(str, release.support))
    always = "" if table is None or not table.always else f"; always in: {', '.join(table.always)}"
    lines += [f"Model: {release.mechanism}{drawn}", f"Features: {features}{always}"]
    if release.has_model:
        lines += [*release.in_units.lines, *reading_notes(release)]
    if release.quality is not None:
        lines += release.quality.lines
    return "\n".join([*lines, guarantee, *(f"Note: {note}." for note in release.footnotes)])
