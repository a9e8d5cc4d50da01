"""Colours, text and files of the figures of this manual.

Boxes are filled and their text is white; lines and text outside of boxes are of a middle grey. So a
figure reads on white and on black, and its shapes and words say what its colours say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")
from matplotlib import pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

HERE = Path(__file__).parent
DOCS = HERE.parent
GREY, BLUE, GREEN, RED, VIOLET = "#808080", "#2f6fb0", "#2b7a4b", "#b0492f", "#7a55a8"
LINES = ((BLUE, "o"), (RED, "s"), (GREEN, "^"), (VIOLET, "D"), (GREY, "v"), (GREY, "x"))
"""Colour and mark of each line of a plot."""

mpl.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "mipselect",
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
        "font.size": 11,
        "axes.edgecolor": GREY,
        "axes.labelcolor": GREY,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.color": GREY,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "legend.frameon": False,
    }
)


def sheet(width: float, height: float) -> tuple[Any, Any]:
    """Return a figure without axes, whose coordinates are inches from the lower left."""
    figure = plt.figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return figure, axes


def box(
    axes: Any, x: float, y: float, width: float, height: float, text: str, colour: str, **more: Any
) -> None:
    """Draw a filled box with white text."""
    shape = "round,pad=0,rounding_size=0.08"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=shape, fc=colour, ec="none"))
    words = {"color": "white", "ha": "center", "va": "center", "fontsize": 11, **more}
    axes.text(x + width / 2, y + height / 2, text, **words)


def frame(axes: Any, x: float, y: float, width: float, height: float, colour: str) -> None:
    """Draw a dashed frame."""
    shape = "round,pad=0,rounding_size=0.12"
    axes.add_patch(
        FancyBboxPatch(
            (x, y), width, height, boxstyle=shape, fc="none", ec=colour, lw=1.6, ls=(0, (5, 3))
        )
    )


def arrow(axes: Any, start: Sequence[float], end: Sequence[float], colour: str = GREY) -> None:
    """Draw an arrow from one point to another."""
    axes.add_patch(
        FancyArrowPatch(
            tuple(start), tuple(end), arrowstyle="-|>", mutation_scale=14, color=colour, lw=1.6,
            shrinkA=2, shrinkB=2,
        )
    )  # fmt: skip


def save(figure: Any, path: Path) -> None:
    """Write a figure with a transparent background, the same bytes each time."""
    figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


def rows_of(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the table on a page of the manual whose first row begins so."""
    text = (DOCS / page).read_text(encoding="utf-8")
    tables = re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE)
    (found,) = (table for table in tables if table.startswith(heading))
    first, _, *rest = found.splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in (first, *rest)]
