"""An `IntervalPlot` as HTML: a strip of inline SVG for each row, as wide as the page allows.

Positions are in percent and letters are outside of the drawing, so that nothing shrinks on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from mipselect.documents.blocks import IntervalPlot, PlotRow
from mipselect.validation import printable

HEIGHT, MIDDLE, RADIUS = 26, 13, 4.5
"""Pixels: of a strip, of its middle line, and of a point."""

STEPS = (1.0, 2.0, 5.0, 10.0)
RATIOS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)
MOST = 5
"""Ticks at most; on a phone more of them run into each other."""


def plot_html(plot: IntervalPlot) -> str:
    """Write the plot as one figure; it loads nothing."""
    rows = "".join(_row(row.label, "".join(_strip(plot, row)), row.note) for row in plot.rows)
    axis = _row("", "".join(_axis(plot)), "", kind="row axis")
    caption = escape(printable(plot.axis))
    return f'<figure class="plot">{rows}{axis}<figcaption>{caption}</figcaption></figure>'


def _row(label: str, strip: str, note: str, kind: str = "row") -> str:
    return (
        f'<div class="{kind}"><span class="label">{breakable(label)}</span>'
        f'<svg width="100%" height="{HEIGHT}" aria-hidden="true">{strip}</svg>'
        f'<span class="note">{escape(printable(note))}</span></div>'
    )


def _strip(plot: IntervalPlot, row: PlotRow) -> Iterator[str]:
    zero = _percent(plot, 0.0)
    yield f'<line class="zero" x1="{zero}" x2="{zero}" y1="0" y2="{HEIGHT}"/>'
    if row.value is None:
        return
    if row.low is not None and row.high is not None:
        low, high = _percent(plot, row.low), _percent(plot, row.high)
        yield f'<line class="interval" x1="{low}" x2="{high}" y1="{MIDDLE}" y2="{MIDDLE}"/>'
        for end, place in ((row.low, low), (row.high, high)):
            if math.isfinite(end):
                yield (
                    f'<line class="interval" x1="{place}" x2="{place}" y1="{MIDDLE - 4}" '
                    f'y2="{MIDDLE + 4}"/>'
                )
    yield f'<circle class="point" cx="{_percent(plot, row.value)}" cy="{MIDDLE}" r="{RADIUS}"/>'


def _axis(plot: IntervalPlot) -> Iterator[str]:
    yield '<line class="zero" x1="0" x2="100%" y1="0.5" y2="0.5"/>'
    for position, text in (ratio_ticks if plot.ratios else linear_ticks)(*plot.span):
        place = _percent(plot, position)
        yield f'<line class="zero" x1="{place}" x2="{place}" y1="0" y2="5"/>'
        yield f'<text x="{place}" y="18" text-anchor="middle">{escape(text)}</text>'


def _percent(plot: IntervalPlot, number: float) -> str:
    return f"{100.0 * plot.place(number):.4f}%"


def linear_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round positions from `low` to `high`, 0 among them if it lies between, with their texts."""
    least = (high - low) / MOST
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * one for one in STEPS if power * one >= least * (1.0 - 1e-9))
    first, last = math.ceil(low / step), math.floor(high / step)
    return [(k * step, f"{k * step:.6g}") for k in range(first, last + 1)]


def ratio_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return logarithms of round ratios from `low` to `high`, with the ratios as texts."""
    found = {0.0: "×1"} if low <= 0.0 <= high else {}
    for ratio in RATIOS[1:]:
        for sign, text in ((1.0, f"×{ratio:g}"), (-1.0, f"÷{ratio:g}")):
            position = sign * math.log(ratio)
            if low <= position <= high:
                found[position] = text
    apart = (high - low) / (MOST + 1)
    kept: list[float] = []
    for position in sorted(found, key=abs):
        if all(abs(position - other) >= apart for other in kept):
            kept.append(position)
    return [(position, found[position]) for position in sorted(kept)]


def breakable(text: str) -> str:
    """Write a text for HTML; a name in it may be broken after an underscore."""
    return escape(printable(text)).replace("_", "_<wbr>")
