"""Draw the table of which-selector.md: the share of the way to the best support, by ε.

Lines and text are of a middle grey, so that a figure reads on white and on black; its shapes and
words say what its colours say.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
GREY, BLUE, GREEN, RED, VIOLET = "#808080", "#2f6fb0", "#2b7a4b", "#b0492f", "#7a55a8"
LINES = ((BLUE, "o"), (RED, "s"), (GREEN, "^"), (VIOLET, "D"))
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
    }
)


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
    (table,) = (table for table in tables if table.startswith("| ε | 0.05"))
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
    heading, _, *rows = cells
    (row,) = (row for row in rows if row[0].startswith(name))
    return [float(cell) for cell in heading[1:]], [float(cell) for cell in row[1:]]


def found_by_epsilon(path: Path) -> None:
    """Draw it into an SVG file, the same bytes each time."""
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
    figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    found_by_epsilon(HERE / "found-by-epsilon.svg")
