"""Draw the figures that show measured numbers, those of which-selector.md: for `make docs`.

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


HEADING = "| ε | 0.05"
SHOWN = {
    "the default of `select`": "default of select",
    "`KendallSelector`": "rank correlations (kendall)",
    "a loss on public ranges": "a loss on public ranges",
    "`SISSelector`": "correlations (sis)",
}
"""Lines of the table that are drawn, by how they begin, and what they are called."""


def found(name: str) -> tuple[list[float], list[float]]:
    """Return ε, and what is found at each, of the row that begins with a name."""
    text = (HERE.parent / "which-selector.md").read_text(encoding="utf-8")
    tables = re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE)
    (table,) = (table for table in tables if table.startswith(HEADING))
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
    heading, _, *rows = cells
    (row,) = (row for row in rows if row[0].startswith(name))
    return [float(cell) for cell in heading[1:]], [float(cell) for cell in row[1:]]


def found_by_epsilon(path: Path) -> None:
    """Draw the share of the way to the best support, by ε."""
    figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    for (name, label), (colour, mark) in zip(SHOWN.items(), LINES, strict=False):
        epsilons, values = found(name)
        axes.plot(epsilons, values, color=colour, marker=mark, lw=2, ms=7)
        axes.annotate(
            label, (epsilons[-1], values[-1]), xytext=(8, 0), textcoords="offset points",
            va="center", color=GREY,
        )  # fmt: skip
    axes.axhline(1, color=GREY, lw=1, ls=":")
    axes.axhline(0, color=GREY, lw=1, ls=":")
    axes.text(11.5, 1.02, "the best support", va="bottom", ha="right")
    axes.text(11.5, 0.02, "a uniform draw", va="bottom", ha="right")
    axes.set(xscale="log", xlabel="ε", ylabel="what a draw finds", ylim=(-0.03, 1.12))
    axes.set_xlim(0.045, 12)
    axes.set_xticks(epsilons, [f"{each:g}" for each in epsilons])
    axes.minorticks_off()
    save(figure, path)


AT = (0.1, 1.0)
QUESTIONS = (
    ("Scores of items,\nand no table?", "NoisyMax, CanonicalLipschitz", "mipselect.mechanisms", ""),
    ("Two classes beside\ncategories, or\nanother loss?", "permute-and-flip on a loss",
     "needs public ranges",
     "a loss on public ranges"),
    ("Is the number of\nrows private too?", "kendall, by ranks", "--relation add-remove",
     "`KendallSelector`"),
    ("Does the ledger\ncount ρ?", "exponential, R² within blocks", "select takes it by itself",
     "R² within blocks on all"),
)  # fmt: skip
DEFAULT = ("permute-and-flip, R² within blocks", "the default of select", "the default of `select`")


def figures(row: str) -> str:
    """Return what a method finds at each ε of `AT`, in words; "" without a row."""
    if not row:
        return ""
    by_epsilon = dict(zip(*found(row), strict=True))
    return "finds " + ", ".join(f"{by_epsilon[at]:.2f} at ε = {at:g}" for at in AT)


def which_method(path: Path) -> None:
    """Draw questions that lead to a method, with what it finds."""
    step, height = 1.15, 0.85
    top = step * len(QUESTIONS) + 0.2
    figure, axes = sheet(8.6, top + height + 0.05)
    for k, (question, method, remark, row) in enumerate(QUESTIONS):
        y = top - step * k
        box(axes, 0.1, y, 2.4, height, question, BLUE)
        arrow(axes, (2.5, y + height / 2), (3.4, y + height / 2))
        axes.text(2.95, y + height / 2 + 0.08, "yes", ha="center", va="bottom")
        arrow(axes, (1.3, y), (1.3, y - step + height))
        axes.text(1.4, y - (step - height) / 2, "no", va="center")
        _answer(axes, 3.4, y, 5.1, (method, remark, figures(row)), height)
    method, remark, row = DEFAULT
    _answer(axes, 0.1, top - step * len(QUESTIONS), 8.4, (method, remark, figures(row)), height)
    save(figure, path)


def _answer(axes, x, y, width, words, height) -> None:  # type: ignore[no-untyped-def]
    method, *rest = words
    box(axes, x, y, width, height, "", GREEN)
    axes.text(x + width / 2, y + 0.58, method, color="white", ha="center", va="center",
              weight="bold")  # fmt: skip
    below = " · ".join(each for each in rest if each)
    axes.text(x + width / 2, y + 0.27, below, color="white", ha="center", va="center", fontsize=10)


def draw_all(folder: Path) -> None:
    """Draw them into a folder."""
    found_by_epsilon(folder / "found-by-epsilon.svg")
    which_method(folder / "which-method.svg")


if __name__ == "__main__":
    draw_all(HERE)
